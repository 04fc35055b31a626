//! The source the command line asks for.

use crate::args::{Source, Watch};
use crate::failure::Failure;
use exactop_model::Feed;
use std::path::Path;

/// Opens it.
///
/// # Errors
/// Why it cannot be opened.
pub fn open(_watch: &Watch) -> Result<Box<dyn Feed>, Failure> {
    Err(Failure::failed("no source yet"))
}

/// Processes that are asked for by number must be there now; later they may go.
///
/// # Errors
/// The first that is not.
pub fn check_pids(watch: &Watch) -> Result<(), Failure> {
    let root = watch.proc_root.as_deref().unwrap_or(Path::new("/proc"));
    match watch.pid.iter().find(|pid| !root.join(pid.to_string()).exists()) {
        Some(pid) => Err(Failure::failed(format!("no process {pid}"))),
        None => Ok(()),
    }
}

#[allow(dead_code)]
fn choice(source: Source) -> Source {
    source
}
