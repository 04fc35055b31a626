//! The resolved options of watching. They are resolved once, before anything is opened; all later
//! code reads them, not the typed options.

use super::of_recording::{no_interval, no_measuring};
use super::pace::Pace;
use super::parse::MAX_WIDTH;
use super::typed::{FigureSource, PtopArgs, WaitBook, WatchArgs, AUTO};
use super::{config, preset};
use crate::failure::Failure;
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, ColumnId, TOP};
use exactop_model::owner::Grouping;
use exactop_model::Needs;
use exactop_sources::passwd;
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_tui::{AutoSwitch, Begin, Settings};
use exactop_views::table::TextOptions;
use exactop_views::{json, Plan, Selection, User};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DEFAULT_DELAY_S: f64 = 2.0;
/// Same value as the default in [`WatchArgs`].
const DEFAULT_BUDGET: f64 = 1.0;

/// What to run.
pub enum OutputMode {
    /// List the names of all columns.
    Fields,
    /// The live view.
    Live(Live),
    /// Windows, one after the other.
    Windows(Windows),
}

/// The requested source.
#[derive(Debug)]
pub struct SourceOptions {
    /// `auto`, or a source by name.
    pub whose: FigureSource,
    /// Path of the daemon's socket; `None`: the default path.
    pub socket: Option<PathBuf>,
    /// How the source splits user, system and interrupt time.
    pub split: SplitOptions,
    /// Path of /proc, for tests.
    pub root: Option<PathBuf>,
    /// Directory of a recording that is written at the same time.
    pub record: Option<PathBuf>,
    /// True if control groups are already known to be shown by name.
    pub names: bool,
}

/// Start state of the live view.
pub struct Live {
    pub source: SourceOptions,
    /// Only these processes; empty: all.
    pub pids: Vec<u32>,
    pub begin: Begin,
}

/// What is printed, and how often.
pub struct Windows {
    pub source: SourceOptions,
    pub plan: Plan,
    pub format: Format,
    pub pace: Pace,
    /// True if an inexact window changes the exit code.
    pub check: bool,
    /// True if windows are drawn over each other on a terminal.
    pub draws: bool,
}

/// What to do with a recording.
pub enum Replaying {
    /// Show it in the live view.
    Live(Begin, Vec<u32>),
    /// Print its windows, one after the other.
    Windows(Replayed),
}

/// What is printed of a recording.
pub struct Replayed {
    pub plan: Plan,
    pub format: Format,
    /// Number of windows; `None`: all.
    pub windows: Option<u64>,
    /// True if an inexact window changes the exit code.
    pub check: bool,
}

/// Format of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text(TextOptions),
    /// The precise top's table without idle rows, with at most this number of rows.
    Precise(Option<usize>),
    /// JSON, one line per window.
    Json,
    /// CSV, one line per row.
    Csv,
    /// CPU time of all tasks, summed by a dimension.
    Sums(Grouping, Shape),
}

/// Format of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Shape {
    Text,
    Json,
    Csv,
}

impl OutputMode {
    /// Resolves the options.
    ///
    /// # Errors
    /// Options conflict, or a name is unknown or does not exist.
    pub fn watching(typed: WatchArgs) -> Result<OutputMode, Failure> {
        match typed.list_fields {
            true => Ok(OutputMode::Fields),
            false if typed.print.is_plain() => windows(typed).map(OutputMode::Windows),
            false => live(typed).map(OutputMode::Live),
        }
    }

    /// Resolves the options for recorded windows.
    ///
    /// # Errors
    /// Options conflict, a name is unknown, or an option is for measuring.
    pub fn replaying(typed: WatchArgs) -> Result<Replaying, Failure> {
        let measuring = [
            ("--delay", typed.delay.is_some()),
            ("--source", typed.source != AUTO),
            ("--socket", typed.socket.is_some()),
            ("--record", typed.record.is_some()),
            ("--proc-root", typed.proc_root.is_some()),
            ("--split", typed.split != MeasurePolicy::WhileCheap),
            ("--irq", typed.irq != MeasurePolicy::WhileCheap),
            ("--budget", typed.budget != DEFAULT_BUDGET),
            ("--blame", typed.blame != WaitBook::On),
        ];
        if let Some((option, _)) = measuring.iter().find(|(_, given)| *given) {
            return Err(no_measuring(option));
        }
        if typed.list_fields {
            return Err(Failure::usage(
                "-O conflicts with a replay: run 'exactop columns' to list the columns",
            ));
        }
        if !typed.print.is_plain() {
            if typed.print.windows().is_some() {
                return Err(for_printed("-n"));
            }
            return Ok(Replaying::Live(begin(&typed)?, typed.pid));
        }
        let format = format(&typed);
        let plan = plan(&typed, format)?;
        Ok(Replaying::Windows(Replayed {
            plan,
            format,
            windows: typed.print.windows(),
            check: typed.check,
        }))
    }

    /// Resolves the options of the precise top, which is batch mode with its own columns.
    ///
    /// # Errors
    /// Options conflict, or a name is unknown or does not exist.
    pub fn precise(typed: PtopArgs) -> Result<OutputMode, Failure> {
        OutputMode::watching(precise(typed)?)
    }
}

/// Options of the precise top as options of watching.
///
/// # Errors
/// The options name columns; the precise top has its own.
pub fn precise(typed: PtopArgs) -> Result<WatchArgs, Failure> {
    let mut watch = typed.watch;
    if watch.preset.is_some() || watch.columns.is_some() {
        return Err(Failure::usage("the columns are fixed: leave --preset and --columns out"));
    }
    watch.draws = !watch.print.is_plain();
    watch.print.batch = true;
    watch.preset = Some(preset::PRECISE.into());
    match (typed.interval, typed.count) {
        (Some(interval), None) if typed.of.replay.is_some() => return Err(no_interval(interval)),
        (Some(interval), _) if typed.of.replay.is_none() => watch.delay = Some(interval),
        _ => {}
    }
    watch.print.or_windows(typed.count);
    Ok(watch)
}

fn for_printed(option: &str) -> Failure {
    Failure::usage(format!("{option} needs printed windows: add -b, --json or --csv"))
}

/// The error of a live view without a terminal.
pub const NO_TERMINAL: &str =
    "standard output is not a terminal: add -b for text, or use --json or --csv";

/// Start state of the live view.
fn begin(typed: &WatchArgs) -> Result<Begin, Failure> {
    let printing = [
        ("-w", typed.width.is_some()),
        ("--rows", typed.print.rows.is_some()),
        ("--check", typed.check),
        ("--by", typed.by.is_some()),
    ];
    if let Some((option, _)) = printing.iter().find(|(_, given)| *given) {
        return Err(for_printed(option));
    }
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(NO_TERMINAL));
    }
    let (settings, unknown) = settings(typed)?;
    user(typed)?;
    Ok(Begin { settings, windows: typed.print.windows(), warning: unknown.into_iter().next() })
}

fn live(typed: WatchArgs) -> Result<Live, Failure> {
    let begin = begin(&typed)?;
    are_there(typed.proc_root.as_deref(), &typed.pid)?;
    Ok(Live { source: source(&typed), pids: typed.pid, begin })
}

/// Settings of the configuration, changed by the command line; and its unknown keys.
fn settings(typed: &WatchArgs) -> Result<(Settings, Vec<String>), Failure> {
    let (mut settings, unknown) = config::load()?;
    if let Some(seconds) = typed.delay {
        settings.interval_s = seconds;
    }
    if let Some(name) = &typed.preset {
        let preset = preset::named(name)?;
        settings.microstates = false;
        settings.columns = preset.columns.iter().map(|c| c.id).collect();
        settings.sort = preset.sort.id;
        settings.reverse = false;
    }
    if let Some(columns) = &typed.columns {
        settings.microstates = false;
        settings.columns = columns.0.iter().map(|c| c.id).collect();
    }
    if let Some(field) = &typed.sort {
        settings.sort = field.0.column.id;
        settings.reverse = field.0.descending != field.0.column.descending();
    }
    if let Some(user) = &typed.user {
        settings.user = Some(user.clone());
    }
    if !typed.filter.is_empty() {
        settings.filters = typed.filter.iter().map(|f| f.text().into()).collect();
    }
    settings.threads |= typed.threads;
    settings.hide_idle |= typed.hide_idle;
    if typed.command_line {
        settings.command_line = AutoSwitch::Always;
    }
    if typed.per_cpu {
        settings.per_cpu = AutoSwitch::Always;
    }
    Ok((settings, unknown))
}

fn windows(typed: WatchArgs) -> Result<Windows, Failure> {
    let format = format(&typed);
    let (plan, source) = (plan(&typed, format)?, source(&typed));
    are_there(source.root.as_deref(), &typed.pid)?;
    let pace = Pace {
        interval: Duration::from_secs_f64(typed.delay.unwrap_or(DEFAULT_DELAY_S)),
        windows: typed.print.windows(),
    };
    let draws = typed.draws && pace.windows != Some(1);
    Ok(Windows { source, plan, format, pace, check: typed.check, draws })
}

fn format(typed: &WatchArgs) -> Format {
    if let Some(by) = typed.by {
        return Format::Sums(
            by,
            match (typed.print.json, typed.print.csv) {
                (true, _) => Shape::Json,
                (_, true) => Shape::Csv,
                _ => Shape::Text,
            },
        );
    }
    if typed.print.json {
        return Format::Json;
    }
    if typed.print.csv {
        return Format::Csv;
    }
    if typed.preset.as_deref() == Some(preset::PRECISE) {
        return Format::Precise(typed.print.rows);
    }
    let from_environment = || {
        let columns = std::env::var("COLUMNS").ok()?.parse::<usize>().ok()?;
        Some(columns.clamp(3, MAX_WIDTH))
    };
    let width = match typed.width {
        None => MAX_WIDTH,
        Some(None) => from_environment().unwrap_or(MAX_WIDTH),
        Some(Some(width)) => width,
    };
    Format::Text(TextOptions { width, each_cpu: typed.per_cpu, rows: typed.print.rows })
}

/// The plan of each printed window.
fn plan(typed: &WatchArgs, format: Format) -> Result<Plan, Failure> {
    let preset = typed.preset.as_deref().map(preset::named).transpose()?;
    let columns = match (&typed.columns, &preset) {
        _ if matches!(format, Format::Sums(..)) => Vec::new(),
        (Some(columns), _) => columns.0.clone(),
        (None, Some(preset)) => preset.columns.clone(),
        (None, None) if typed.print.json || typed.print.csv => json::default_columns(),
        (None, None) => columns::by_ids(TOP),
    };
    let natural = || SortBy::column(preset.map_or(ColumnId::CpuPct.column(), |p| p.sort));
    Ok(Plan {
        columns,
        sort: typed.sort.map_or_else(natural, |field| field.0),
        threads: typed.threads,
        command_line: typed.command_line,
        selection: Selection {
            pids: typed.pid.clone(),
            user: user(typed)?,
            hide_idle: typed.hide_idle,
            filters: typed.filter.clone(),
        },
        only_active: matches!(format, Format::Precise(_)),
    })
}

fn user(typed: &WatchArgs) -> Result<Option<User>, Failure> {
    let Some(text) = &typed.user else { return Ok(None) };
    let (name, others) = match text.strip_prefix('!') {
        Some(name) => (name, true),
        None => (text.as_str(), false),
    };
    let unknown =
        || Failure::usage(format!("no user '{name}' in /etc/passwd: write a name or a number"));
    let uid = passwd::id(name).ok_or_else(unknown)?;
    Ok(Some(User { uid, others }))
}

fn names_are_shown(typed: &WatchArgs) -> bool {
    let columns = typed.columns.iter().flat_map(|columns| columns.0.iter().copied());
    let filters = typed.filter.iter().map(Filter::column);
    let sort = typed.sort.iter().map(|field| field.0.column);
    let needs = columns::needs(columns.chain(filters).chain(sort), false);
    typed.by.is_some_and(Grouping::is_of_group) || needs.has(Needs::NAMES)
}

fn source(typed: &WatchArgs) -> SourceOptions {
    SourceOptions {
        whose: typed.source,
        socket: typed.socket.clone(),
        split: SplitOptions {
            split: typed.split,
            irq: typed.irq,
            budget: typed.budget / 100.0,
            ..typed.blame.split()
        },
        root: typed.proc_root.clone(),
        record: typed.record.clone(),
        names: typed.record.is_some() || names_are_shown(typed),
    }
}

/// Checks that the requested processes exist now; later they may exit.
///
/// # Errors
/// The first that does not exist.
pub fn are_there(root: Option<&Path>, pids: &[u32]) -> Result<(), Failure> {
    let root = root.unwrap_or(Path::new("/proc"));
    match pids.iter().find(|pid| !root.join(pid.to_string()).exists()) {
        Some(pid) => {
            Err(Failure::failed(format!("no process {pid}: give the PID of a process that runs")))
        }
        None => Ok(()),
    }
}
