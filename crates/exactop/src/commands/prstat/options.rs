//! The options of prstat as in its manual page, their conflicts, and their resolved form.

use crate::failure::Failure;
use crate::options::of_recording::OfRecording;
use crate::options::pace::Pace;
use crate::options::parse::{self, Word};
use crate::options::resolved::SourceOptions;
use crate::options::typed::{FigureSource, AUTO, SOURCES, SPLITS};
use clap::{ArgAction, Args};
use exactop_sources::passwd;
use exactop_sources::session::Choice;
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_views::prstat::{GroupBy, Order, ReportSections, ReportStyle, RowSelection};
use std::path::PathBuf;
use std::time::Duration;

const INTERVAL_S: u32 = 5;

/// Length of a window for an interval of 0, which asks for one window right after the other.
const SHORTEST: Duration = Duration::from_millis(10);

// Headings of `--help`. The options have the ids of prstat's manual page, so the headings stand
// here.
const ROWS: &str = "Rows";
const COLUMNS: &str = "Columns and order";
const OUTPUT: &str = "Output";

/// Options of `exactop prstat`.
///
/// `-t` has the meaning of prstat's manual page; the time of a recording has only the long name.
#[derive(Debug, Args)]
#[command(mut_arg("time", |option| option.short(None::<char>)))]
pub struct PrstatArgs {
    /// Show users below the processes, in a screen of two parts
    #[arg(short = 'a', help_heading = ROWS)]
    all: bool,
    /// Print one report below the other, without cursor movement
    #[arg(short = 'c', help_heading = OUTPUT)]
    append: bool,
    /// Print the time before each report: u seconds since the epoch, d a date
    #[arg(short = 'd', value_name = "u|d", value_parser = parse::one_of(DATES), help_heading = OUTPUT)]
    date: Option<Date>,
    /// Print a line for each thread
    #[arg(short = 'L', help_heading = ROWS)]
    threads: bool,
    /// Show microstates: per cent of a thread's time in each (also -v)
    #[arg(short = 'm', short_alias = 'v', help_heading = COLUMNS)]
    microstates: bool,
    /// Show this number of lines above and below [default: what fits, 15,5 with -c]
    #[arg(short = 'n', value_name = "NTOP[,NBOTTOM]", value_parser = lines, allow_hyphen_values = true, help_heading = ROWS)]
    lines: Option<Lines>,
    /// Show only these processes
    #[arg(short = 'p', value_name = "PIDLIST", value_delimiter = ',', value_parser = parse::pid, allow_hyphen_values = true, help_heading = ROWS)]
    pids: Vec<u32>,
    /// Show only processes that are, or last were, on these CPUs
    #[arg(short = 'P', value_name = "CPULIST", value_delimiter = ',', value_parser = parse::number::<u32>, help_heading = ROWS)]
    cpus: Vec<u32>,
    /// Show users as numbers
    #[arg(short = 'r', help_heading = COLUMNS)]
    numeric: bool,
    /// Run as a real-time process, so that reports come in time on a busy machine
    #[arg(short = 'R')]
    pub real_time: bool,
    /// Sort by this, largest first [default: cpu]
    #[arg(short = 's', value_name = "KEY", value_parser = parse::one_of(KEYS), overrides_with = "ascending", help_heading = COLUMNS)]
    descending: Option<Order>,
    /// Sort by this, smallest first
    #[arg(short = 'S', value_name = "KEY", value_parser = parse::one_of(KEYS), overrides_with = "descending", help_heading = COLUMNS)]
    ascending: Option<Order>,
    /// Show only users
    #[arg(short = 't', help_heading = ROWS)]
    users: bool,
    /// Show only these effective users
    #[arg(short = 'u', value_name = "EUIDLIST", value_delimiter = ',', help_heading = ROWS)]
    effective: Vec<String>,
    /// Show only these real users
    #[arg(short = 'U', value_name = "UIDLIST", value_delimiter = ',', help_heading = ROWS)]
    real: Vec<String>,
    /// Cut long names with -c, too
    #[arg(short = 'W', help_heading = COLUMNS)]
    cut: bool,
    /// Show only these cgroups: paths or ids
    #[arg(short = 'z', value_name = "CGROUPLIST", value_delimiter = ',', help_heading = ROWS)]
    cgroups: Vec<String>,
    /// Show cgroups below the processes: Linux's nearest thing to a zone
    #[arg(short = 'Z', help_heading = ROWS)]
    zones: bool,
    /// Take the figures from this source; microstates need the ledger
    #[arg(long, value_parser = parse::one_of(SOURCES), default_value = "auto")]
    source: FigureSource,
    /// Use the daemon's socket at this path
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Split user and system time this way [default: exact with -m]
    #[arg(long, value_parser = parse::one_of(SPLITS))]
    split: Option<MeasurePolicy>,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Wait this number of seconds between two reports [default: 5]
    #[arg(value_name = "INTERVAL", value_parser = seconds)]
    interval: Option<u32>,
    /// Print this number of reports [default: until stopped]
    #[arg(value_name = "COUNT", value_parser = count)]
    count: Option<u64>,
    /// Read this directory instead of /proc (procfs source, for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    proc_root: Option<PathBuf>,
    /// Also record the windows into this directory ('exactop replay DIR')
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    #[command(flatten)]
    pub of: OfRecording,
    #[command(flatten)]
    refused: Refused,
}

/// Options that only illumos has. They parse so that the refusal can say why.
#[derive(Debug, Args)]
struct Refused {
    #[arg(short = 'C', hide = true)]
    psets: Option<String>,
    #[arg(short = 'h', hide = true)]
    lgroups: Option<String>,
    #[arg(short = 'H', hide = true)]
    lgroup_column: bool,
    #[arg(short = 'j', hide = true)]
    projects: Option<String>,
    #[arg(short = 'J', hide = true)]
    project_list: bool,
    #[arg(short = 'k', hide = true)]
    tasks: Option<String>,
    #[arg(short = 'T', hide = true)]
    task_list: bool,
}

/// The notes of `--help`.
pub const NOTES: &str = "\
As on illumos, but:
  The first report covers a real window (the interval, a second at most), not whole lives.
  CPU is the window's share of the machine, not an average that decays.
  USERNAME is the effective user. Zones are cgroups. LWPID is the thread's id, and a thread that
  has a name of its own shows it.
  Linux does not separate TRP from USR and SYS: it is '-', like every figure that this kernel lacks.
  A + after a sum of -a, -t or -Z means that a part of the sum is unknown.
  States have a tenth in every cell, and each row adds up to 100.0: the denominator is the life of
  the thread inside the window. SLP is every other sleep, including disk waits and stopped time. LAT
  includes stolen time and time in which the cgroup quota was used up; SYS includes measured
  interrupts. A zombie has no states: '-'.
  While system calls are not timed, a thread that no clock tick hit counts as USR, as in /proc.
  Without -L, -m is the average over the process's threads, those that exited included.
  PRI is 139 minus the kernel's priority: 0 to 39 fair, 40 and above real time.
  Counts of a million or more continue as 1M, .1G where prstat prints '.10'.

q ends it, any other key refreshes at once. Exit status: 0 done, also by q, ^C or SIGTERM; 1 wrong
use or something failed.";

/// Format of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Date {
    /// Seconds since the epoch.
    Unix,
    /// The format of date(1).
    Date,
}

const DATES: &[Word<Date>] =
    &[("u", Date::Unix, "Seconds since the epoch"), ("d", Date::Date, "As date(1) writes it")];

/// Sort keys of `-s` and `-S`.
const KEYS: &[Word<Order>] = &[
    ("cpu", Order::Cpu, ""),
    ("pri", Order::Pri, ""),
    ("rss", Order::Rss, ""),
    ("size", Order::Size, ""),
    ("time", Order::Time, ""),
];

/// Numbers of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Lines above.
    pub top: usize,
    /// Lines below, if given.
    pub bottom: Option<usize>,
}

fn lines(text: &str) -> Result<Lines, String> {
    let number = |text: &str| text.trim().parse().ok();
    let (top, bottom) = match text.split_once(',') {
        Some((top, bottom)) => (number(top), number(bottom).map(Some)),
        None => (number(text), Some(None)),
    };
    match top.zip(bottom) {
        Some((_, Some(0))) | None => {
            Err("write the lines above, or above and below, as in 15,5".into())
        }
        Some((top, bottom)) => Ok(Lines { top, bottom }),
    }
}

fn seconds(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "write whole seconds, 0 or more".into())
}

fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n @ 1..) => Ok(n),
        _ => Err("write how many reports, 1 or more".into()),
    }
}

/// The resolved options.
pub struct ReportPlan {
    pub source: SourceOptions,
    pub rows: Rows,
    pub style: ReportStyle,
    pub print: Print,
    pub pace: Pace,
}

/// The rows to show.
pub struct Rows {
    pub chosen: RowSelection,
    /// Only these real users; empty: all.
    pub real: Vec<u32>,
}

/// How reports are printed.
pub struct Print {
    pub append: bool,
    pub lines: Option<Lines>,
    pub date: Option<Date>,
}

impl PrstatArgs {
    /// Resolves the options.
    ///
    /// # Errors
    /// An option does not exist on Linux, options conflict, or a user is unknown.
    pub fn resolve(&self) -> Result<ReportPlan, Failure> {
        self.check()?;
        let interval = Duration::from_secs(self.interval.unwrap_or(INTERVAL_S).into());
        let chosen = RowSelection {
            pids: self.pids.clone(),
            users: ids(&self.effective)?,
            cpus: self.cpus.clone(),
            cgroups: self.cgroups.clone(),
        };
        Ok(ReportPlan {
            source: self.source(),
            rows: Rows { chosen, real: ids(&self.real)? },
            style: self.style(),
            print: Print { append: self.append, lines: self.lines, date: self.date },
            pace: Pace { interval: interval.max(SHORTEST), windows: self.count },
        })
    }

    fn check(&self) -> Result<(), Failure> {
        let wrong = |why: &str| Err(Failure::usage(why));
        if let Some(why) = self.refused.why() {
            return wrong(why);
        }
        if self.users && self.microstates {
            return wrong("-t conflicts with -v and -m: leave one out");
        }
        if self.users && (self.all || self.zones) {
            return wrong("-t conflicts with -a and -Z: leave one out");
        }
        if self.all && self.zones {
            return wrong("-a conflicts with -t and -Z: leave one out");
        }
        let is_split = self.all || self.zones;
        if !is_split && self.lines.is_some_and(|lines| lines.top == 0) {
            return wrong(
                "-n 0 leaves no line above, and only -a and -Z have lines below: give 1 or more",
            );
        }
        let measuring = [
            (self.source != AUTO, "--source"),
            (self.split.is_some(), "--split"),
            (self.proc_root.is_some(), "--proc-root"),
            (self.real_time, "-R"),
            (!self.real.is_empty(), "-U"),
        ];
        let measuring = measuring.iter().find(|(given, _)| *given && self.of.replay.is_some());
        if let Some((_, option)) = measuring {
            return wrong(&format!(
                "{option} conflicts with --replay, which shows recorded windows: leave one out"
            ));
        }
        if self.microstates
            && (self.source == FigureSource::Own(Choice::Procfs) || self.proc_root.is_some())
        {
            return wrong(
                "-m needs the ledger, and /proc has no microstates: leave --source and --proc-root out",
            );
        }
        Ok(())
    }

    fn source(&self) -> SourceOptions {
        // Only microstates show user and system time.
        let split = self.split.unwrap_or(if self.microstates {
            MeasurePolicy::Always
        } else {
            MeasurePolicy::Never
        });
        SourceOptions {
            whose: match self.source {
                // A named socket is meant.
                FigureSource::Own(_) if self.microstates && self.socket.is_none() => {
                    FigureSource::Own(Choice::Ledger)
                }
                whose => whose,
            },
            socket: self.socket.clone(),
            split: SplitOptions { split, ..SplitOptions::default() },
            root: self.proc_root.clone(),
            names: self.record.is_some(),
            record: self.record.clone(),
        }
    }

    fn style(&self) -> ReportStyle {
        let lists = match (self.users, self.all, self.zones) {
            (true, ..) => ReportSections::Groups(GroupBy::User),
            (_, true, _) => ReportSections::Both(GroupBy::User),
            (.., true) => ReportSections::Both(GroupBy::Cgroup),
            _ => ReportSections::Rows,
        };
        ReportStyle {
            microstates: self.microstates,
            threads: self.threads,
            lists,
            key: self.ascending.or(self.descending).unwrap_or_default(),
            ascending: self.ascending.is_some(),
            numeric: self.numeric,
            cut: self.cut,
            width: None,
        }
    }
}

fn ids(names: &[String]) -> Result<Vec<u32>, Failure> {
    let unknown =
        |name| Failure::usage(format!("no user '{name}' in /etc/passwd: give a name or a number"));
    names.iter().map(|name| passwd::id(name).ok_or_else(|| unknown(name))).collect()
}

impl Refused {
    fn why(&self) -> Option<&'static str> {
        const LGROUPS: &str = "-h and -H: Linux has no locality groups: leave them out";
        const PROJECTS: &str = "-j and -J: Linux has no projects: use -Z and -z for cgroups";
        const TASKS: &str =
            "-k and -T: Linux has no tasks of newtask(1): use -Z and -z for cgroups";
        let given = [
            (
                self.psets.is_some(),
                "-C: Linux has no processor sets: use -P for CPUs, -z for the cgroup of a cpuset",
            ),
            (self.lgroups.is_some() || self.lgroup_column, LGROUPS),
            (self.projects.is_some() || self.project_list, PROJECTS),
            (self.tasks.is_some() || self.task_list, TASKS),
        ];
        given.into_iter().find_map(|(given, why)| given.then_some(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines() {
        assert_eq!(lines("15"), Ok(Lines { top: 15, bottom: None }));
        assert_eq!(lines("10,3"), Ok(Lines { top: 10, bottom: Some(3) }));
        assert_eq!(lines("0"), Ok(Lines { top: 0, bottom: None }));
        for bad in ["", ",", "x", "5,", "5,0", "-1", "5,x", "1,2,3"] {
            assert!(lines(bad).is_err(), "{bad}");
        }
    }
}
