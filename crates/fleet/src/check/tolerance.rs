//! How far apart the windows of a fleet's hosts may end.

use std::time::Duration;

/// How far apart hosts may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Last windows that end within it end at the same time.
    pub clock: Duration,
    /// A host whose last window ends so long before the fleet's is silent.
    pub silent: Duration,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { clock: Duration::from_secs(60), silent: Duration::from_secs(300) }
    }
}

/// A length of time, in ns.
pub(super) fn ns(of: Duration) -> i128 {
    i128::try_from(of.as_nanos()).unwrap_or(i128::MAX)
}
