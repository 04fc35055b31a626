//! The interface between a view and a source: frames, and details for the rows on the screen.
//!
//! A view gets a [`Feed`] and never sees a source. A layer wraps another feed: it returns that feed
//! from [`Feed::inner`] and implements only the methods that it changes.

mod first_look;
mod only;

pub use first_look::FirstLook;
pub use only::ProcessFilter;

pub mod needs;
pub mod tap;
pub mod timeline;

use crate::feed::needs::Needs;
use crate::feed::timeline::Timeline;
use crate::frame::{Frame, FrameOptions, Row};
use crate::ledger::key::TaskKey;
use crate::on_demand::{Subject, SubjectWindows};

/// The view's request for the next frame.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Ask {
    /// How to arrange the window.
    pub options: FrameOptions,
    /// What the columns on the screen need.
    pub needs: Needs,
    /// The process whose page is open: the next window measures its time on each CPU.
    pub watch: Option<u32>,
    /// The screen shows control groups.
    pub groups: bool,
    /// Length of the view's windows, ns, if known. A server of many views can end their windows
    /// together.
    pub interval_ns: Option<u64>,
}

impl Ask {
    /// The watched process, if the view wants windows of this subject.
    pub fn watches(&self, subject: Subject) -> Option<u32> {
        self.watch.filter(|_| self.needs.has(Needs::subject(subject)))
    }

    /// The same error for each subject that the view wants.
    pub fn refused(&self, why: &str) -> SubjectWindows {
        let mut windows = SubjectWindows::default();
        let asked = Subject::ALL.iter().filter(|&&subject| self.watches(subject).is_some());
        asked.for_each(|&subject| windows.tell(subject, Some(Err(why.into()))));
        windows
    }
}

/// A request for the rows of one task in windows before those on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptAsk {
    /// The task.
    pub task: TaskKey,
    /// True for the row of a thread, false for that of a process.
    pub thread: bool,
    /// The windows end at this time or before, CLOCK_MONOTONIC ns.
    pub until_ns: u64,
    /// Number of windows that the view has room for.
    pub most: usize,
}

/// One task in a kept window.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptRow {
    /// Start of the window, CLOCK_MONOTONIC ns, exclusive.
    pub t0_ns: u64,
    /// End of the window, CLOCK_MONOTONIC ns, inclusive.
    pub t1_ns: u64,
    /// The task's row; `None`: the window has none.
    pub row: Option<Row>,
}

/// A series of frames, one for each window. The default of each method calls the feed below, if
/// there is one.
pub trait Feed {
    /// The feed below, if this feed is a layer.
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        None
    }

    /// The frame to show before the first window is over: figures since boot, if the source can
    /// read them without delay. The view calls this once, first.
    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        self.inner()?.at_once(ask)
    }

    /// Closes the window that has been open since the call before and arranges it. The window is as
    /// long as the caller waited. `Ok(None)`: this call only opened the first window.
    ///
    /// # Errors
    /// One line for a person: what failed, the value found, what to do.
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        self.inner().ok_or("cannot read a source that did not open")?.next_frame(ask)
    }

    /// Arranges the last closed window again with other options, such as threads instead of
    /// processes. It closes no window.
    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.inner()?.same_frame(ask)
    }

    /// Reads the details in `needs` for these rows. A row that was already read in this window is
    /// left alone. A detail that cannot be read holds the reason.
    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        if let Some(inner) = self.inner() {
            inner.details(rows, needs);
        }
    }

    /// Drops the details that were read, so that the next call reads them again. The view calls it
    /// after a change by the user.
    fn forget_details(&mut self) {
        if let Some(inner) = self.inner() {
            inner.forget_details();
        }
    }

    /// Name of a user of the measured machine.
    fn user(&mut self, uid: u32) -> Option<String> {
        self.inner()?.user(uid)
    }

    /// The timeline, if the windows come from a recording.
    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        self.inner()?.timeline()
    }

    /// Rows of a task in windows that the feed keeps, the newest last. The feed returns those that
    /// it decodes without a noticeable delay; the view asks again for earlier ones. Empty: no
    /// such window is kept.
    fn kept_rows(&mut self, ask: &KeptAsk) -> Vec<KeptRow> {
        self.inner().map_or(Vec::new(), |inner| inner.kept_rows(ask))
    }

    /// Shows the window that ended this many windows before the newest one, or the oldest one that
    /// the feed keeps. From then on there is a [timeline](Feed::timeline): [`Feed::same_frame`]
    /// arranges its window, and [`Feed::next_frame`] goes on closing those of the present. Returns
    /// false if no earlier window is kept.
    fn look_back(&mut self, windows: usize) -> bool {
        self.inner().is_some_and(|inner| inner.look_back(windows))
    }

    /// Switches back to the present.
    fn look_on(&mut self) {
        if let Some(inner) = self.inner() {
            inner.look_on();
        }
    }
}
