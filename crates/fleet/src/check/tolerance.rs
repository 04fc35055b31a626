//! Tolerances for the hosts' clocks.

use std::time::Duration;

/// Tolerances for the hosts' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Last windows that end within this time count as simultaneous.
    pub clock: Duration,
    /// A host that ends this long before the fleet is silent.
    pub silent: Duration,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { clock: Duration::from_secs(60), silent: Duration::from_secs(300) }
    }
}

pub(super) fn ns(of: Duration) -> i128 {
    i128::try_from(of.as_nanos()).unwrap_or(i128::MAX)
}
