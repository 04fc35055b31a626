//! Combines events, frames and the user's requests: the view without its terminal. Its behaviour
//! depends only on the events and frames that it gets, and on their order.

use crate::app::action::{HostAction, WindowAction};
use crate::app::tags::sent;
use crate::app::target::Target;
use crate::app::{past, Action, App};
use crate::host::{Host, TuiError};
use crossterm::event::Event;
use exactop_model::feed::timeline::{Direction, TimelineNote, Travel};
use exactop_model::frame::holdings::HoldingsRequest;
use exactop_model::{Feed, Frame};

/// What the terminal's loop must do after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopStep {
    /// Draw at the next opportunity.
    Draw,
    /// Draw the whole screen again.
    Repaint,
    /// Stop until a shell continues the program.
    Suspend,
    /// Leave.
    Quit,
}

/// The state of the view, its feed and its host.
pub struct Desk<'a> {
    app: App,
    feed: &'a mut dyn Feed,
    host: &'a mut dyn Host,
    /// True if a new window was requested.
    refresh: bool,
    /// True if the screen shows figures that belong to no measured window.
    preliminary: bool,
}

impl<'a> Desk<'a> {
    /// A desk without frames.
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

    /// Sets the size of the terminal.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.app.resize(width, height);
    }

    /// Handles an event. It acts at once on all requests but one: a new window would put other rows
    /// under keys that the user has already pressed ([`Desk::wants_frame`]).
    pub fn take(&mut self, event: &Event) -> LoopStep {
        let mut after = LoopStep::Draw;
        match self.app.on_event(event) {
            Action::Draw => {}
            Action::Repaint => after = LoopStep::Repaint,
            Action::Suspend => after = LoopStep::Suspend,
            Action::Quit => after = LoopStep::Quit,
            Action::Rearrange => self.rearrange(),
            Action::Refresh => {
                // A new page shows the known figures until the window ends.
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
        self.fill_graph();
        after
    }

    /// Reads earlier windows for the open graph. The feed decides how many it reads at a time, so a
    /// wide graph fills over several events and windows.
    fn fill_graph(&mut self) {
        if let Some(ask) = self.app.wants_kept_rows() {
            let earlier = self.feed.kept_rows(&ask);
            self.app.take_kept_rows(earlier);
        }
    }

    fn look_into(&mut self, wanted: HoldingsRequest) {
        let told = self.host.look_into(wanted);
        self.app.looked_into(wanted, told);
    }

    /// Runs an action of the host.
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
            HostAction::Place(targets, placement) => {
                let results = done_to(targets, |target| self.host.place(target, &placement));
                self.feed.forget_details();
                self.app.done_to_all(&placement.done(), results);
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
                Ok(path) => self.app.say(format!("settings saved in {path}")),
                Err(why) => self.app.complain(why),
            },
        }
    }

    /// Runs an action of the feed.
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
            WindowAction::LookBack(windows) => self.look_back(windows),
            WindowAction::LookOn => {
                self.feed.look_on();
                self.app.end_looking_back();
                self.rearrange();
            }
        }
    }

    /// Shows an earlier window of the live machine, counted back from the newest one.
    fn look_back(&mut self, windows: usize) {
        if !self.feed.look_back(windows) {
            return self.app.complain("no earlier window is in memory");
        }
        if !self.app.is_looking_back() {
            self.app.begin_looking_back();
        }
        self.rearrange();
    }

    /// Marks the window on the screen: rows are compared with it from now on.
    fn mark(&mut self) {
        let frame = match self.preliminary {
            true => None,
            false => self.feed.same_frame(&self.app.ask_for_mark()),
        };
        let feed = &mut self.feed;
        self.app.mark(frame, &mut |rows, needs| feed.details(rows, needs));
        self.rearrange();
    }

    /// Goes to another window of the recording and shows its note.
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
                if noted == Some(TimelineNote::End) {
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

    /// True if an event requested a new window. Call this after all waiting events are handled: the
    /// user meant them for the rows on the screen.
    pub fn wants_frame(&mut self) -> bool {
        std::mem::take(&mut self.refresh)
    }

    /// True if the next window must be short. This happens once, after the user opened a page whose
    /// figures count from now on.
    pub fn takes_short(&mut self) -> bool {
        std::mem::take(&mut self.app.hurries)
    }

    /// Takes the figures that can be shown at once; true if there are any.
    pub fn at_once(&mut self) -> bool {
        let Some(frame) = self.feed.at_once(&self.app.ask()) else { return false };
        self.accept(frame);
        self.preliminary = true;
        true
    }

    /// Opens the first window; true if there is a frame already.
    ///
    /// # Errors
    /// The source failed.
    pub fn open(&mut self) -> Result<bool, TuiError> {
        let frame = self.feed.next_frame(&self.app.ask()).map_err(TuiError::Feed)?;
        Ok(frame.map(|frame| self.accept(frame)).is_some())
    }

    /// Closes the window and opens the next; true if there is a frame. An earlier window stays on
    /// the screen meanwhile.
    ///
    /// # Errors
    /// The source failed before the first frame.
    pub fn next_frame(&mut self) -> Result<bool, TuiError> {
        if self.app.is_looking_back() {
            return Ok(self.next_of_present());
        }
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

    /// Closes a window of the present while an earlier one is shown.
    fn next_of_present(&mut self) -> bool {
        match self.feed.next_frame(&self.app.ask_for_present()) {
            Ok(Some(frame)) => self.app.note_present(&frame),
            Ok(None) => return false,
            Err(why) => self.app.set_failure(why),
        }
        match self.app.is_paused() {
            true => self.set_place(),
            false => self.travel(Travel::By(Direction::On, 1)),
        }
        true
    }

    /// Sets the current window on the time line.
    fn set_place(&mut self) {
        if let Some(timeline) = self.feed.timeline() {
            let local = &mut |ns| self.host.local_time(ns);
            self.app.set_place(timeline.place(), local);
        }
    }

    fn rearrange(&mut self) {
        if let Some(frame) = self.feed.same_frame(&self.app.ask()) {
            self.accept(frame);
        }
    }

    fn accept(&mut self, frame: Frame) {
        if std::mem::take(&mut self.preliminary) {
            // Figures since boot are wider than those of a window.
            self.app.forget_widths();
        }
        let is_first = self.app.frame().is_none();
        let feed = &mut self.feed;
        self.app.accept(frame, &mut |rows, needs| feed.details(rows, needs));
        self.set_place();
        let arrived = self.feed.timeline().and_then(|timeline| timeline.arrived());
        if let Some(noted) = arrived.filter(|_| is_first) {
            let local = &mut |ns| self.host.local_time(ns);
            self.app.say(past::noted(noted, Travel::To(0), false, local));
        }
        // The process of the open page has no row if it exited or was idle.
        if let Some(key) = self.app.missing_process() {
            let exited = match self.feed.timeline() {
                Some(timeline) => timeline.has_exited(key),
                None => self.host.has_exited(key),
            };
            self.app.set_exited(exited);
        }
        self.fill_graph();
        // Environment or open files as of now, while the page shows them.
        if let Some(wanted) = self.app.looks_into() {
            self.look_into(wanted);
        }
    }

    /// Prepares the rows on the screen; call this right before drawing.
    pub fn look(&mut self) {
        let feed = &mut self.feed;
        self.app.look(&mut |rows, needs| feed.details(rows, needs));
    }
}

/// Result of the action on each target.
fn done_to<T>(targets: Vec<Target>, mut deed: impl FnMut(&Target) -> T) -> Vec<(Target, T)> {
    let one = |target| {
        let result = deed(&target);
        (target, result)
    };
    targets.into_iter().map(one).collect()
}
