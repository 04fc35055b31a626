//! The choice between rows of processes and rows of threads.

use crate::options::parse::Word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUnit {
    Process,
    Thread,
}

pub const BY: &[Word<RowUnit>] = &[
    ("process", RowUnit::Process, "All threads of a process"),
    ("thread", RowUnit::Thread, "One thread"),
];
