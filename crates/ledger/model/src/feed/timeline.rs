//! Moving through recorded windows.

use crate::ledger::key::TaskKey;

/// Direction in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To earlier windows.
    Back,
    /// To later windows.
    On,
}

/// Destination of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// This number of windows.
    By(Direction, usize),
    /// To the next change: a spike, a gap or a boot.
    Change(Direction),
    /// To the window that contains this time, or to the first window after it; ns since the epoch.
    To(i128),
}

/// What is notable about the window after a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimelineNote {
    /// CPU use changed between the window before and this one.
    Spike {
        /// CPUs in use in the window before.
        before: f64,
        /// CPUs in use in this window.
        now: f64,
    },
    /// The time before this window is not recorded.
    Gap {
        /// Reason for the gap.
        why: &'static str,
        /// Start of the gap, ns since the epoch.
        from_wall_ns: i128,
        /// End of the gap, ns since the epoch.
        to_wall_ns: i128,
    },
    /// The recording has nothing earlier, or no earlier change.
    Begin,
    /// The recording has nothing later, or no later change.
    End,
}

/// The window on the screen and the recording around it. All times are ns since the epoch, by the
/// recorded wall clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct TimelinePosition {
    pub from_wall_ns: i128,
    pub to_wall_ns: i128,
    /// Length of the window by the monotonic clock, ns.
    pub length_ns: u64,
    /// Recorded stretches, one for each file.
    pub recorded: Vec<(i128, i128)>,
    /// Number of recorded windows that this window sums.
    pub windows: usize,
}

impl TimelinePosition {
    /// Begin and end of the recording.
    pub fn bounds(&self) -> (i128, i128) {
        let begin = self.recorded.iter().map(|(from, _)| *from).min();
        let end = self.recorded.iter().map(|(_, to)| *to).max();
        let shown = (self.from_wall_ns, self.to_wall_ns);
        (begin.map_or(shown.0, |begin| begin.min(shown.0)), end.map_or(shown.1, |e| e.max(shown.1)))
    }
}

/// A feed of recorded windows.
pub trait Timeline {
    /// Moves to a window, which the feed shows from then on. Windows that cannot be read are
    /// skipped.
    ///
    /// # Errors
    /// One line for a person.
    fn travel(&mut self, to: Travel) -> Result<Option<TimelineNote>, String>;

    /// Joins windows to sums of about `length_ns`, aligned to multiples of it on the wall clock.
    /// `None`: windows as they were recorded.
    ///
    /// # Errors
    /// One line for a person.
    fn join(&mut self, length_ns: Option<u64>) -> Result<(), String>;

    /// What is notable about the first window, if the user asked for a time.
    fn arrived(&self) -> Option<TimelineNote>;

    /// The window on the screen.
    fn place(&self) -> TimelinePosition;

    /// True if the task's process has exited by the end of the window on the screen.
    fn has_exited(&self, task: TaskKey) -> bool;
}
