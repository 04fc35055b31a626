//! How many files may be open. A look at a machine takes some for each CPU, program and row on the
//! screen, and the soft limit is low for the sake of programs that use select(2) (getrlimit(2)),
//! which we are not.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::sync::OnceLock;

/// What the limit was when we were started.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// From now on as many as the hard limit permits. Where that is refused, it stays as it was.
pub fn raise() {
    let before = BEFORE.get_or_init(|| getrlimit(Resource::Nofile));
    let most = Rlimit { current: before.maximum, maximum: before.maximum };
    let _ = setrlimit(Resource::Nofile, most);
}

/// For a command that we start: the limit we were started with. Between fork and exec.
#[cfg(feature = "bpf")]
pub fn put_back() -> std::io::Result<()> {
    match BEFORE.get() {
        Some(before) => Ok(setrlimit(Resource::Nofile, *before)?),
        None => Ok(()),
    }
}
