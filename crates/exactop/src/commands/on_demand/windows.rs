//! Options and loop of commands that attach programs while they run: processes, interval and
//! format.

use crate::failure::Failure;
use crate::options::looking::LookingArgs;
use crate::options::of_recording::{no_interval, no_measuring};
use crate::options::pace::{Pace, Typed};
use crate::options::parse;
use crate::options::printed::PrintArgs;
use crate::output::screen::{Mode, Screen, Woken};
use crate::rights::{self, Origin, Role};
use clap::Args;
use exactop_views::csv::WALL;
use exactop_views::Sheet;
use jiff::Timestamp;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Default number of rows of text.
const ROWS: usize = 20;
/// Default length of a window in seconds.
const DELAY_S: f64 = 1.0;

/// Processes and format.
#[derive(Clone, Debug, Args)]
pub struct WindowArgs {
    /// Show only these processes, separated by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse::pid, allow_hyphen_values = true)]
    pub pid: Vec<u32>,
    #[command(flatten)]
    print: PrintArgs,
    /// Set the length of a window, like an INTERVAL at the end [default: 1]
    #[arg(short, long, value_name = "SECONDS", value_parser = parse::seconds, allow_hyphen_values = true)]
    delay: Option<f64>,
    #[command(flatten)]
    pub looking: LookingArgs,
}

/// An open source of windows.
pub struct Opened<S> {
    source: S,
    /// Its role for rights, and the origin of its figures.
    keeps: (Role, Origin),
}

impl<S> Opened<S> {
    /// A source with programs of our own.
    pub fn own(source: S) -> Opened<S> {
        Opened { source, keeps: (Role::OnDemand, Origin::Bpf) }
    }

    /// The source, where rights were given up earlier.
    #[cfg(feature = "bpf")]
    pub fn source(self) -> S {
        self.source
    }

    /// A daemon's source; other figures come from /proc and control groups.
    pub fn on_socket(source: S) -> Opened<S> {
        Opened { source, keeps: (Role::Windows, Origin::Procfs) }
    }
}

/// A window and the wall-clock second at which it ended (since the epoch).
pub struct Ended<W> {
    pub window: W,
    pub wall_s: Option<i64>,
}

impl<W> Ended<W> {
    /// A window of a recording.
    pub fn recorded(window: W, wall_ns: Option<i128>) -> Ended<W> {
        let wall_s = wall_ns.and_then(|ns| i64::try_from(ns.div_euclid(1_000_000_000)).ok());
        Ended { window, wall_s }
    }
}

/// Appends a field to each line of CSV. Fields are escaped, so none contains a line break.
fn with_last(lines: Vec<u8>, field: &str) -> Vec<u8> {
    let lines = lines.split_inclusive(|&byte| byte == b'\n');
    let with = |line: &[u8]| {
        let fields = line.strip_suffix(b"\n").unwrap_or(line);
        [fields, b",", field.as_bytes(), b"\n"].concat()
    };
    lines.flat_map(with).collect()
}

/// The output formats of a window.
pub struct Forms<'a, W> {
    /// Text for people, laid out on a sheet.
    pub text: &'a dyn Fn(&W, Sheet) -> String,
    /// JSON on one line.
    pub json: &'a dyn Fn(&W) -> String,
    /// The CSV header.
    pub csv_header: &'a dyn Fn() -> Vec<u8>,
    /// CSV, one line per row.
    pub csv: &'a dyn Fn(&W) -> Vec<u8>,
}

impl WindowArgs {
    /// The interval (-d or INTERVAL) and the number of windows (-n or COUNT).
    ///
    /// # Errors
    /// Both forms were given.
    pub fn pace(&self, typed: Typed) -> Result<Pace, Failure> {
        if let (Some(n), Some(count)) = (self.print.windows(), typed.windows) {
            return Err(Failure::usage(format!(
                "-n {n} and the count {count} both say how many windows: leave one out"
            )));
        }
        if let (Some(delay), Some(interval)) = (self.delay, typed.interval_s) {
            return Err(Failure::usage(format!(
                "-d {delay} and the interval {interval} both say how long a window is: leave one out"
            )));
        }
        Ok(Pace {
            interval: Duration::from_secs_f64(self.delay.or(typed.interval_s).unwrap_or(DELAY_S)),
            windows: self.print.windows().or(typed.windows),
        })
    }

    /// Checks that no option of measuring was given: recorded windows have their length. An interval
    /// before a number of windows only keeps its place, as with prstat.
    ///
    /// # Errors
    /// Such an option was given.
    pub fn not_of_a_recording(&self, typed: Typed) -> Result<(), Failure> {
        if self.delay.is_some() {
            return Err(no_measuring("--delay"));
        }
        if let (Some(interval), None) = (typed.interval_s, typed.windows) {
            return Err(no_interval(interval));
        }
        self.looking.not_of_a_recording()
    }

    /// Prints windows until the requested number is reached or a signal comes.
    ///
    /// # Errors
    /// The failure, or the signal that ended the command.
    pub fn show<S, W, E: Display>(
        &self,
        pace: Pace,
        open: impl FnOnce() -> Result<Opened<S>, Failure>,
        mut next: impl FnMut(&mut S) -> Result<W, E>,
        forms: &Forms<W>,
    ) -> Result<(), Failure> {
        let mut screen = Screen::open(self.mode(pace.windows))?;
        let Opened { source, keeps: (role, origin) } = open()?;
        rights::reduce(role, origin, &[]);
        let mut due = Instant::now();
        let next = |source: &mut S, screen: &mut Screen| {
            due = (due + pace.interval).max(Instant::now());
            if screen.wait(due)? == Woken::Quit {
                return Ok(None);
            }
            let window = next(source).map_err(|why| screen.or(Failure::failed(why)))?;
            Ok(Some(Ended { window, wall_s: Some(Timestamp::now().as_second()) }))
        };
        self.write(&mut screen, pace.windows, source, next, forms)
    }

    /// Text on a terminal is drawn over the last window if more than one window follows.
    fn mode(&self, windows: Option<u64>) -> Mode {
        match self.print.is_plain() || windows == Some(1) {
            true => Mode::Plain,
            false => Mode::Whole,
        }
    }

    /// Prints recorded windows until there are no more.
    ///
    /// # Errors
    /// The failure, or the signal that ended the command.
    pub fn print<S, W>(
        &self,
        windows: Option<u64>,
        of: S,
        mut next: impl FnMut(&mut S) -> Result<Option<Ended<W>>, Failure>,
        forms: &Forms<W>,
    ) -> Result<(), Failure> {
        let next = |of: &mut S, _: &mut Screen| next(of);
        self.write(&mut Screen::open(Mode::Plain)?, windows, of, next, forms)
    }

    fn write<S, W>(
        &self,
        screen: &mut Screen,
        windows: Option<u64>,
        mut of: S,
        mut next: impl FnMut(&mut S, &mut Screen) -> Result<Option<Ended<W>>, Failure>,
        forms: &Forms<W>,
    ) -> Result<(), Failure> {
        if self.print.csv {
            screen.write(&with_last((forms.csv_header)(), WALL))?;
        }
        let mut printed = 0;
        let mut last = None;
        while windows.is_none_or(|n| printed < n) {
            let Some(window) = next(&mut of, screen)? else { return Ok(()) };
            if screen.is_drawn() {
                screen
                    .draw_fitting(self.print.rows, &|sheet| (forms.text)(&window.window, sheet))?;
            } else {
                screen.write(&self.printed(&window, printed == 0, screen.columns(), forms))?;
            }
            printed += 1;
            last = Some(window);
        }
        // The last window is printed again, because its drawing disappears with the screen.
        if let Some(window) = last.filter(|_| screen.is_drawn()) {
            screen.leave();
            screen.write(&self.printed(&window, true, screen.columns(), forms))?;
        }
        Ok(())
    }

    /// The text of a window. `width`: the columns of the terminal.
    fn printed<W>(
        &self,
        ended: &Ended<W>,
        first: bool,
        width: Option<usize>,
        forms: &Forms<W>,
    ) -> Vec<u8> {
        let Ended { window, wall_s } = ended;
        if self.print.json {
            return (forms.json)(window).into_bytes();
        }
        if self.print.csv {
            let wall = wall_s.map_or(String::new(), |wall| wall.to_string());
            return with_last((forms.csv)(window), &wall);
        }
        let gap = if first { "" } else { "\n" };
        let sheet = Sheet { rows: self.print.rows.unwrap_or(ROWS), width };
        (gap.to_string() + &(forms.text)(window, sheet)).into_bytes()
    }
}
