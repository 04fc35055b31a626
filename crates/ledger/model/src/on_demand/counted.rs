//! The traits that each subject implements for its windows, and a reader's choice among the rows.

use super::syscall_nr::SyscallNr;
use crate::ledger::key::TaskRef;
use serde::{Deserialize, Serialize};

/// Key by which rows of system calls are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyscallsBy {
    /// All calls of one kind, over all threads.
    #[default]
    Call,
    /// The calls of one kind in one process.
    Process,
    /// The calls of one kind in one thread.
    Thread,
}

/// A reader's choice among a window's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Key by which rows of system calls are summed.
    pub by: SyscallsBy,
    /// Processes to include; empty: all.
    pub pids: Vec<u32>,
    /// System calls to include; empty: all.
    pub calls: Vec<SyscallNr>,
}

impl Choice {
    /// All rows of these processes; with no `pids`, of all processes.
    pub fn of_processes(pids: &[u32]) -> Choice {
        Choice { pids: pids.into(), ..Choice::default() }
    }
}

/// True for a process that the reader may see.
pub type Shown<'a> = &'a dyn Fn(u32) -> bool;

/// Place of a subject on the page of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// On every page of the process; the reader need not ask for it.
    Always,
    /// On the first page.
    Overview,
    /// On the page of system calls.
    Calls,
}

/// A window of one subject, defined in the subject's file.
pub trait Counted: Sized {
    /// Place on the page of a process; `None`: on no page.
    const PANEL: Option<Panel> = None;

    /// Number of rows.
    fn rows(&self) -> usize;

    /// Memory of its rows, bytes.
    fn bytes(&self) -> usize;

    /// The part that a reader chose and may see. `is_theirs` decides by thread.
    fn visible_to(&self, choice: &Choice, is_theirs: &dyn Fn(&TaskRef) -> bool) -> Self;

    /// Adds the rows of the next window.
    fn merge(&mut self, later: Self);

    /// Keeps the rows with the largest figures; `most` maps the number of rows to the number to
    /// keep.
    fn cut(&mut self, most: &dyn Fn(usize) -> usize);
}
