//! Programs of our own for one process.

use super::watched::{Attaches, Looks, Subject};
use crate::error::SourceError;
#[cfg(feature = "bpf")]
use crate::on_demand::moves::Moves;
#[cfg(feature = "bpf")]
use crate::on_demand::syscalls::{Options, Syscalls};
#[cfg(feature = "bpf")]
use crate::on_demand::waits::WaitTimes;
#[cfg(feature = "bpf")]
use exactop_model::on_demand::Looked;

/// Programs of our own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own;

#[cfg(feature = "bpf")]
impl Attaches for Own {
    fn attach(
        &mut self,
        subject: Subject,
        pid: u32,
        _: Option<u64>,
    ) -> Result<Box<dyn Looks>, String> {
        open(subject, pid).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "bpf"))]
impl Attaches for Own {
    fn attach(&mut self, _: Subject, _: u32, _: Option<u64>) -> Result<Box<dyn Looks>, String> {
        Err(SourceError::without_bpf().to_string())
    }
}

/// A way to end a window.
#[cfg(feature = "bpf")]
struct Ends<S>(S, fn(&mut S) -> Result<Looked, SourceError>);

#[cfg(feature = "bpf")]
impl<S> Looks for Ends<S> {
    fn window(&mut self) -> Result<Looked, String> {
        (self.1)(&mut self.0).map_err(|error| error.to_string())
    }
}

/// Attaches the programs of a subject to a process.
///
/// # Errors
/// [`SourceError::Unavailable`] with the reason and what would help.
#[cfg(feature = "bpf")]
fn open(subject: Subject, pid: u32) -> Result<Box<dyn Looks>, SourceError> {
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
