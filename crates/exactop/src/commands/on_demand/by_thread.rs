//! The choice between rows of processes and rows of threads.

use crate::options::parse::Word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Process,
    Thread,
}

pub const BY: &[Word<By>] =
    &[("process", By::Process, "All threads of a process"), ("thread", By::Thread, "One thread")];
