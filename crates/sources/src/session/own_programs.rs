//! Programs of our own for one process.

use super::watched::{Looks, Subject};
use crate::error::SourceError;
use crate::on_demand::moves::Moves;
use crate::on_demand::syscalls::{Options, Syscalls};
use crate::on_demand::waits::WaitTimes;
use exactop_model::on_demand::Looked;

/// A way to end a window.
struct Ends<S>(S, fn(&mut S) -> Result<Looked, SourceError>);

impl<S> Looks for Ends<S> {
    fn window(&mut self) -> Result<Looked, String> {
        (self.1)(&mut self.0).map_err(|error| error.to_string())
    }
}

/// Attaches them.
///
/// # Errors
/// [`SourceError::Unavailable`] with the reason and what would help.
pub fn open(subject: Subject, pid: u32) -> Result<Box<dyn Looks>, SourceError> {
    Ok(match subject {
        Subject::Waits => {
            Box::new(Ends(WaitTimes::open(&[pid])?, |times| times.window().map(Looked::Waits)))
        }
        Subject::Syscalls => {
            let options = Options { pids: vec![pid], ..Options::default() };
            Box::new(Ends(Syscalls::open(&options)?, |calls| calls.window().map(Looked::Syscalls)))
        }
        Subject::Moves => {
            Box::new(Ends(Moves::open(&[pid])?, |moves| moves.window().map(Looked::Moves)))
        }
    })
}
