//! Something to look at while the source is opened: loading programs takes the kernel a while, and a
//! first window must pass.

use super::{Ask, Feed};
use crate::frame::Frame;

/// Opens the feed whose first frame is shown at once; `None`: the source will say why there is none.
type First = Box<dyn FnOnce() -> Option<Box<dyn Feed>>>;
/// Opens the source, or says in one line why it cannot.
type Open = Box<dyn FnOnce() -> Result<Box<dyn Feed>, String>>;

/// A feed whose source is opened when its first window is: until then it shows another feed.
pub struct FirstLook {
    first: Option<First>,
    open: Option<Open>,
    /// The first one, then the source's.
    feed: Option<Box<dyn Feed>>,
}

impl FirstLook {
    /// `first` until the first window, which `open` begins.
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
            // Its files are closed before the source opens its own.
            self.feed = None;
            self.feed = Some(open()?);
        }
        self.inner().ok_or("there is no source")?.next_frame(ask)
    }
}
