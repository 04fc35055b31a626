//! `exactop prstat`: shows what illumos's prstat(8) shows, from the ledger.

mod options;
mod screen;

use crate::commands::played::Windows;
use crate::failure::Failure;
use crate::options::resolved::are_there;
use crate::output::screen::{Mode, Screen, Woken};
use crate::priority::become_real_time;
use crate::rights::Role;
use crate::source;
use exactop_files::zone;
use exactop_model::words::audit::without_place;
use exactop_model::{Ask, Feed, Frame, Row};
use exactop_views::prstat::{ReportSections, Room};
use jiff::Timestamp;
use options::{Date, ReportPlan};
pub use options::{PrstatArgs, NOTES};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest first window. It is measured like the others, but a user does not wait a minute for it.
const FIRST: Duration = Duration::from_secs(1);

/// The command line. Called as `prstat`, exactop runs its command prstat.
pub fn arguments(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let name = args.first().and_then(|name| Path::new(name).file_name().map(OsString::from));
    if name.is_some_and(|name| name == "prstat") {
        args.insert(1, "prstat".into());
    }
    args
}

/// Prints reports until the count is reached, or a key or a signal ends it.
///
/// # Errors
/// The failure. As on illumos, wrong use has the exit code of other failures.
pub fn run(typed: &PrstatArgs) -> Result<(), Failure> {
    let shown = typed.resolve().and_then(|plan| match &typed.of.replay {
        Some(path) => replay(plan, path, typed.of.time.as_deref()),
        None => show(plan, typed.real_time),
    });
    match shown {
        Err(Failure::Signal(SIGINT | SIGTERM)) => Ok(()),
        other => other.map_err(failed),
    }
}

/// Gives wrong use the exit code that prstat has for it.
pub fn failed(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(why) => Failure::failed(why),
        other => other,
    }
}

fn show(plan: ReportPlan, real_time: bool) -> Result<(), Failure> {
    if real_time {
        become_real_time().map_err(|why| {
            Failure::failed(format!(
                "cannot set real-time scheduling (-R): {why}: run as root, or leave -R out"
            ))
        })?;
    }
    are_there(plan.source.root.as_deref(), &plan.rows.chosen.pids)?;
    let mut feed = source::open(&plan.source, Role::Windows).map_err(|failure| match failure {
        Failure::Failed(why) if plan.style.microstates => {
            Failure::failed(format!("cannot measure microstates (-m) without the ledger: {why:#}"))
        }
        other => other,
    })?;
    let screen = Screen::open(match (plan.print.append, plan.print.lines) {
        (true, _) => Mode::Append,
        (false, Some(_)) => Mode::Fixed,
        (false, None) => Mode::Whole,
    })?;
    let mut reports = Reports { plan, screen };
    // A report on a screen always cuts long names.
    reports.plan.style.cut |= reports.screen.is_drawn();
    reports.show_all(&mut *feed)
}

/// Prints reports of a recording, one below the other.
fn replay(plan: ReportPlan, path: &Path, time: Option<&str>) -> Result<(), Failure> {
    let mut windows = Windows::open(path, time)?;
    let screen = Screen::open(Mode::Append)?;
    let mut reports = Reports { plan, screen };
    let (ask, mut left) = (reports.ask(), reports.plan.pace.windows);
    while left != Some(0) && windows.next()? {
        let Some(frame) = windows.replay.same_frame(&ask) else { continue };
        reports.show(frame, &mut windows.replay)?;
        left = left.map(|n| n - 1);
    }
    Ok(())
}

/// Prints reports, one after the other.
struct Reports {
    plan: ReportPlan,
    screen: Screen,
}

impl Reports {
    fn ask(&self) -> Ask {
        let style = &self.plan.style;
        let interval_ns = Some(self.plan.pace.interval_ns());
        Ask { options: style.options(), needs: style.needs(), interval_ns, ..Ask::default() }
    }

    fn show_all(&mut self, feed: &mut dyn Feed) -> Result<(), Failure> {
        let (pace, ask) = (self.plan.pace, self.ask());
        feed.next_frame(&ask).map_err(|error| self.screen.or(Failure::failed(error)))?;
        let interval = pace.interval;
        let mut due = Instant::now() + interval.min(FIRST);
        let mut left = pace.windows;
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
        self.plan.style.width = self.screen.width();
        let ReportPlan { source, rows, style, print, .. } = &self.plan;
        let root = source.root.as_deref().unwrap_or(Path::new("/proc"));
        keep(&rows.real, root, &mut frame.rows);
        let date = print.date.map(|date| written(date, frame.system.wall_s));
        let nameless = without_place(&frame);
        let room = self.room(usize::from(date.is_some()) + usize::from(nameless.is_some()))?;
        let report = style.report(frame, &rows.chosen, room, feed);
        screen::show(&mut self.screen, &report, date.as_deref(), nameless.as_deref())
    }

    /// Lines of the lists, with `beside` further lines in the report.
    fn room(&self, beside: usize) -> Result<Room, Failure> {
        let lists = self.plan.style.lists;
        let room = screen::room(&self.screen, lists, beside)?;
        let Some(lines) = self.plan.print.lines else { return Ok(room) };
        let bottom = match (lines.bottom, lists) {
            (_, ReportSections::Groups(_)) => lines.top,
            (bottom, _) => bottom.unwrap_or(room.bottom),
        };
        Ok(Room { top: lines.top, bottom })
    }
}

/// The window's end, as `-d` asks for it.
fn written(date: Date, wall_s: Option<i64>) -> String {
    let Some(wall_s) = wall_s else { return "-".into() };
    match (date, Timestamp::from_second(wall_s)) {
        (Date::Date, Ok(time)) => {
            time.to_zoned(zone::local()).strftime("%a %b %e %H:%M:%S %Z %Y").to_string()
        }
        _ => wall_s.to_string(),
    }
}

/// Keeps the rows of these real users. No source reads real users, so this reads /proc.
fn keep(users: &[u32], root: &Path, rows: &mut Vec<Row>) {
    if !users.is_empty() {
        rows.retain(|row| real_user(root, row.key.tgid).is_some_and(|id| users.contains(&id)));
    }
}

/// First number of the Uid line (proc_pid_status(5)); `None`: the process is gone.
fn real_user(root: &Path, pid: u32) -> Option<u32> {
    let status = std::fs::read(root.join(pid.to_string()).join("status")).ok()?;
    let line = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
    std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_called_prstat_runs_prstat() {
        let arguments = |args: &[&str]| arguments(args.iter().map(OsString::from));
        assert_eq!(arguments(&["/usr/bin/prstat", "-mL"]), ["/usr/bin/prstat", "prstat", "-mL"]);
        assert_eq!(arguments(&["exactop", "-b"]), ["exactop", "-b"]);
    }
}
