//! Where events, frames and what the user asks for come together: the view without its terminal.
//! What it does depends on nothing but the events and frames it is given, and in which order.

use crate::app::action::{HostAction, WindowAction};
use crate::app::tags::sent;
use crate::app::target::Target;
use crate::app::{past, Action, App};
use crate::host::{Host, TuiError};
use crossterm::event::Event;
use exactop_model::feed::timeline::{Direction, Noted, Travel};
use exactop_model::frame::holdings::Wanted;
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
    /// What is shown is of no window that was measured.
    preliminary: bool,
}

impl<'a> Desk<'a> {
    /// A desk with nothing on it yet.
    pub fn new(app: App, feed: &'a mut dyn Feed, host: &'a mut dyn Host) -> Desk<'a> {
        let mut desk = Desk { app, feed, host, refresh: false, preliminary: false };
        if desk.feed.timeline().is_some() {
            desk.app.begin_past();
        }
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
            Action::Refresh => {
                // What was opened shows what is known of it until the window is over.
                if self.app.hurries() {
                    self.rearrange();
                }
                self.refresh = true;
            }
            Action::Host(action) => self.act(action),
            Action::Window(action) => self.turn(action),
        }
        let feed = &mut self.feed;
        self.app.settle(&mut |rows, needs| feed.details(rows, needs));
        if let Some(wanted) = self.app.has_to_look_into() {
            self.look_into(wanted);
        }
        after
    }

    fn look_into(&mut self, wanted: Wanted) {
        let told = self.host.look_into(wanted);
        self.app.looked_into(wanted, told);
    }

    /// What the host does.
    fn act(&mut self, action: HostAction) {
        match action {
            HostAction::Identify { deed, pid } => {
                let found = self.host.identify(pid, deed);
                self.app.identified(deed, found);
            }
            HostAction::Signal { target, signal } => {
                let result = self.host.signal(&target, signal);
                self.app.signalled(&target, signal, result);
            }
            HostAction::Renice { target, nice } => {
                let result = self.host.renice(&target, nice);
                self.feed.forget_details();
                self.app.reniced(&target, nice, result);
            }
            HostAction::SignalAll(targets, signal) => {
                let results = done_to(targets, |target| self.host.signal(target, signal));
                self.app.done_to_all(&sent(signal), results);
            }
            HostAction::ReniceAll(targets, nice) => {
                let results = done_to(targets, |target| self.host.renice(target, nice));
                self.feed.forget_details();
                self.app.done_to_all(&format!("nice value {nice} set"), results);
            }
            HostAction::SetGroup(limit) => {
                let result = self.host.limit(&limit);
                self.app.limited(&limit, result);
            }
            HostAction::LookUpUser(text) => {
                self.look_up_user(&text);
                self.rearrange();
            }
            HostAction::Save => match self.host.save(self.app.settings()) {
                Ok(path) => self.app.say(format!("settings kept in {path}")),
                Err(why) => self.app.complain(why),
            },
        }
    }

    /// What the feed does: another window is shown, or this one is marked.
    fn turn(&mut self, action: WindowAction) {
        match action {
            WindowAction::Mark => self.mark(),
            WindowAction::Travel(to) => self.travel(to),
            WindowAction::GoTo(text) => {
                let end = self.feed.timeline().map_or(0, |timeline| timeline.place().bounds().1);
                match self.host.point_in_time(&text, end) {
                    Ok(wall_ns) => self.travel(Travel::To(wall_ns)),
                    Err(why) => self.app.complain(why),
                }
            }
            WindowAction::Join(length_ns) => {
                let joined = self.feed.timeline().map(|timeline| timeline.join(length_ns));
                if let Some(Err(why)) = joined {
                    self.app.not_joined();
                    self.app.complain(why);
                }
                self.rearrange();
            }
            WindowAction::LookBack => match self.feed.look_back() {
                true => {
                    self.app.begin_looking_back();
                    self.travel(Travel::By(Direction::Back, 1));
                }
                false => self.app.complain("no window before this one is kept"),
            },
            WindowAction::LookOn => {
                self.feed.look_on();
                self.app.end_looking_back();
                self.refresh = true;
                self.rearrange();
            }
        }
    }

    /// Marks the window on the screen: rows are shown against it from now on.
    fn mark(&mut self) {
        let frame = match self.preliminary {
            true => None,
            false => self.feed.same_frame(&self.app.ask_for_mark()),
        };
        let feed = &mut self.feed;
        self.app.mark(frame, &mut |rows, needs| feed.details(rows, needs));
        self.rearrange();
    }

    /// Goes to another window of the recording and says what there is to say of it.
    fn travel(&mut self, to: Travel) {
        let Some(timeline) = self.feed.timeline() else { return };
        match timeline.travel(to) {
            Ok(noted) => {
                let kept = self.app.is_looking_back();
                let local = &mut |ns| self.host.local_time(ns);
                let told = noted.map(|noted| past::noted(noted, to, kept, local));
                if let Some(told) = told {
                    self.app.say(told);
                }
                if noted == Some(Noted::End) {
                    self.app.stop_playing();
                }
            }
            Err(why) => self.app.complain(why),
        }
        self.rearrange();
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

    /// Whether the window that begins is to be short: once, after something was opened that is counted from
    /// now on.
    pub fn takes_short(&mut self) -> bool {
        std::mem::take(&mut self.app.hurries)
    }

    /// Takes what there is to show at once; whether there is anything.
    pub fn at_once(&mut self) -> bool {
        let Some(frame) = self.feed.at_once(&self.app.ask()) else { return false };
        self.accept(frame);
        self.preliminary = true;
        true
    }

    /// Opens the first window; whether there is a frame already.
    ///
    /// # Errors
    /// The source failed.
    pub fn open(&mut self) -> Result<bool, TuiError> {
        let frame = self.feed.next_frame(&self.app.ask()).map_err(TuiError::Feed)?;
        Ok(frame.map(|frame| self.accept(frame)).is_some())
    }

    /// Closes the window and opens the next; whether there is a frame.
    ///
    /// # Errors
    /// The source failed before there was anything to show.
    pub fn next_frame(&mut self) -> Result<bool, TuiError> {
        if self.app.frame().is_some() && self.feed.timeline().is_some() {
            self.travel(Travel::By(Direction::On, 1));
            return Ok(true);
        }
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
        if std::mem::take(&mut self.preliminary) {
            // Figures of a machine's whole life are wider than those of a window.
            self.app.forget_widths();
        }
        let is_first = self.app.frame().is_none();
        let feed = &mut self.feed;
        self.app.accept(frame, &mut |rows, needs| feed.details(rows, needs));
        if let Some(timeline) = self.feed.timeline() {
            let (place, arrived) = (timeline.place(), timeline.arrived().filter(|_| is_first));
            let to = Travel::To(place.from_wall_ns);
            let local = &mut |ns| self.host.local_time(ns);
            self.app.set_place(place, local);
            if let Some(noted) = arrived {
                self.app.say(past::noted(noted, to, false, local));
            }
        }
        // The process of the open page has no row if it exited, or if it did nothing.
        if let Some(key) = self.app.missing_process() {
            let exited = match self.feed.timeline() {
                Some(timeline) => timeline.has_exited(key),
                None => self.host.has_exited(key),
            };
            self.app.set_exited(exited);
        }
        // As of now, while it is shown.
        if let Some(wanted) = self.app.looks_into() {
            self.look_into(wanted);
        }
    }

    /// Gets what is on the screen ready; to be called right before drawing.
    pub fn look(&mut self) {
        let feed = &mut self.feed;
        self.app.look(&mut |rows, needs| feed.details(rows, needs));
    }
}

/// What became of each.
fn done_to<T>(targets: Vec<Target>, mut deed: impl FnMut(&Target) -> T) -> Vec<(Target, T)> {
    let one = |target| {
        let result = deed(&target);
        (target, result)
    };
    targets.into_iter().map(one).collect()
}
