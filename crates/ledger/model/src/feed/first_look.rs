//! A feed that shows a first screen while the source opens. The kernel needs time to load programs,
//! and a first window must pass.

use super::{Ask, Feed};
use crate::frame::Frame;

/// Opens the feed whose frame is shown first; `None`: no first frame, the source reports its own
/// error.
type First = Box<dyn FnOnce() -> Option<Box<dyn Feed>>>;
/// Opens the source. The error is one line.
type Open = Box<dyn FnOnce() -> Result<Box<dyn Feed>, String>>;

/// A feed that shows another feed until its source has opened and has a first window.
pub struct FirstLook {
    first: Option<First>,
    open: Option<Open>,
    /// The first feed, then the source's.
    feed: Option<Box<dyn Feed>>,
}

impl FirstLook {
    /// Makes a feed that shows `first` until the first window; `open` opens the source that
    /// measures this window.
    pub fn new(first: First, open: Open) -> FirstLook {
        FirstLook { first: Some(first), open: Some(open), feed: None }
    }
}

impl Feed for FirstLook {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        self.feed.as_mut().map(|feed| &mut **feed as &mut dyn Feed)
    }

    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        let mut first = (self.first.take()?)()?;
        let frame = first.next_frame(ask).ok()??;
        self.feed = Some(first);
        Some(frame)
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        if let Some(open) = self.open.take() {
            // Close the first feed's files before the source opens its own.
            self.feed = None;
            self.feed = Some(open()?);
        }
        self.inner().ok_or("cannot read a source that did not open")?.next_frame(ask)
    }
}
