//! What an entry of the registry says of a column.

use super::unit::Unit;
use super::ColumnId;
use crate::feed::needs::Needs;
use crate::frame::value::{Missing, Value};
use crate::frame::Row;

/// What a column is about; its colour follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Kind {
    /// Who it is.
    Identity,
    /// CPU time of any kind.
    Cpu,
    /// CPU time since birth: of the whole life, not of the window.
    Life,
    User,
    System,
    /// Time of interrupts.
    Interrupt,
    Steal,
    /// Run-queue wait.
    RunQueue,
    /// Kept from a CPU by a quota.
    Throttle,
    /// Asleep on a lock.
    Lock,
    /// Sleep, blocked, stopped.
    Sleep,
    Memory,
    /// Counts of events.
    Events,
}

/// What the values depend on beside the row.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Context {
    pub window_ns: u64,
    pub cpus: u32,
    /// Per cent of the whole machine instead of one CPU (top's Solaris mode).
    pub of_machine: bool,
    pub command_line: bool,
    /// Physical memory in bytes, for %MEM.
    pub memory_total: Option<u64>,
    /// The window's end on the clock of start times, ns since boot.
    pub boottime_ns: Option<u64>,
}

impl Context {
    /// `part` of the window as per cent of one CPU, or of the machine.
    pub(super) fn cpu_share(&self, part: Option<u64>) -> Value {
        let cpus = if self.of_machine { u64::from(self.cpus) } else { 1 };
        Value::share(part, self.window_ns * cpus, Missing::Source)
    }
}

/// A column.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // Their names say it.
pub struct Column {
    pub id: ColumnId,
    /// The name in options, filters, CSV and JSON.
    pub name: &'static str,
    /// The heading on screen.
    pub title: &'static str,
    /// What its figures are.
    pub unit: Unit,
    /// What it is about.
    pub kind: Kind,
    /// What must be read for it.
    pub needs: Needs,
    /// What it means, in a sentence or two.
    pub help: &'static str,
    /// Where the figure comes from: ledger / procfs.
    pub source: &'static str,
    /// Its value for a row.
    pub value: fn(&Row, &Context) -> Value,
    /// Which of two columns stays where both do not fit: the larger. One outside the usual set was
    /// asked for, so it stays before most of those.
    pub rank: u8,
    /// The width of text.
    pub text_width: usize,
    /// Text that stands where a figure would.
    pub right_aligned: bool,
    /// It stays where it is when the others are scrolled.
    pub never_scrolls: bool,
    /// It says nothing of a group of exited tasks.
    pub silent_if_exited: bool,
    /// What its shares are rounded together with.
    pub rounding: Rounding,
    /// A parent is ordered by it together with those that exited below it.
    pub of_branch: bool,
}

/// What a column's shares are rounded together with on the screen, so that sums come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Nothing.
    Alone,
    /// %CPU of all rows.
    Own,
    /// %CPU of a row and of those that exited below it.
    WithExited,
    /// User and system time of a row: this is the user time.
    User,
    /// This is the system time.
    System,
    /// All states of a row.
    States,
}

impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column({})", self.name)
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.id == other.id
    }
}

impl Column {
    /// Whether the text is aligned to the left.
    pub fn left_aligned(&self) -> bool {
        self.unit == Unit::Text && !self.right_aligned
    }

    /// The width on screen; the last column of a table takes what is left.
    pub fn width(&self) -> usize {
        let by_unit = match self.unit {
            Unit::Pct => 6,
            Unit::Ns => 14,
            Unit::Time => 9,
            Unit::Count => 6,
            Unit::Bytes => 6,
            Unit::Int => 3,
            Unit::Id => 7,
            Unit::Text => self.text_width,
        };
        by_unit.max(self.title.len())
    }

    /// What must be read for it; `command_line`: command lines are shown.
    pub fn needs(&self, command_line: bool) -> Needs {
        match self.id {
            ColumnId::Command if command_line => self.needs | Needs::CMDLINE,
            _ => self.needs,
        }
    }

    /// Whether a task that did nothing in the window has 0 there, so that sorting by it puts all
    /// still tasks last, in the order of their PIDs.
    pub fn is_activity(&self) -> bool {
        use Kind::{Cpu, Events, Interrupt, Steal, System, User};
        matches!(self.kind, Cpu | User | System | Interrupt | Steal | Events)
    }

    /// Whether it is a figure of a window, so that two windows differ in it: not who a row is.
    pub fn is_figure(&self) -> bool {
        use Unit::{Bytes, Count, Ns, Pct, Time};
        self.kind != Kind::Identity && matches!(self.unit, Pct | Ns | Time | Count | Bytes)
    }

    /// Whether it is a share of the row's own time: of who was not there it says nothing, not 0.
    pub fn is_of_own_time(&self) -> bool {
        use Kind::{Lock, RunQueue, Sleep, Throttle};
        let waits = matches!(self.kind, RunQueue | Throttle | Lock | Sleep);
        self.rounding == Rounding::States || self.unit == Unit::Pct && waits
    }

    /// Whether larger comes first when a view sorts by it for the first time.
    pub fn descending(&self) -> bool {
        !matches!(self.unit, Unit::Text | Unit::Id | Unit::Int)
    }
}
