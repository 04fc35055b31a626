//! What the options of watching come to. It is made once, before anything is opened; whoever
//! watches asks it and not what was typed.

use super::pace::Pace;
use super::parse::MAX_WIDTH;
use super::typed::{PtopArgs, WatchArgs, Whose, AUTO};
use super::{config, preset};
use crate::failure::Failure;
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, ColumnId, TOP};
use exactop_model::owner::By;
use exactop_model::Needs;
use exactop_sources::passwd;
use exactop_sources::{SplitOptions, When};
use exactop_tui::{Begin, PerCpu, Settings};
use exactop_views::table::TextOptions;
use exactop_views::{json, Plan, Selection, User};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DEFAULT_DELAY_S: f64 = 2.0;
/// As [`WatchArgs`] has it.
const DEFAULT_BUDGET: f64 = 1.0;

/// What is wanted.
pub enum Wanted {
    /// The names of all columns.
    Fields,
    /// The live view.
    Live(Live),
    /// Windows, one after the other.
    Windows(Windows),
}

/// The source that is wanted.
#[derive(Debug)]
pub struct SourceOptions {
    /// `auto`, or one by name.
    pub whose: Whose,
    /// Where the daemon's socket is, unless where it always is.
    pub socket: Option<PathBuf>,
    /// How it tells user, system and interrupt time apart.
    pub split: SplitOptions,
    /// Where /proc is, for tests.
    pub root: Option<PathBuf>,
    /// Where it is recorded, too.
    pub record: Option<PathBuf>,
    /// Whether it is known already that control groups are shown by name.
    pub names: bool,
}

/// What the live view starts with.
pub struct Live {
    pub source: SourceOptions,
    /// Only these processes, unless empty.
    pub pids: Vec<u32>,
    pub begin: Begin,
}

/// What is printed, and how often.
pub struct Windows {
    pub source: SourceOptions,
    pub plan: Plan,
    pub format: Format,
    pub pace: Pace,
    /// Whether the exit status says that one was inexact.
    pub check: bool,
    /// Whether they are drawn over each other where there is a terminal.
    pub draws: bool,
}

/// What is wanted of a recording.
pub enum Replaying {
    /// The live view on it.
    Live(Begin, Vec<u32>),
    /// Windows, one after the other.
    Windows(Replayed),
}

/// What is printed of a recording.
pub struct Replayed {
    pub plan: Plan,
    pub format: Format,
    /// How many; `None`: all there are.
    pub windows: Option<u64>,
    /// Whether the exit status says that one was inexact.
    pub check: bool,
}

/// What windows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text(TextOptions),
    /// The precise top's table, which has no rows for those that did nothing, with at most so many.
    Precise(Option<usize>),
    /// A line each.
    Json,
    /// A line for each row.
    Csv,
    /// Everyone's time summed by what rows stand for.
    Sums(By, Shape),
}

/// What sums look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Shape {
    Text,
    Json,
    Csv,
}

impl Wanted {
    /// What the options come to.
    ///
    /// # Errors
    /// What does not go together, is not known or is not there.
    pub fn watching(typed: WatchArgs) -> Result<Wanted, Failure> {
        match typed.list_fields {
            true => Ok(Wanted::Fields),
            false if typed.print.is_plain() => windows(typed).map(Wanted::Windows),
            false => live(typed).map(Wanted::Live),
        }
    }

    /// What the options come to for windows that were recorded.
    ///
    /// # Errors
    /// What does not go together, is not known, or is for measuring.
    pub fn replaying(typed: WatchArgs) -> Result<Replaying, Failure> {
        let measuring = [
            ("--delay", typed.delay.is_some()),
            ("--source", typed.source != AUTO),
            ("--socket", typed.socket.is_some()),
            ("--record", typed.record.is_some()),
            ("--proc-root", typed.proc_root.is_some()),
            ("--split", typed.split != When::WhileCheap),
            ("--irq", typed.irq != When::WhileCheap),
            ("--budget", typed.budget != DEFAULT_BUDGET),
        ];
        if let Some((option, _)) = measuring.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!(
                "{option} is for measuring: what is replayed was measured already"
            )));
        }
        if typed.list_fields {
            return Err(Failure::usage("-O lists names of columns: 'exactop columns' does, too"));
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

    /// The precise top is batch mode with columns of its own.
    ///
    /// # Errors
    /// As above.
    pub fn precise(typed: PtopArgs) -> Result<Wanted, Failure> {
        Wanted::watching(precise(typed)?)
    }
}

/// The precise top as a way of watching.
///
/// # Errors
/// It has columns already.
pub fn precise(typed: PtopArgs) -> Result<WatchArgs, Failure> {
    let mut watch = typed.watch;
    if watch.preset.is_some() || watch.columns.is_some() {
        return Err(Failure::usage(
            "ptop has columns of its own: leave --preset and --columns out",
        ));
    }
    watch.draws = !watch.print.is_plain();
    watch.print.batch = true;
    watch.preset = Some(preset::PRECISE.into());
    if typed.of.replay.is_none() {
        watch.delay = watch.delay.or(Some(typed.interval));
    }
    watch.print.or_windows(typed.count);
    Ok(watch)
}

fn for_printed(option: &str) -> Failure {
    Failure::usage(format!("{option} is for printed windows: add -b, --json or --csv"))
}

/// With what the live view begins.
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
        return Err(Failure::usage(
            "standard output is not a terminal: add -b for text, or use --json or --csv",
        ));
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

/// Those of the configuration, changed by the command line; and what it says that nobody knows.
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
    settings.command_line |= typed.command_line;
    if typed.per_cpu {
        settings.per_cpu = PerCpu::Always;
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

/// What is asked of every printed window.
fn plan(typed: &WatchArgs, format: Format) -> Result<Plan, Failure> {
    let preset = typed.preset.as_deref().map(preset::named).transpose()?;
    let columns = match (&typed.columns, &preset) {
        _ if matches!(format, Format::Sums(..)) => Vec::new(),
        (Some(columns), _) => columns.0.clone(),
        (None, Some(preset)) => preset.columns.clone(),
        (None, None) if typed.print.json || typed.print.csv => json::default_columns(),
        (None, None) => columns::of(TOP),
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
    typed.by.is_some_and(By::is_of_group) || needs.has(Needs::NAMES)
}

fn source(typed: &WatchArgs) -> SourceOptions {
    SourceOptions {
        whose: typed.source,
        socket: typed.socket.clone(),
        split: SplitOptions { split: typed.split, irq: typed.irq, budget: typed.budget / 100.0 },
        root: typed.proc_root.clone(),
        record: typed.record.clone(),
        names: typed.record.is_some() || names_are_shown(typed),
    }
}

/// Processes that are asked for by number must be there now; later they may go.
///
/// # Errors
/// The first that is not.
pub fn are_there(root: Option<&Path>, pids: &[u32]) -> Result<(), Failure> {
    let root = root.unwrap_or(Path::new("/proc"));
    match pids.iter().find(|pid| !root.join(pid.to_string()).exists()) {
        Some(pid) => Err(Failure::failed(format!("no process {pid}"))),
        None => Ok(()),
    }
}
