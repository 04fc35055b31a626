//! What each subject defines of its windows, and what a reader may want of them.

use super::syscall_nr::SyscallNr;
use crate::ledger::key::Who;
use serde::{Deserialize, Serialize};

/// What rows of system calls sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyscallsBy {
    /// Everyone's calls of one kind.
    #[default]
    Call,
    /// Those of one process.
    Process,
    /// Those of one thread.
    Thread,
}

/// What a reader wants of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What rows of system calls sum.
    pub by: SyscallsBy,
    /// Only these processes; empty: all.
    pub pids: Vec<u32>,
    /// Only these system calls; empty: all.
    pub calls: Vec<SyscallNr>,
}

impl Choice {
    /// Everything of these processes; of all if there are none.
    pub fn of_processes(pids: &[u32]) -> Choice {
        Choice { pids: pids.into(), ..Choice::default() }
    }
}

/// Whether a reader may be told of a process.
pub type Shown<'a> = &'a dyn Fn(u32) -> bool;

/// Where the page of a process shows a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// On whatever is shown of the process: nothing more needs to be asked for.
    Always,
    /// On the page that opens first.
    Overview,
    /// On the page of system calls.
    Calls,
}

/// A window of one subject, as its file defines it.
pub trait Counted: Sized {
    /// `None`: no page of a process shows it.
    const PANEL: Option<Panel> = None;

    /// How many rows it has.
    fn rows(&self) -> usize;

    /// Memory that its rows take, bytes.
    fn bytes(&self) -> usize;

    /// The part that a reader wants and may see. What is counted is by thread.
    fn visible_to(&self, choice: &Choice, is_theirs: &dyn Fn(&Who) -> bool) -> Self;

    /// Adds the rows of the window after it.
    fn merge(&mut self, later: Self);

    /// Leaves, of so many rows, as many as `most` says: those with most.
    fn cut(&mut self, most: &dyn Fn(usize) -> usize);
}
