//! The loop: a frame when its time has come, events in between. One thread.

use crate::app::{Action, App};
use crate::draw::{draw, theme::Theme};
use crate::host::{ExitReason, Host, TuiError};
use crate::settings::Settings;
use crate::terminal::{Guard, Signals, Wake};
use crossterm::event;
use exactop_model::Feed;
use std::io;
use std::time::{Duration, Instant};

/// The first window is short, so that something is on the screen soon.
const FIRST_WINDOW: Duration = Duration::from_millis(200);

/// Shows frames on the terminal until someone or something ends it. The terminal is as it was
/// when this returns.
///
/// # Errors
/// No terminal, unusable settings, or a source that fails before there is anything to show.
pub fn run(
    feed: &mut dyn Feed,
    host: &mut dyn Host,
    settings: Settings,
) -> Result<ExitReason, TuiError> {
    let theme = Theme::choose(settings.color, |name| std::env::var(name).ok());
    let user = settings.user.clone();
    let mouse = settings.mouse;
    let mut app = App::new(settings).map_err(TuiError::Settings)?;
    if let Some(user) = user {
        look_up_user(&mut app, host, &user);
    }
    let signals = Signals::new()?;
    let guard = Guard::new(mouse)?;
    let now = Instant::now();
    let mut view = View { feed, host, app, theme, signals, guard, started: now, due: now };
    match view.run() {
        // Writing to a terminal that hung up fails; that is how it ends, not an error.
        Err(TuiError::Terminal(e)) if is_gone(&e) => Ok(ExitReason::TerminalGone),
        result => result,
    }
}

fn is_gone(error: &io::Error) -> bool {
    let gone = [rustix::io::Errno::IO, rustix::io::Errno::NXIO, rustix::io::Errno::NODEV];
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error().is_some_and(|e| gone.iter().any(|g| g.raw_os_error() == e))
}

fn look_up_user(app: &mut App, host: &mut dyn Host, text: &str) {
    let uid = host.user_id(text.strip_prefix('!').unwrap_or(text).trim());
    app.set_user(text, uid);
}

struct View<'a> {
    feed: &'a mut dyn Feed,
    host: &'a mut dyn Host,
    app: App,
    theme: Theme,
    signals: Signals,
    guard: Guard,
    /// When the open window was opened.
    started: Instant,
    /// When it is to be closed.
    due: Instant,
}

impl View<'_> {
    fn run(&mut self) -> Result<ExitReason, TuiError> {
        let (width, height) = self.guard.size()?;
        self.app.resize(width, height);
        self.next_frame()?;
        self.paint()?;
        loop {
            if let Some(signal) = self.signals.ending() {
                return Ok(ExitReason::Signal(signal));
            }
            if self.signals.take_stop() {
                self.suspend()?;
            } else if self.signals.take_resumed() {
                self.guard.retake()?;
                self.paint()?;
            }
            let wait = match self.app.is_paused() {
                true => Duration::from_secs(3600),
                false => self.due.saturating_duration_since(Instant::now()),
            };
            match self.guard.wait(&self.signals, wait)? {
                Wake::Gone => return Ok(ExitReason::TerminalGone),
                Wake::Timeout if !self.app.is_paused() => {
                    self.next_frame()?;
                    self.paint()?;
                }
                Wake::Timeout => {}
                // A changed size comes as an event, too.
                Wake::Input | Wake::Signal => {
                    if let Some(reason) = self.events()? {
                        return Ok(reason);
                    }
                }
            }
        }
    }

    /// Takes all events that are there, then draws once.
    fn events(&mut self) -> Result<Option<ExitReason>, TuiError> {
        let mut any = false;
        // Not 0: the event source does not even look then.
        while event::poll(Duration::from_millis(1))? {
            any = true;
            let event = event::read()?;
            let action = self.app.on_event(&event);
            if action == Action::Quit {
                return Ok(Some(ExitReason::Quit));
            }
            self.act(action)?;
        }
        if any {
            self.paint()?;
        }
        Ok(None)
    }

    fn act(&mut self, action: Action) -> Result<(), TuiError> {
        match action {
            Action::Draw | Action::Quit => {}
            Action::Rearrange => self.rearrange(),
            Action::Refresh => self.next_frame()?,
            Action::Repaint => self.guard.clear()?,
            Action::Suspend => self.suspend()?,
            Action::Signal { pid, signal } => {
                let result = self.host.signal(pid, signal);
                self.app.signalled(pid, signal, result);
            }
            Action::Renice { pid, nice } => match self.host.renice(pid, nice) {
                Ok(()) => {
                    self.feed.forget_details();
                    self.app.say(format!("nice value of PID {pid} is {nice}"));
                }
                Err(why) => self.app.complain(why),
            },
            Action::SetGroup(limit) => {
                let result = self.host.limit(&limit);
                self.app.limited(&limit, result);
            }
            Action::LookUpUser(text) => {
                look_up_user(&mut self.app, self.host, &text);
                self.rearrange();
            }
            Action::Save => match self.host.save(self.app.settings()) {
                Ok(path) => self.app.say(format!("settings kept in {path}")),
                Err(why) => self.app.complain(why),
            },
        }
        Ok(())
    }

    fn rearrange(&mut self) {
        let ask = self.app.ask();
        if let Some(frame) = self.feed.same_frame(&ask) {
            self.app.accept(frame);
        }
        self.look();
    }

    fn look(&mut self) {
        let feed = &mut self.feed;
        self.app.look(&mut |rows, needs| feed.details(rows, needs));
    }

    /// Closes the window and opens the next.
    fn next_frame(&mut self) -> Result<(), TuiError> {
        let ask = self.app.ask();
        let had_one = self.app.frame().is_some();
        let mut wait = self.app.settings().interval();
        match self.feed.next_frame(&ask) {
            Ok(Some(frame)) => self.app.accept(frame),
            Ok(None) => wait = wait.min(FIRST_WINDOW),
            Err(why) if had_one => self.app.set_failure(why),
            Err(why) => return Err(TuiError::Feed(why)),
        }
        self.started = Instant::now();
        self.due = self.started + wait;
        Ok(())
    }

    fn suspend(&mut self) -> Result<(), TuiError> {
        self.guard.suspend()?;
        // The shell's SIGCONT has been answered by that.
        self.signals.take_resumed();
        self.paint()
    }

    fn paint(&mut self) -> Result<(), TuiError> {
        let size = self.guard.size()?;
        if size != self.app.size() {
            self.app.resize(size.0, size.1);
        }
        self.look();
        let (app, theme) = (&self.app, self.theme);
        self.guard.draw(size, |canvas| draw(app, theme, canvas))?;
        Ok(())
    }
}
