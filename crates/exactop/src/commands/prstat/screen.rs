//! Where reports go: one below the other, or over each other on a terminal; and the keys.

use crate::failure::Failure;
use crate::output::{second_signal, Signals};
use exactop_views::prstat::{Lists, Report, Room};
use rustix::termios::{
    tcgetattr, tcgetwinsize, tcsetattr, LocalModes, OptionalActions, SpecialCodeIndex, Termios,
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

/// How reports follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// One below the other.
    Below,
    /// Over each other, as many lines as were asked for.
    Over,
    /// On a screen of their own, as many lines as fit.
    Whole,
}

impl Place {
    /// What a terminal must get before someone else has it.
    fn end(self) -> &'static [u8] {
        match self {
            Place::Below => b"",
            Place::Over => b"\r\x1b[?7h",
            Place::Whole => b"\x1b[?7h\x1b[?1049l",
        }
    }
}

/// What ended the wait for the next report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Its time came, or somebody wants it now.
    Refresh,
    /// Somebody wants no more.
    Quit,
}

/// Standard output and, if both are a terminal, the keys of standard input.
pub struct Screen {
    signals: Signals,
    place: Place,
    keys: Option<Keys>,
    /// Lines that stand on the screen now.
    lines: usize,
    shown: bool,
}

impl Screen {
    /// A screen, or lines where there is none; `append`: lines in any case, `fixed`: the number of
    /// lines does not follow the terminal.
    ///
    /// # Errors
    /// When signals cannot be caught or the terminal cannot be set.
    pub fn open(append: bool, fixed: bool) -> Result<Screen, Failure> {
        let signals = Signals::new()?;
        let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
        let term = std::env::var("TERM").unwrap_or_default();
        let place = match append || !has_terminal || term.is_empty() || term == "dumb" {
            true => Place::Below,
            false if fixed => Place::Over,
            false => Place::Whole,
        };
        let keys = has_terminal.then(|| Keys::take(place.end())).transpose();
        let keys = keys.map_err(Failure::cannot("take the terminal"))?;
        let screen = Screen { signals, place, keys, lines: 0, shown: false };
        screen.enter()?;
        if screen.keys.is_some() {
            let end = if place == Place::Below { "\n" } else { "\r" };
            screen.signals.write(format!("Please wait...{end}").as_bytes())?;
        }
        Ok(screen)
    }

    /// What failed; or the signal that came, which may be why.
    pub fn or(&self, failure: Failure) -> Failure {
        self.signals.or(failure)
    }

    /// Whether reports are drawn over each other.
    pub fn is_drawn(&self) -> bool {
        self.place != Place::Below
    }

    /// The lines there are for a report.
    ///
    /// # Errors
    /// When the terminal is too small.
    pub fn room(&self, lists: Lists, dated: bool) -> Result<Room, Failure> {
        const PRINTED: Room = Room { top: 15, bottom: 5 };
        let rows = match tcgetwinsize(io::stdout()) {
            Ok(size) if self.place == Place::Whole && size.ws_row > 0 => usize::from(size.ws_row),
            _ => return Ok(PRINTED),
        };
        fitting(rows, lists, dated).ok_or_else(|| Failure::failed("window is too small (try -n)"))
    }

    /// Prints a report, below or over the one before.
    ///
    /// # Errors
    /// Those of standard output, or the signal that came first.
    pub fn show(&mut self, report: &Report, date: Option<&str>) -> Result<(), Failure> {
        let text = match self.place {
            Place::Below => date.map(|d| format!("{d}\n")).unwrap_or_default() + &report.text(),
            _ => {
                let start = match self.place {
                    Place::Over if self.shown => format!("\x1b[{}A\r", self.lines),
                    Place::Over => "\r".into(),
                    _ => "\x1b[H".into(),
                };
                let (text, lines) = drawn(report, date);
                self.lines = lines;
                format!("{start}{text}\x1b[J")
            }
        };
        self.shown = true;
        self.signals.write(text.as_bytes())
    }

    /// Waits for the time of the next report, or for a key.
    ///
    /// # Errors
    /// The signal that came first.
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

    /// Gives the terminal back, stops until a shell continues the program, takes it again.
    fn suspend(&mut self) -> Result<(), Failure> {
        self.leave();
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
        match self.place {
            Place::Below => Ok(()),
            // Lines that are too long end at the edge.
            Place::Over => self.signals.write(b"\x1b[?7l"),
            Place::Whole => self.signals.write(b"\x1b[?1049h\x1b[?7l\x1b[H"),
        }
    }

    /// Nobody is left to tell when this fails.
    fn leave(&self) {
        let _ = self.signals.write(self.place.end());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Three lines are for headings and the total; of two lists the upper has three quarters.
fn fitting(rows: usize, lists: Lists, dated: bool) -> Option<Room> {
    let lines = rows.checked_sub(3 + usize::from(dated)).filter(|&n| n > 0)?;
    match lists {
        Lists::Both(_) if lines < 8 => None,
        Lists::Both(_) => {
            let top = lines / 4 * 3;
            Some(Room { top, bottom: lines - 1 - top })
        }
        _ => Some(Room { top: lines, bottom: lines }),
    }
}

/// A report with headings underlined and every list as long as it may be; and its lines.
fn drawn(report: &Report, date: Option<&str>) -> (String, usize) {
    let (mut text, mut lines) = (String::new(), 0);
    let mut line = |content: &str| {
        lines += 1;
        let _ = write!(text, "{content}\x1b[K\r\n");
    };
    if let Some(date) = date {
        line(date);
    }
    for part in &report.parts {
        line(&format!("\x1b[4m{}\x1b[24m", part.header));
        part.lines.iter().for_each(|content| line(content));
        (part.lines.len()..part.room).for_each(|_| line(""));
    }
    line(&report.total);
    (text, lines)
}

/// The terminal's keys, one by one and not shown; and what tells of a new size or a stop.
struct Keys {
    before: Termios,
    bell: UnixStream,
    stop: Arc<AtomicBool>,
}

impl Keys {
    /// `end`: what gives the screen back.
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

    /// The terminal may be gone.
    fn give_back(&self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }

    fn pressed(&self) -> Woken {
        let mut key = [0];
        // Not through std's buffer, where a poll would not see what is left.
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
    use super::*;
    use exactop_views::prstat::GroupBy;

    #[test]
    fn lists_share_the_screen_as_prstats_do() {
        let fit = |rows, lists| fitting(rows, lists, false).map(|room| (room.top, room.bottom));
        assert_eq!(fit(24, Lists::Rows), Some((21, 21)));
        assert_eq!(fit(24, Lists::Both(GroupBy::User)), Some((15, 5)));
        assert_eq!(fit(11, Lists::Both(GroupBy::User)), Some((6, 1)));
        assert_eq!(fit(10, Lists::Both(GroupBy::User)), None);
        assert_eq!(fit(4, Lists::Rows), Some((1, 1)));
        assert_eq!(fit(3, Lists::Rows), None);
        assert_eq!(fitting(24, Lists::Rows, true), Some(Room { top: 20, bottom: 20 }));
    }
}
