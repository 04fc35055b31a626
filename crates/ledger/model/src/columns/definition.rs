//! The definition of a column in the registry.

use super::unit::Unit;
use super::ColumnId;
use crate::feed::needs::Needs;
use crate::frame::value::{Missing, Value};
use crate::frame::Row;

/// Subject of a column; it decides the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum ColumnKind {
    /// Name or number of the task.
    Identity,
    /// CPU time of any kind.
    Cpu,
    /// CPU time since the task's birth.
    Life,
    User,
    System,
    /// Time in interrupts.
    Interrupt,
    Steal,
    /// Run-queue wait.
    RunQueue,
    /// Time in which a quota kept the task off the CPU.
    Throttle,
    /// Sleep on a lock.
    Lock,
    /// Asleep in a page fault.
    Fault,
    /// Asleep uninterruptibly: disk and other D.
    Block,
    /// Stopped or traced.
    Stop,
    /// Any other sleep.
    Sleep,
    Memory,
    /// Numbers of events.
    Events,
}

/// Settings beside the row that a column's value depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct Context {
    pub window_ns: u64,
    pub cpus: u32,
    /// Per cent of the whole machine instead of one CPU (Solaris mode of top).
    pub of_machine: bool,
    pub command_line: bool,
    /// Physical memory, bytes; the base of %MEM.
    pub memory_total: Option<u64>,
    /// The window's end on the clock of start times (CLOCK_BOOTTIME), ns.
    pub boottime_ns: Option<u64>,
}

impl Context {
    /// `part` of the window, in per cent of one CPU or of the machine.
    pub(super) fn cpu_share(&self, part: Option<u64>) -> Value {
        let cpus = if self.of_machine { u64::from(self.cpus) } else { 1 };
        Value::share(part, self.window_ns * cpus, Missing::Source)
    }
}

#[derive(Clone, Copy)]
#[allow(missing_docs)] // Their names say it.
pub struct Column {
    pub id: ColumnId,
    /// Name in options, filters, CSV and JSON.
    pub name: &'static str,
    /// Heading on the screen.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Subject; it decides the colour.
    pub kind: ColumnKind,
    /// What the source reads for this column.
    pub needs: Needs,
    /// Explanation in one or two sentences.
    pub help: &'static str,
    /// Where each source takes the value from, as `ledger: ... / procfs: ...`.
    pub source: &'static str,
    /// Computes the value for a row.
    pub value: fn(&Row, &Context) -> Value,
    /// Priority when the columns do not fit: the highest rank stays. A column outside the default
    /// set has a high rank, because the user chose it.
    pub rank: u8,
    /// Width of a text column, in characters.
    pub text_width: usize,
    /// Right-align the text, as figures are.
    pub right_aligned: bool,
    /// The column stays in place while the others scroll.
    pub never_scrolls: bool,
    /// The column has no value for a group of exited tasks.
    pub silent_if_exited: bool,
    /// The columns that its shares are rounded with.
    pub rounding: Rounding,
    /// Sorting by it orders a parent together with its exited descendants.
    pub of_branch: bool,
}

/// The figures that a share is rounded with, so that the sums on the screen add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// No other figure.
    Alone,
    /// %CPU of all rows.
    Own,
    /// %CPU of a row and of the descendants of it that exited.
    WithExited,
    /// User and system time of a row; this column is the user time.
    User,
    /// User and system time of a row; this column is the system time.
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
    /// True for left-aligned text.
    pub fn left_aligned(&self) -> bool {
        self.unit == Unit::Text && !self.right_aligned
    }

    /// Width on the screen, in characters; the last column of a table takes the rest of the line.
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

    /// What the source reads for this column; with `command_line` the command line is shown.
    pub fn needs(&self, command_line: bool) -> Needs {
        match self.id {
            ColumnId::Command if command_line => self.needs | Needs::CMDLINE,
            _ => self.needs,
        }
    }

    /// True if a task that did nothing in the window has 0 in this column. Sorting by such a column
    /// puts all still tasks last, in the order of their PIDs.
    pub fn is_activity(&self) -> bool {
        use ColumnKind::{Cpu, Events, Interrupt, Steal, System, User};
        matches!(self.kind, Cpu | User | System | Interrupt | Steal | Events)
    }

    /// True for a figure of the window, which differs between windows; false for identity.
    pub fn is_figure(&self) -> bool {
        use Unit::{Bytes, Count, Ns, Pct, Time};
        self.kind != ColumnKind::Identity && matches!(self.unit, Pct | Ns | Time | Count | Bytes)
    }

    /// True for a share of the row's own time. A task that did not exist has no value here, not 0.
    pub fn is_of_own_time(&self) -> bool {
        use ColumnKind::{Block, Fault, Lock, RunQueue, Sleep, Stop, Throttle};
        let waits = matches!(self.kind, RunQueue | Throttle | Lock | Fault | Block | Stop | Sleep);
        self.rounding == Rounding::States || self.unit == Unit::Pct && waits
    }

    /// True if the first sort by this column puts the largest value first.
    pub fn descending(&self) -> bool {
        !matches!(self.unit, Unit::Text | Unit::Id | Unit::Int)
    }
}
