//! The loop: handles events and closes windows when they are due. One thread.

use crate::app::App;
use crate::desk::{Desk, LoopStep};
use crate::draw::{draw, theme::Theme};
use crate::host::{ExitReason, Host, TuiError};
use crate::keyboard::{Keyboard, MOST_EVENTS};
use crate::opening::Opening;
use crate::settings::Settings;
use crate::terminal::{Guard, Signals, Wake};
use exactop_model::Feed;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Length of the first window, and of the first after a page was opened: short, so that the screen
/// fills soon.
const FIRST_WINDOW: Duration = Duration::from_millis(100);

/// Interval at which a failed source is tried again, however long windows are.
const AGAIN: Duration = Duration::from_secs(1);

/// Start state of the view.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    /// The settings.
    pub settings: Settings,
    /// Number of windows after which the view ends; `None`: when the user quits. The short first
    /// window does not count.
    pub windows: Option<u64>,
    /// A warning that is shown until a key is pressed.
    pub warning: Option<String>,
}

/// Shows frames on the terminal until the user or a signal ends it. The terminal is restored when
/// this returns.
///
/// # Errors
/// There is no terminal, a setting is invalid, or the source fails before the first frame.
pub fn run(feed: &mut dyn Feed, host: &mut dyn Host, begin: Begin) -> Result<ExitReason, TuiError> {
    let Begin { settings, windows, warning } = begin;
    let theme = Theme::choose(settings.color, |name| std::env::var(name).ok());
    let mouse = settings.mouse;
    let mut app = App::new(settings).map_err(TuiError::Settings)?;
    app.has_braille = theme.braille;
    warning.into_iter().for_each(|warning| app.complain(warning));
    let desk = Desk::new(app, feed, host);
    let signals = Signals::new()?;
    let guard = Guard::new(mouse)?;
    let due = Instant::now();
    let (is_short, failing) = (true, None);
    let mut view = View { desk, theme, signals, guard, due, is_short, left: windows, failing };
    let ended = view.run();
    // After a number of windows, the last one stays readable on the ordinary screen.
    let stays = (view.left == Some(0) && ended.is_ok()).then(|| view.guard.lines());
    drop(view);
    if let Some(lines) = stays {
        let mut stdout = io::stdout().lock();
        // A write error is ignored: there is no reader left.
        let _ = lines.iter().try_for_each(|line| writeln!(stdout, "{line}"));
    }
    match ended {
        // Writing to a terminal that hung up fails; that ends the view without an error.
        Err(TuiError::Terminal(e)) if is_gone(&e) => Ok(ExitReason::TerminalGone),
        result => result,
    }
}

fn is_gone(error: &io::Error) -> bool {
    let gone = [rustix::io::Errno::IO, rustix::io::Errno::NXIO, rustix::io::Errno::NODEV];
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error().is_some_and(|e| gone.iter().any(|g| g.raw_os_error() == e))
}

struct View<'a> {
    desk: Desk<'a>,
    theme: Theme,
    signals: Signals,
    guard: Guard,
    /// When the open window ends.
    due: Instant,
    /// True if the open window is short.
    is_short: bool,
    /// Windows left to show.
    left: Option<u64>,
    /// Since when the source has failed.
    failing: Option<Instant>,
}

impl View<'_> {
    fn run(&mut self) -> Result<ExitReason, TuiError> {
        let (width, height) = self.guard.size()?;
        self.desk.resize(width, height);
        let first_look = self.desk.at_once();
        if first_look {
            self.paint()?;
        }
        let opening = first_look.then(|| Opening::begin(&self.signals));
        let has_frame = self.desk.open()?;
        drop(opening);
        self.set_due(has_frame);
        self.is_short = !has_frame;
        self.paint()?;
        // Its thread must have no more rights than this one, which gave up its own while opening.
        let mut keyboard = Keyboard::new(self.guard.input().try_clone_to_owned()?)?;
        while self.left != Some(0) {
            if let Some(signal) = self.signals.ending() {
                return Ok(ExitReason::Signal(signal));
            }
            if self.signals.take_stop() {
                self.suspend()?;
            } else if self.signals.take_resumed() {
                self.guard.retake()?;
                self.paint()?;
            }
            keyboard.go_on();
            match self.guard.wait(&self.signals, &keyboard, self.until_due())? {
                Wake::Gone => return Ok(ExitReason::TerminalGone),
                Wake::Timeout if self.is_due() => {
                    self.next_frame()?;
                    self.paint()?;
                }
                Wake::Timeout => {}
                woken @ (Wake::Input | Wake::Signal) => {
                    if let Some(reason) = self.events(&mut keyboard)? {
                        return Ok(reason);
                    }
                    if woken == Wake::Signal && self.guard.size()? != self.desk.app().size() {
                        self.paint()?;
                    }
                }
            }
        }
        Ok(ExitReason::Quit)
    }

    fn until_due(&self) -> Duration {
        match self.desk.app().holds_window() {
            true => Duration::from_secs(3600),
            false => self.due.saturating_duration_since(Instant::now()),
        }
    }

    fn is_due(&self) -> bool {
        !self.desk.app().holds_window() && Instant::now() >= self.due
    }

    /// Handles waiting events, then closes the window if one of them requested that, then draws
    /// once.
    fn events(&mut self, keyboard: &mut Keyboard) -> Result<Option<ExitReason>, TuiError> {
        let mut taken = 0;
        while let Some(event) = keyboard.next()? {
            taken += 1;
            match self.desk.take(&event) {
                LoopStep::Draw => {}
                LoopStep::Repaint => self.guard.clear()?,
                LoopStep::Suspend => self.suspend()?,
                LoopStep::Quit => return Ok(Some(ExitReason::Quit)),
            }
        }
        // A user who types without a pause still gets new windows.
        let late = taken >= MOST_EVENTS && self.is_due();
        if self.desk.wants_frame() || late {
            // Attaching programs takes time.
            if self.desk.app().hurries() {
                self.paint()?;
            }
            self.next_frame()?;
        }
        if taken > 0 {
            self.paint()?;
        }
        Ok(None)
    }

    /// Closes the window and opens the next.
    fn next_frame(&mut self) -> Result<(), TuiError> {
        let has_frame = self.desk.next_frame()?;
        let hurries = self.desk.app().hurries();
        self.set_due(has_frame);
        let is_shown = !self.desk.app().is_looking_back();
        if has_frame && self.is_over() && !std::mem::take(&mut self.is_short) && is_shown {
            self.left = self.left.map(|left| left.saturating_sub(1));
        }
        self.is_short |= hurries;
        Ok(())
    }

    fn set_due(&mut self, has_frame: bool) {
        let wait = self.desk.app().settings().interval();
        let short = self.desk.takes_short();
        let most = match (has_frame, self.desk.app().has_failed()) {
            (false, _) => FIRST_WINDOW,
            (true, true) => AGAIN,
            (true, false) if short => FIRST_WINDOW,
            (true, false) => wait,
        };
        self.due = Instant::now() + wait.min(most);
    }

    /// True if a window has ended. With a failing source, a window ends when its time has passed,
    /// however often the source was tried.
    fn is_over(&mut self) -> bool {
        if !self.desk.app().has_failed() {
            self.failing = None;
            return true;
        }
        let now = Instant::now();
        let since = *self.failing.get_or_insert(now);
        let is_over = now - since >= self.desk.app().settings().interval();
        if is_over {
            self.failing = Some(now);
        }
        is_over
    }

    fn suspend(&mut self) -> Result<(), TuiError> {
        self.guard.suspend()?;
        // Retaking the terminal has handled the shell's SIGCONT.
        self.signals.take_resumed();
        self.paint()
    }

    fn paint(&mut self) -> Result<(), TuiError> {
        let size = self.guard.size()?;
        if size != self.desk.app().size() {
            self.desk.resize(size.0, size.1);
        }
        self.desk.look();
        let app = self.desk.app();
        let theme = self.theme.with(app.settings().theme);
        self.guard.draw(size, |canvas| draw(app, theme, canvas))?;
        Ok(())
    }
}
