//! Records a feed while it is shown.

use crate::{Notice, Recorder};
use exactop_model::{Ask, Feed, Frame};
use std::cell::RefCell;
use std::rc::Rc;

/// A feed whose session writes to a recorder; reports the recorder's notices.
pub struct FeedRecorder {
    feed: Box<dyn Feed>,
    recorder: Rc<RefCell<Recorder>>,
    notify: fn(&Notice),
    /// The feed has a screen of its own: print notices only at its end, else after each window.
    on_screen: bool,
}

impl FeedRecorder {
    /// Passes the recorder's notices to `notify`: at the end if `on_screen`, else after each
    /// window.
    pub fn new(
        feed: Box<dyn Feed>,
        recorder: Rc<RefCell<Recorder>>,
        notify: fn(&Notice),
        on_screen: bool,
    ) -> FeedRecorder {
        FeedRecorder { feed, recorder, notify, on_screen }
    }

    fn notify(&self) {
        let notices = self.recorder.borrow_mut().notices();
        notices.iter().for_each(self.notify);
    }
}

impl Feed for FeedRecorder {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut *self.feed)
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let frame = self.feed.next_frame(ask);
        if !self.on_screen {
            self.notify();
        }
        frame
    }
}

impl Drop for FeedRecorder {
    fn drop(&mut self) {
        self.recorder.borrow_mut().finish();
        self.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Options};

    #[test]
    fn a_recorded_feed_forwards_every_method() {
        let dir = tempfile::tempdir().expect("a directory");
        let recorder = Recorder::open(dir.path(), Machine::this("a test"), Options::default());
        let recorder = Rc::new(RefCell::new(recorder.expect("a recorder")));
        let notify = |notice: &Notice| panic!("{notice:?}");
        let layer = |feed| Box::new(FeedRecorder::new(feed, recorder, notify, false)) as _;
        assert_eq!(exactop_testkit::not_forwarded(layer), [""; 0]);
    }
}
