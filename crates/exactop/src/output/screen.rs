//! Windows one below the other, or drawn over each other on a terminal; and the keys of that
//! screen.

use super::{second_signal, Signals};
use crate::failure::Failure;
use exactop_tui::draw::text::cut;
use exactop_views::Sheet;
use rustix::termios::{
    tcgetattr, tcgetwinsize, tcsetattr, LocalModes, OptionalActions, SpecialCodeIndex, Termios,
    Winsize,
};
use signal_hook::consts::{SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// How windows are shown on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One below the other, without keys.
    Plain,
    /// One below the other.
    Append,
    /// Over each other, with a number of lines that does not follow the terminal.
    Fixed,
    /// On a screen of their own, with as many lines as fit.
    Whole,
}

/// How windows follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowLayout {
    /// One below the other.
    Below,
    /// Over each other, with a fixed number of lines.
    Over,
    /// On a screen of their own, with as many lines as fit.
    Whole,
}

impl WindowLayout {
    /// Bytes that restore the terminal for other programs.
    fn end(self) -> &'static [u8] {
        match self {
            WindowLayout::Below => b"",
            WindowLayout::Over => b"\r\x1b[?7h",
            WindowLayout::Whole => b"\x1b[?7h\x1b[?1049l",
        }
    }
}

/// Why the wait for the next window ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The next window is due, or the user wants it now.
    Refresh,
    /// The user quits.
    Quit,
}

/// Standard output and, if both are terminals, the keys of standard input. `q` quits, any other key
/// asks for the next window now.
pub struct Screen {
    signals: Signals,
    layout: WindowLayout,
    keys: Option<Keys>,
    /// Lines on the screen now.
    lines: usize,
    shown: bool,
}

impl Screen {
    /// A screen, or plain lines without a terminal.
    ///
    /// # Errors
    /// Signals cannot be caught, or the terminal cannot be set.
    pub fn open(mode: Mode) -> Result<Screen, Failure> {
        let signals = Signals::new()?;
        let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
        let has_terminal = has_terminal && mode != Mode::Plain;
        let term = std::env::var("TERM").unwrap_or_default();
        let layout = match mode {
            _ if !has_terminal || term.is_empty() || term == "dumb" => WindowLayout::Below,
            Mode::Plain | Mode::Append => WindowLayout::Below,
            Mode::Fixed => WindowLayout::Over,
            Mode::Whole => WindowLayout::Whole,
        };
        let keys = has_terminal.then(|| Keys::take(layout.end())).transpose();
        let keys = keys.map_err(Failure::cannot("take the terminal"))?;
        let screen = Screen { signals, layout, keys, lines: 0, shown: false };
        screen.enter()?;
        if screen.keys.is_some() {
            let end = if layout == WindowLayout::Below { "\n" } else { "\r" };
            screen.signals.write(format!("Please wait...{end}").as_bytes())?;
        }
        Ok(screen)
    }

    /// The failure; or the signal that came, which may have caused it.
    pub fn or(&self, failure: Failure) -> Failure {
        self.signals.or(failure)
    }

    /// True if windows are drawn over each other.
    pub fn is_drawn(&self) -> bool {
        self.layout != WindowLayout::Below
    }

    /// The terminal's lines, if the output follows them.
    pub fn rows(&self) -> Option<usize> {
        let rows = self.size().filter(|_| self.layout == WindowLayout::Whole)?.ws_row;
        Some(usize::from(rows)).filter(|&rows| rows > 0)
    }

    /// The terminal's columns, if lines end at its edge.
    pub fn width(&self) -> Option<usize> {
        self.columns().filter(|_| self.is_drawn())
    }

    fn size(&self) -> Option<Winsize> {
        tcgetwinsize(io::stdout()).ok()
    }

    /// Writes below the existing lines.
    ///
    /// # Errors
    /// Standard output cannot be written, or a signal came first.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.signals.write(bytes)
    }

    /// Draws lines over the previous ones.
    ///
    /// # Errors
    /// Standard output cannot be written, or a signal came first.
    pub fn draw(&mut self, lines: &[String]) -> Result<(), Failure> {
        let mut text = match self.layout {
            WindowLayout::Over if self.shown => format!("\x1b[{}A\r", self.lines),
            WindowLayout::Over => "\r".into(),
            _ => "\x1b[H".into(),
        };
        for line in lines {
            // Erased first: after a line as wide as the screen, the cursor stands on its last
            // character.
            let _ = write!(text, "\x1b[K{line}\r\n");
        }
        (self.lines, self.shown) = (lines.len(), true);
        self.signals.write((text + "\x1b[J").as_bytes())
    }

    /// The columns of the terminal, if the output goes to one.
    pub fn columns(&self) -> Option<usize> {
        let columns = usize::from(self.size()?.ws_col);
        (columns > 0).then_some(columns)
    }

    /// Draws a text as wide as the screen, with at most `limit` rows and as many as fit.
    ///
    /// # Errors
    /// Standard output cannot be written, or a signal came first.
    pub fn draw_fitting(
        &mut self,
        limit: Option<usize>,
        text: &dyn Fn(Sheet) -> String,
    ) -> Result<(), Failure> {
        // The cursor stands below the last line.
        let room = self.rows().unwrap_or(24).saturating_sub(1).max(1);
        let columns = self.width();
        let lines = fitting(room, limit, &|rows| text(Sheet { rows, width: columns }));
        let width = columns.unwrap_or(usize::MAX);
        self.draw(&lines.iter().map(|line| cut(line, width)).collect::<Vec<_>>())
    }

    /// Waits until the next window is due, or for a key.
    ///
    /// # Errors
    /// A signal came first.
    pub fn wait(&mut self, then: Instant) -> Result<Woken, Failure> {
        let Some(keys) = &self.keys else {
            self.signals.wait(then, &[])?;
            return Ok(Woken::Refresh);
        };
        let stdin = io::stdin();
        match self.signals.wait(then, &[stdin.as_fd(), keys.bell.as_fd()])? {
            Some(0) => Ok(keys.pressed()),
            Some(_) => {
                if keys.take_stop() {
                    self.suspend()?;
                }
                Ok(Woken::Refresh)
            }
            None => Ok(Woken::Refresh),
        }
    }

    /// Restores the terminal, stops until a shell continues the program, then takes the terminal
    /// again.
    fn suspend(&mut self) -> Result<(), Failure> {
        self.give_back();
        if let Some(keys) = &self.keys {
            keys.give_back();
        }
        emulate_default_handler(SIGTSTP).map_err(Failure::cannot("stop"))?;
        if let Some(keys) = &self.keys {
            keys.set().map_err(Failure::cannot("take the terminal"))?;
        }
        self.shown = false;
        self.enter()
    }

    fn enter(&self) -> Result<(), Failure> {
        match self.layout {
            WindowLayout::Below => Ok(()),
            // The terminal cuts long lines at its edge.
            WindowLayout::Over => self.signals.write(b"\x1b[?7l"),
            WindowLayout::Whole => self.signals.write(b"\x1b[?1049h\x1b[?7l\x1b[H"),
        }
    }

    /// Leaves the screen; later output stands below the lines from before.
    pub fn leave(&mut self) {
        self.give_back();
        self.layout = WindowLayout::Below;
    }

    /// A write error is ignored: there is no reader left.
    fn give_back(&self) {
        let _ = self.signals.write(self.layout.end());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The longest text that fits into `room` lines, with at most `limit` rows. More rows never make a
/// text shorter.
fn fitting(room: usize, limit: Option<usize>, text: &dyn Fn(usize) -> String) -> Vec<String> {
    let fits = |rows: usize| text(rows).lines().count() <= room;
    let (mut fit, mut too_many) = (0, limit.map_or(room, |limit| limit.min(room)) + 1);
    while fit + 1 < too_many {
        let middle = fit + (too_many - fit) / 2;
        match fits(middle) {
            true => fit = middle,
            false => too_many = middle,
        }
    }
    text(fit).lines().take(room).map(String::from).collect()
}

/// The terminal's keys, unbuffered and not echoed; also reports a new size or a stop.
struct Keys {
    before: Termios,
    bell: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Keys {
    /// `end`: bytes that restore the screen.
    fn take(end: &'static [u8]) -> io::Result<Keys> {
        let before = tcgetattr(io::stdin())?;
        second_signal::terminal_is_taken(end)?;
        let (bell, sender) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTSTP, stop.clone())?;
        pipe::register(SIGTSTP, sender.try_clone()?)?;
        pipe::register(SIGWINCH, sender)?;
        let keys = Keys { before, bell, stop };
        keys.set()?;
        Ok(keys)
    }

    fn set(&self) -> io::Result<()> {
        let mut now = self.before.clone();
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &now)?)
    }

    /// The terminal may be gone, so errors are ignored.
    fn give_back(&self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }

    fn pressed(&self) -> Woken {
        let mut key = [0];
        // Not through std's buffer, whose rest poll(2) would not see.
        match rustix::io::read(io::stdin(), &mut key) {
            Ok(1) if !key[0].eq_ignore_ascii_case(&b'q') => Woken::Refresh,
            // The terminal hung up.
            _ => Woken::Quit,
        }
    }

    fn take_stop(&self) -> bool {
        let mut bytes = [0; 16];
        while (&self.bell).read(&mut bytes).is_ok_and(|n| n > 0) {}
        self.stop.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.give_back();
        second_signal::terminal_is_given_back();
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn as_many_rows_are_shown_as_have_room() {
        // Each row is two lines, and the text counts the omitted rows.
        let text = |all: usize| {
            move |rows: usize| {
                let mut text = String::from("heading\n");
                (0..all.min(rows)).for_each(|n| text += &format!("\n{n}\n"));
                text + if all > rows { "more\n" } else { "" }
            }
        };
        let rows = |room, limit, all: usize| {
            let lines = fitting(room, limit, &text(all));
            assert!(lines.len() <= room, "{lines:?}");
            (lines.iter().filter(|line| line.parse::<u32>().is_ok()).count(), lines.len())
        };
        assert_eq!(rows(24, None, 5), (5, 11));
        assert_eq!(rows(24, None, 50), (11, 24));
        assert_eq!(rows(24, Some(3), 50), (3, 8));
        assert_eq!(rows(24, Some(0), 50), (0, 2));
        assert_eq!(rows(3, None, 50), (0, 2));
        assert_eq!(rows(3, None, 1), (1, 3));
        assert_eq!(rows(1, None, 50), (0, 1));
        assert_eq!(rows(2000, None, 50), (50, 101));
    }
}
