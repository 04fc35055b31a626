//! Reserves file descriptors while programs and maps are loaded. Enough descriptors must be left
//! for programs attached later, files of /proc, signals and the terminal.

use crate::error::SourceError;
use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::OwnedFd;
use rustix::process::{getrlimit, Resource};

/// Number of reserved descriptors: what the rest of the process needs, with a margin.
const SPARE: usize = 32;

/// The reserve; dropping it frees the descriptors.
pub struct Spare {
    _held: Vec<OwnedFd>,
}

impl Spare {
    /// Takes the reserve.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] if fewer descriptors are left.
    pub fn hold() -> Result<Spare, SourceError> {
        let one = |_| eventfd(0, EventfdFlags::CLOEXEC);
        let held: Result<Vec<OwnedFd>, _> = (0..SPARE).map(one).collect();
        held.map(|held| Spare { _held: held }).map_err(|_| too_few())
    }
}

/// The error of a process that may open too few files.
pub fn too_few() -> SourceError {
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or("without limit".into(), |limit| limit.to_string());
    SourceError::Unavailable {
        what: format!("BPF programs need more open files than the limit of {limit} allows"),
        advice: "raise the hard limit (ulimit -Hn, LimitNOFILE=) to 256".into(),
    }
}
