//! `exactop prstat`: what illumos's prstat(8) shows, from the ledger.

mod options;
mod screen;

use crate::cli::{Source, Split};
use crate::failure::Failure;
use crate::rights::Role;
use crate::{passwd, source};
use exactop_files::zone;
use exactop_model::{Ask, Feed, Frame, Row};
use exactop_sources::{SplitOptions, SplitPolicy};
use exactop_views::prstat::{Chosen, Lists, ReportStyle, Room};
use jiff::Timestamp;
use options::Date;
pub use options::{Options, NOTES};
use screen::{Screen, Woken};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const INTERVAL_S: u32 = 5;

/// The first window is a real one, but nobody wants to look at nothing for a minute.
const FIRST: Duration = Duration::from_secs(1);

/// An interval of 0 means one window after the other; this is the shortest.
const SHORTEST: Duration = Duration::from_millis(10);

/// The command line: called under the name `prstat`, the command is that.
pub fn arguments(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let name = args.first().and_then(|name| Path::new(name).file_name().map(OsString::from));
    if name.is_some_and(|name| name == "prstat") {
        args.insert(1, "prstat".into());
    }
    args
}

/// Whether this command line asks for prstat, whose exit codes are its own.
pub fn is_meant(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|arg| arg == "prstat")
}

/// Prints reports until there were enough of them, a key or a signal ends it.
///
/// # Errors
/// What failed; wrong use fails as everything else does, as on illumos.
pub fn run(options: &Options) -> Result<(), Failure> {
    match watch(options) {
        Err(Failure::Signal(SIGINT | SIGTERM)) => Ok(()),
        other => other.map_err(failed),
    }
}

/// Wrong use, with the exit code prstat has for it.
pub fn failed(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(why) => Failure::failed(format!("prstat: {why}")),
        Failure::Failed(why) => Failure::failed(format!("prstat: {why:#}")),
        other => other,
    }
}

fn watch(options: &Options) -> Result<(), Failure> {
    options.check()?;
    let chosen = Chosen {
        pids: options.pids.clone(),
        users: ids(&options.effective)?,
        cpus: options.cpus.clone(),
        cgroups: options.cgroups.clone(),
    };
    let real = RealUsers {
        ids: ids(&options.real)?,
        root: options.proc_root.clone().unwrap_or_else(|| "/proc".into()),
    };
    if options.real_time {
        become_real_time()?;
    }
    let mut feed = open(options)?;
    let screen = Screen::open(options.append, options.lines.is_some())?;
    let look = options.look(screen.is_drawn());
    Reports { options, look, chosen, real, screen }.show_all(&mut *feed)
}

fn open(options: &Options) -> Result<Box<dyn Feed>, Failure> {
    let policy = match (options.split, options.microstates) {
        (Some(Split::Auto), _) => SplitPolicy::Auto,
        (Some(Split::Exact), _) | (None, true) => SplitPolicy::Exact,
        // Nothing else here shows user and system time.
        (Some(Split::Sampled), _) | (None, false) => SplitPolicy::Sampled,
    };
    let split = SplitOptions { policy, ..SplitOptions::default() };
    let source = if options.microstates { Source::Ledger } else { options.source };
    let opened = source::from(source, options.proc_root.as_deref(), split, Role::Windows);
    opened.map_err(|failure| match failure {
        Failure::Failed(why) if options.microstates => {
            Failure::failed(format!("-m needs the ledger: {why:#}"))
        }
        other => other,
    })
}

fn ids(names: &[String]) -> Result<Vec<u32>, Failure> {
    let unknown = |name| Failure::usage(format!("unknown user '{name}'"));
    names.iter().map(|name| passwd::id(name).ok_or_else(|| unknown(name))).collect()
}

/// Reports, one after the other.
struct Reports<'a> {
    options: &'a Options,
    look: ReportStyle,
    chosen: Chosen,
    real: RealUsers,
    screen: Screen,
}

impl Reports<'_> {
    fn show_all(&mut self, feed: &mut dyn Feed) -> Result<(), Failure> {
        let ask = Ask {
            options: self.look.options(),
            needs: self.look.needs(),
            watch: None,
            groups: false,
        };
        feed.next_frame(&ask).map_err(|error| self.screen.or(Failure::failed(error)))?;
        let interval = Duration::from_secs(self.options.interval.unwrap_or(INTERVAL_S).into());
        let interval = interval.max(SHORTEST);
        let mut due = Instant::now() + interval.min(FIRST);
        let mut left = self.options.count;
        loop {
            if self.screen.wait(due)? == Woken::Quit {
                return Ok(());
            }
            due = (due + interval).max(Instant::now());
            let frame = feed.next_frame(&ask);
            let frame = frame.map_err(|error| self.screen.or(Failure::failed(error)))?;
            let Some(frame) = frame else { continue };
            self.show(frame, feed)?;
            left = left.map(|n| n - 1);
            if left == Some(0) {
                return Ok(());
            }
        }
    }

    fn show(&mut self, mut frame: Frame, feed: &mut dyn Feed) -> Result<(), Failure> {
        self.real.only(&mut frame.rows);
        let date = self.options.date.map(|date| written(date, frame.system.wall_s));
        let room = self.room(date.is_some())?;
        let report = self.look.report(frame, &self.chosen, room, feed);
        self.screen.show(&report, date.as_deref())
    }

    fn room(&self, dated: bool) -> Result<Room, Failure> {
        let room = self.screen.room(self.look.lists, dated)?;
        let Some(lines) = self.options.lines else { return Ok(room) };
        let bottom = match (lines.bottom, self.look.lists) {
            (_, Lists::Groups(_)) => lines.top,
            (bottom, _) => bottom.unwrap_or(room.bottom),
        };
        Ok(Room { top: lines.top, bottom })
    }
}

/// The time of a window's end.
fn written(date: Date, wall_s: Option<i64>) -> String {
    let Some(wall_s) = wall_s else { return "-".into() };
    match (date, Timestamp::from_second(wall_s)) {
        (Date::Date, Ok(time)) => {
            time.to_zoned(zone::local()).strftime("%a %b %e %H:%M:%S %Z %Y").to_string()
        }
        _ => wall_s.to_string(),
    }
}

/// Real users, which no source reads because nothing else shows them.
struct RealUsers {
    ids: Vec<u32>,
    root: PathBuf,
}

impl RealUsers {
    fn only(&self, rows: &mut Vec<Row>) {
        if !self.ids.is_empty() {
            rows.retain(|row| self.of(row.key.tgid).is_some_and(|id| self.ids.contains(&id)));
        }
    }

    /// The first number of the Uid line (proc_pid_status(5)); `None`: the process is gone.
    fn of(&self, pid: u32) -> Option<u32> {
        let status = std::fs::read(self.root.join(pid.to_string()).join("status")).ok()?;
        let line = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
        std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
    }
}

/// The lowest real-time priority: before everything that is fair, after everything else.
fn become_real_time() -> Result<(), Failure> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is this process, and the structure lives until the call returns.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &lowest) } {
        0 => Ok(()),
        _ => {
            let why = std::io::Error::last_os_error();
            Err(Failure::failed(format!("-R: real-time scheduling is refused: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_it_is_called_by_is_the_command() {
        let arguments = |args: &[&str]| arguments(args.iter().map(OsString::from));
        assert_eq!(arguments(&["/usr/bin/prstat", "-mL"]), ["/usr/bin/prstat", "prstat", "-mL"]);
        assert_eq!(arguments(&["exactop", "-b"]), ["exactop", "-b"]);
        assert!(is_meant(&arguments(&["prstat"])) && is_meant(&arguments(&["x", "prstat"])));
        assert!(!is_meant(&arguments(&["exactop", "-b", "prstat"])));
    }
}
