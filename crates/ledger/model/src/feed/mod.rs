//! What a view needs of whoever measures: frames, and details for the rows it shows.
//!
//! Views get one of these and never see a source.

pub mod needs;
pub mod tap;
pub mod timeline;

use crate::feed::needs::Needs;
use crate::feed::timeline::Timeline;
use crate::frame::{Frame, FrameOptions, Row};

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

/// Frames, one window after the other.
pub trait Feed {
    /// What can be shown before the first window was measured: everyone's figures since the machine
    /// began, where that takes no time. Asked for once, before all else.
    fn at_once(&mut self, _: &Ask) -> Option<Frame> {
        None
    }

    /// Closes the window that has been open since the call before and arranges it. The window is
    /// as long as the caller waited. `Ok(None)`: this call only opened the first window.
    ///
    /// # Errors
    /// One line for a person: what failed, the value found, what to do.
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String>;

    /// Arranges the window that was closed last once more, another way (threads or processes,
    /// still tasks or not), without closing a new one.
    fn same_frame(&mut self, ask: &Ask) -> Option<Frame>;

    /// Reads what `needs` names for these rows; rows already read in this window are left alone.
    /// What cannot be read says why in the row.
    fn details(&mut self, rows: &mut [&mut Row], needs: Needs);

    /// Reads details anew when they are next asked for: the viewer has changed something.
    fn forget_details(&mut self) {}

    /// The way to go to and fro, where windows are recorded ones.
    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        None
    }

    /// Goes back to the windows that are over, where such are kept: from now on there is a
    /// [timeline](Feed::timeline) of them, and no window is closed. Whether there are any.
    fn look_back(&mut self) -> bool {
        false
    }

    /// Comes back to the window that is open.
    fn look_on(&mut self) {}
}
