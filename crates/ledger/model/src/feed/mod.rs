//! What a view needs of whoever measures: frames, and details for the rows it shows.
//!
//! Views get one of these and never see a source. A source's feed does everything itself; a layer over
//! another feed names it ([`Feed::inner`]) and does what it changes.

mod first_look;
mod only;

pub use first_look::FirstLook;
pub use only::Only;

pub mod needs;
pub mod tap;
pub mod timeline;

use crate::feed::needs::Needs;
use crate::feed::timeline::Timeline;
use crate::frame::{Frame, FrameOptions, Row};
use crate::on_demand::{Subject, SubjectWindows};

/// What the next frame is for.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Ask {
    /// How to arrange it.
    pub options: FrameOptions,
    /// What the columns on screen need.
    pub needs: Needs,
    /// The process whose CPUs are to be known in the next window (its page is open).
    pub watch: Option<u32>,
    /// Control groups are on the screen.
    pub groups: bool,
    /// How long windows are, ns, where that is known: who serves many can let them end together.
    pub interval_ns: Option<u64>,
}

impl Ask {
    /// The process that is watched, if its windows of this subject are asked for.
    pub fn watches(&self, subject: Subject) -> Option<u32> {
        self.watch.filter(|_| self.needs.has(Needs::subject(subject)))
    }

    /// Why there is no window of any subject that is asked for.
    pub fn refused(&self, why: &str) -> SubjectWindows {
        let mut windows = SubjectWindows::default();
        let asked = Subject::ALL.iter().filter(|&&subject| self.watches(subject).is_some());
        asked.for_each(|&subject| windows.tell(subject, Some(Err(why.into()))));
        windows
    }
}

/// Frames, one window after the other. A method that is not written goes to the feed below, if there is one.
pub trait Feed {
    /// The feed below, of a layer.
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        None
    }

    /// What can be shown before the first window was measured: everyone's figures since the machine
    /// began, where that takes no time. Asked for once, before all else.
    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        self.inner()?.at_once(ask)
    }

    /// Closes the window that has been open since the call before and arranges it. The window is
    /// as long as the caller waited. `Ok(None)`: this call only opened the first window.
    ///
    /// # Errors
    /// One line for a person: what failed, the value found, what to do.
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        self.inner().ok_or("there is no source")?.next_frame(ask)
    }

    /// Arranges the window that was closed last once more, another way (threads or processes,
    /// still tasks or not), without closing a new one.
    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.inner()?.same_frame(ask)
    }

    /// Reads what `needs` names for these rows; rows already read in this window are left alone.
    /// What cannot be read says why in the row.
    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        if let Some(inner) = self.inner() {
            inner.details(rows, needs);
        }
    }

    /// Reads details anew when they are next asked for: the viewer has changed something.
    fn forget_details(&mut self) {
        if let Some(inner) = self.inner() {
            inner.forget_details();
        }
    }

    /// The name of a user of the machine that is measured.
    fn user(&mut self, uid: u32) -> Option<String> {
        self.inner()?.user(uid)
    }

    /// The way to go to and fro, where windows are recorded ones.
    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        self.inner()?.timeline()
    }

    /// Goes back to the windows that are over, where such are kept: from now on there is a
    /// [timeline](Feed::timeline) of them, and no window is closed. Whether there are any.
    fn look_back(&mut self) -> bool {
        self.inner().is_some_and(|inner| inner.look_back())
    }

    /// Comes back to the window that is open.
    fn look_on(&mut self) {
        if let Some(inner) = self.inner() {
            inner.look_on();
        }
    }
}
