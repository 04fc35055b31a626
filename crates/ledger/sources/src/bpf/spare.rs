//! Descriptors held back while programs and maps take theirs, so that enough are left for what comes
//! after: programs that are attached later, files of /proc, signals, the terminal.

use crate::error::SourceError;
use rustix::event::{eventfd, EventfdFlags};
use rustix::fd::OwnedFd;
use rustix::process::{getrlimit, Resource};

/// What is needed beside programs and maps, and a little more.
const SPARE: usize = 32;

/// Given back when this is dropped.
pub struct Spare {
    _held: Vec<OwnedFd>,
}

impl Spare {
    /// Holds them.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] when there are not so many.
    pub fn hold() -> Result<Spare, SourceError> {
        let one = |_| eventfd(0, EventfdFlags::CLOEXEC);
        let held: Result<Vec<OwnedFd>, _> = (0..SPARE).map(one).collect();
        held.map(|held| Spare { _held: held }).map_err(|_| too_few())
    }
}

/// The error of someone who may open too few files.
pub fn too_few() -> SourceError {
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or("without limit".into(), |limit| limit.to_string());
    SourceError::Unavailable {
        what: format!("BPF programs and maps take more open files than are allowed ({limit})"),
        advice: "raise the hard limit (ulimit -Hn, LimitNOFILE=) to 256".into(),
    }
}
