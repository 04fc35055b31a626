//! Where events, frames and what the user asks for come together: the view without its terminal.
//! What it does depends on nothing but the events and frames it is given, and in which order.

use crate::app::{Action, App};
use crate::host::{Host, TuiError};
use crossterm::event::Event;
use exactop_model::{Feed, Frame};

/// What is left to do for the terminal's loop after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing but drawing, some time.
    Nothing,
    /// Draw everything anew.
    Repaint,
    /// Stop until a shell brings the program back.
    Suspend,
    /// Leave.
    Quit,
}

/// The state of the view, who feeds it, and who acts for it.
pub struct Desk<'a> {
    app: App,
    feed: &'a mut dyn Feed,
    host: &'a mut dyn Host,
    /// A new window was asked for.
    refresh: bool,
}

impl<'a> Desk<'a> {
    /// A desk with nothing on it yet.
    pub fn new(app: App, feed: &'a mut dyn Feed, host: &'a mut dyn Host) -> Desk<'a> {
        let mut desk = Desk { app, feed, host, refresh: false };
        if let Some(user) = desk.app.settings().user.clone() {
            desk.look_up_user(&user);
        }
        desk
    }

    /// The state, for drawing.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Tells it the size of the terminal.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.app.resize(width, height);
    }

    /// Takes an event. What it asks for is done at once, but for a new window: that would put
    /// other rows under the keys that were pressed already ([`Desk::wants_frame`]).
    pub fn take(&mut self, event: &Event) -> After {
        let mut after = After::Nothing;
        match self.app.on_event(event) {
            Action::Draw => {}
            Action::Repaint => after = After::Repaint,
            Action::Suspend => after = After::Suspend,
            Action::Quit => after = After::Quit,
            Action::Rearrange => self.rearrange(),
            Action::Refresh => self.refresh = true,
            Action::LookUpUser(text) => {
                self.look_up_user(&text);
                self.rearrange();
            }
            action => self.act(action),
        }
        let feed = &mut self.feed;
        self.app.settle(&mut |rows, needs| feed.details(rows, needs));
        after
    }

    /// What is done outside of the view.
    fn act(&mut self, action: Action) {
        match action {
            Action::Identify { deed, pid } => {
                let found = self.host.identify(pid, deed);
                self.app.identified(deed, found);
            }
            Action::Signal { target, signal } => {
                let result = self.host.signal(&target, signal);
                self.app.signalled(&target, signal, result);
            }
            Action::Renice { target, nice } => {
                let result = self.host.renice(&target, nice);
                self.feed.forget_details();
                self.app.reniced(&target, nice, result);
            }
            Action::SetGroup(limit) => {
                let result = self.host.limit(&limit);
                self.app.limited(&limit, result);
            }
            Action::Save => match self.host.save(self.app.settings()) {
                Ok(path) => self.app.say(format!("settings kept in {path}")),
                Err(why) => self.app.complain(why),
            },
            _ => {}
        }
    }

    fn look_up_user(&mut self, text: &str) {
        let uid = self.host.user_id(text.strip_prefix('!').unwrap_or(text).trim());
        self.app.set_user(text, uid);
    }

    /// Whether an event asked for a new window. To be asked when the events that were there are
    /// taken: they were meant for what the screen shows.
    pub fn wants_frame(&mut self) -> bool {
        std::mem::take(&mut self.refresh)
    }

    /// Closes the window and opens the next; whether there is a frame.
    ///
    /// # Errors
    /// The source failed before there was anything to show.
    pub fn next_frame(&mut self) -> Result<bool, TuiError> {
        match self.feed.next_frame(&self.app.ask()) {
            Ok(Some(frame)) => self.accept(frame),
            Ok(None) => return Ok(false),
            Err(why) if self.app.frame().is_some() => self.app.set_failure(why),
            Err(why) => return Err(TuiError::Feed(why)),
        }
        Ok(true)
    }

    fn rearrange(&mut self) {
        if let Some(frame) = self.feed.same_frame(&self.app.ask()) {
            self.accept(frame);
        }
    }

    fn accept(&mut self, frame: Frame) {
        let feed = &mut self.feed;
        self.app.accept(frame, &mut |rows, needs| feed.details(rows, needs));
        // The process of the open page has no row if it exited, or if it did nothing.
        if let Some(key) = self.app.missing_process() {
            let exited = self.host.has_exited(key);
            self.app.set_exited(exited);
        }
    }

    /// Gets what is on the screen ready; to be called right before drawing.
    pub fn look(&mut self) {
        let feed = &mut self.feed;
        self.app.look(&mut |rows, needs| feed.details(rows, needs));
    }
}
