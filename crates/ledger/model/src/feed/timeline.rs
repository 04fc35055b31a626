//! Going to and fro in time that was recorded: what a view may ask of a feed that can.

use crate::ledger::key::TaskKey;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To what was before.
    Back,
    /// To what came after.
    On,
}

/// Where to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// So many windows.
    By(Direction, usize),
    /// To the next moment of change: a spike, a gap, a boot.
    Change(Direction),
    /// To the window that holds a time, ns since the epoch, or the first after it.
    To(i128),
}

/// What there is to say of the window that one came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noted {
    /// CPUs in use, in the window before and in this one.
    Spike {
        /// In the window before.
        before: f64,
        /// In this one.
        now: f64,
    },
    /// Time before it is not recorded.
    Gap {
        /// Why.
        why: &'static str,
        /// From then, ns since the epoch.
        from_wall_ns: i128,
        /// To then.
        to_wall_ns: i128,
    },
    /// There is nothing before it, or no change.
    Begin,
    /// There is nothing after it, or no change.
    End,
}

/// Which window is shown, and of what. All times are ns since the epoch, by the clock of then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Place {
    pub from_wall_ns: i128,
    pub to_wall_ns: i128,
    /// How long it is, by the clock that nobody sets.
    pub length_ns: u64,
    /// Stretches that are recorded, a file each.
    pub recorded: Vec<(i128, i128)>,
    /// How many recorded windows it is the sum of.
    pub windows: usize,
}

impl Place {
    /// Where the recording begins and ends.
    pub fn bounds(&self) -> (i128, i128) {
        let begin = self.recorded.iter().map(|(from, _)| *from).min();
        let end = self.recorded.iter().map(|(_, to)| *to).max();
        let shown = (self.from_wall_ns, self.to_wall_ns);
        (begin.map_or(shown.0, |begin| begin.min(shown.0)), end.map_or(shown.1, |e| e.max(shown.1)))
    }
}

/// A feed of windows that are recorded.
pub trait Timeline {
    /// Goes there; the window is the feed's from then on. What cannot be read is passed by.
    ///
    /// # Errors
    /// One line for a person.
    fn travel(&mut self, to: Travel) -> Result<Option<Noted>, String>;

    /// Joins windows to sums of about this length, ns, by the wall clock's multiples of it; `None`:
    /// as they were recorded.
    ///
    /// # Errors
    /// One line for a person.
    fn join(&mut self, length_ns: Option<u64>) -> Result<(), String>;

    /// What there is to say of the window that it began at, where a time was asked for.
    fn arrived(&self) -> Option<Noted>;

    /// Which window is shown.
    fn place(&self) -> Place;

    /// Whether the process of a task is gone at the end of the window that is shown.
    fn has_exited(&self, task: TaskKey) -> bool;
}
