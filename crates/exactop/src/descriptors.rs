//! The limit of open files. exactop opens some files for each CPU, program and visible row. The
//! soft limit is low for the sake of programs that use select(2) (getrlimit(2)), which exactop does
//! not.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::sync::OnceLock;

/// The limit at the start of this process.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit to the hard limit. If the kernel refuses, the limit stays unchanged.
pub fn raise() {
    let before = BEFORE.get_or_init(|| getrlimit(Resource::Nofile));
    let most = Rlimit { current: before.maximum, maximum: before.maximum };
    let _ = setrlimit(Resource::Nofile, most);
}

/// Restores the original limit for a command that exactop starts. Runs between fork and exec.
#[cfg(feature = "bpf")]
pub fn put_back() -> std::io::Result<()> {
    match BEFORE.get() {
        Some(before) => Ok(setrlimit(Resource::Nofile, *before)?),
        None => Ok(()),
    }
}
