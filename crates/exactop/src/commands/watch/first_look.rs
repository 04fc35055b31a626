//! Something to look at while the source is opened: loading programs takes the kernel a while, and a
//! first window must pass.

use crate::failure::Failure;
use exactop_model::feed::timeline::Timeline;
use exactop_model::{Ask, Feed, Frame, Needs, Row};
use exactop_sources::session::Session;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// Opens the source and gives up the rights that it took.
type Open = Box<dyn FnOnce() -> Result<Box<dyn Feed>, Failure>>;

/// A feed whose source is opened when its first window is: until then it shows what /proc says of
/// everyone's life so far.
pub struct FirstLook {
    open: Option<Open>,
    look: Option<Session>,
    feed: Option<Box<dyn Feed>>,
    /// Why the source could not be opened.
    failure: Rc<Cell<Option<Failure>>>,
}

impl FirstLook {
    /// A feed that is opened so.
    pub fn before(open: Open) -> FirstLook {
        FirstLook { open: Some(open), look: None, feed: None, failure: Rc::default() }
    }

    /// Where it is said why the source could not be opened, if it could not.
    pub fn failure(&self) -> Rc<Cell<Option<Failure>>> {
        Rc::clone(&self.failure)
    }

    fn now(&mut self) -> Option<&mut dyn Feed> {
        match (&mut self.feed, &mut self.look) {
            (Some(feed), _) => Some(&mut **feed),
            (None, Some(look)) => Some(look),
            (None, None) => None,
        }
    }
}

impl Feed for FirstLook {
    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        // Whoever cannot read /proc hears of it from the source.
        let mut look = Session::since_boot(Path::new("/proc")).ok()?;
        let frame = look.next_frame(ask).ok()??;
        self.look = Some(look);
        Some(frame)
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        if let Some(open) = self.open.take() {
            // Its files are closed before the source opens its own.
            self.look = None;
            match open() {
                Ok(feed) => self.feed = Some(feed),
                Err(failure) => self.failure.set(Some(failure)),
            }
        }
        match &mut self.feed {
            Some(feed) => feed.next_frame(ask),
            None => Err("there is no source".into()),
        }
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.now()?.same_frame(ask)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        if let Some(feed) = self.now() {
            feed.details(rows, needs);
        }
    }

    fn forget_details(&mut self) {
        if let Some(feed) = self.now() {
            feed.forget_details();
        }
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        self.now()?.timeline()
    }

    fn look_back(&mut self) -> bool {
        self.now().is_some_and(|feed| feed.look_back())
    }

    fn look_on(&mut self) {
        if let Some(feed) = self.now() {
            feed.look_on();
        }
    }
}
