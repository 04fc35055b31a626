//! The loop: a frame when its time has come, events in between. One thread.

use crate::app::App;
use crate::desk::{After, Desk};
use crate::draw::{draw, theme::Theme};
use crate::host::{ExitReason, Host, TuiError};
use crate::opening::Opening;
use crate::settings::Settings;
use crate::terminal::{Guard, Signals, Wake};
use crossterm::event;
use exactop_model::Feed;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The first window, and the first of what is opened, is short, so that something is on the screen soon.
const FIRST_WINDOW: Duration = Duration::from_millis(100);

/// A source that failed is asked again so soon, however long windows are.
const AGAIN: Duration = Duration::from_secs(1);

/// Events between two drawings: whoever holds a key down must see what it does.
const MOST_EVENTS: usize = 256;

/// With what the view begins.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    /// How it looks.
    pub settings: Settings,
    /// After how many windows it ends by itself; `None`: when somebody ends it. The short one that
    /// fills the screen at first is none.
    pub windows: Option<u64>,
    /// What somebody should know who begins, until a key is pressed.
    pub warning: Option<String>,
}

/// Shows frames on the terminal until someone or something ends it. The terminal is as it was
/// when this returns.
///
/// # Errors
/// No terminal, unusable settings, or a source that fails before there is anything to show.
pub fn run(feed: &mut dyn Feed, host: &mut dyn Host, begin: Begin) -> Result<ExitReason, TuiError> {
    let Begin { settings, windows, warning } = begin;
    let theme = Theme::choose(settings.color, |name| std::env::var(name).ok());
    let mouse = settings.mouse;
    let mut app = App::new(settings).map_err(TuiError::Settings)?;
    warning.into_iter().for_each(|warning| app.complain(warning));
    let desk = Desk::new(app, feed, host);
    let signals = Signals::new()?;
    let guard = Guard::new(mouse)?;
    let due = Instant::now();
    let (is_short, failing) = (true, None);
    let mut view = View { desk, theme, signals, guard, due, is_short, left: windows, failing };
    let ended = view.run();
    // Who asked for some windows has the last one to read; what somebody left has been read.
    let stays = (view.left == Some(0) && ended.is_ok()).then(|| view.guard.lines());
    drop(view);
    if let Some(lines) = stays {
        let mut stdout = io::stdout().lock();
        // Nobody is left to tell when this fails.
        let _ = lines.iter().try_for_each(|line| writeln!(stdout, "{line}"));
    }
    match ended {
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

struct View<'a> {
    desk: Desk<'a>,
    theme: Theme,
    signals: Signals,
    guard: Guard,
    /// When the open window is to be closed.
    due: Instant,
    /// The open window was made short.
    is_short: bool,
    /// How many windows are yet to be shown.
    left: Option<u64>,
    /// Since when there was no window for want of a source.
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
            match self.guard.wait(&self.signals, self.until_due())? {
                Wake::Gone => return Ok(ExitReason::TerminalGone),
                Wake::Timeout if self.is_due() => {
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
        Ok(ExitReason::Quit)
    }

    fn until_due(&self) -> Duration {
        match self.desk.app().is_paused() {
            true => Duration::from_secs(3600),
            false => self.due.saturating_duration_since(Instant::now()),
        }
    }

    fn is_due(&self) -> bool {
        !self.desk.app().is_paused() && Instant::now() >= self.due
    }

    /// Takes the events that are there, then closes the window if one of them asked for that, then
    /// draws once.
    fn events(&mut self) -> Result<Option<ExitReason>, TuiError> {
        let mut taken = 0;
        // Not 0: the event source does not even look then.
        while taken < MOST_EVENTS && event::poll(Duration::from_millis(1))? {
            taken += 1;
            match self.desk.take(&event::read()?) {
                After::Nothing => {}
                After::Repaint => self.guard.clear()?,
                After::Suspend => self.suspend()?,
                After::Quit => return Ok(Some(ExitReason::Quit)),
            }
        }
        // Whoever types without a pause still gets new windows.
        let late = taken == MOST_EVENTS && self.is_due();
        if self.desk.wants_frame() || late {
            // Attaching programs takes a while.
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
        if has_frame && self.is_over() && !std::mem::take(&mut self.is_short) {
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

    /// Whether a window is over. Where the source fails one is when its time has passed, however often it was asked.
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
        // The shell's SIGCONT has been answered by that.
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
