//! The options of watching, named as in top where top has them.

use super::parse::{self, Columns, SortField, Word};
use crate::options::of_recording::OfRecording;
use crate::options::printed::PrintArgs;
use clap::Args;
use exactop_model::columns::filter::Filter;
use exactop_model::owner::Grouping;
use exactop_sources::session::Choice;
use exactop_sources::{MeasurePolicy, SplitOptions, BLAME_FLOOR_NS};
use std::path::PathBuf;

/// The source of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// A daemon.
    Daemon,
    /// This process.
    Own(Choice),
}

/// The first source that works.
pub const AUTO: FigureSource = FigureSource::Own(Choice::Auto);

/// Words of `--source`.
pub const SOURCES: &[Word<FigureSource>] = &[
    ("auto", AUTO, "The first of the others that works"),
    (
        "daemon",
        FigureSource::Daemon,
        "The ledger of 'exactop daemon', over its socket; for users in the group exactop",
    ),
    ("ledger", FigureSource::Own(Choice::Ledger), "BPF events, exact; needs privileges"),
    (
        "snapshot",
        FigureSource::Own(Choice::Snapshot),
        "The kernel's own counters, read by a BPF iterator; needs privileges",
    ),
    (
        "taskstats",
        FigureSource::Own(Choice::Taskstats),
        "Netlink, with a record of each exit; needs CAP_NET_ADMIN",
    ),
    ("procfs", FigureSource::Own(Choice::Procfs), "/proc: ticks, for anyone"),
];

/// Words of `--split`.
pub const SPLITS: &[Word<MeasurePolicy>] = &[
    (
        "auto",
        MeasurePolicy::WhileCheap,
        "At every system call while the cost stays under the budget",
    ),
    ("exact", MeasurePolicy::Always, "At every system call"),
    ("sampled", MeasurePolicy::Never, "By the kernel's tick-sampled ratio (~)"),
];

/// Words of `--irq`.
const INTERRUPTS: &[Word<MeasurePolicy>] = &[
    (
        "auto",
        MeasurePolicy::WhileCheap,
        "While a visible column needs it and the cost stays under the budget",
    ),
    ("on", MeasurePolicy::Always, "Always"),
    ("off", MeasurePolicy::Never, "Never"),
];

/// What the ledger books of waits for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitBook {
    /// Nothing.
    Off,
    /// Who had the CPU meanwhile.
    On,
    /// Also histograms of the waits.
    Histograms,
}

impl WaitBook {
    /// The measurements of the ledger with this book.
    pub fn split(self) -> SplitOptions {
        SplitOptions {
            blame_floor_ns: (self != WaitBook::Off).then_some(BLAME_FLOOR_NS),
            wait_sizes: self == WaitBook::Histograms,
            ..SplitOptions::default()
        }
    }
}

/// Words of `--blame`.
pub const BLAME: &[Word<WaitBook>] = &[
    ("on", WaitBook::On, "For 'exactop blame', recordings and findings"),
    ("histograms", WaitBook::Histograms, "Also histograms of the waits, for 'exactop waits --by'"),
    ("off", WaitBook::Off, "No book"),
];

/// Options of watching.
#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub print: PrintArgs,
    /// Exit with 3 if a window was inexact; windows of other sources than the ledger always are
    /// (batch)
    #[arg(long)]
    pub check: bool,
    /// Set the length of a window [default: 2]
    #[arg(short, long, alias = "interval", value_name = "SECONDS", value_parser = parse::seconds, allow_hyphen_values = true)]
    pub delay: Option<f64>,
    /// Set the width of text lines; without N, $COLUMNS [default: 512] (batch)
    #[arg(
        short,
        long,
        value_name = "N",
        num_args = 0..=1,
        value_parser = parse::width,
        conflicts_with_all = ["json", "csv"]
    )]
    pub width: Option<Option<usize>>,
    /// Show only these processes and their exited descendants; separate by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse::pid, allow_hyphen_values = true)]
    pub pid: Vec<u32>,
    /// Show only this effective user, a name or a number; ! in front: all others
    #[arg(short, long, value_name = "[!]USER")]
    pub user: Option<String>,
    /// Show only rows that match this: COLUMN followed by = (contains, or equals a number),
    /// ==, !=, <, <=, > or >= and a value, such as 5, 100M or 5ms; ! in front negates. May be given
    /// several times
    #[arg(long, value_name = "EXPR", value_parser = parse::filter, allow_hyphen_values = true)]
    pub filter: Vec<Filter>,
    /// Sum the time of all tasks, also exited ones, by this instead of showing tasks (batch)
    #[arg(
        long,
        value_parser = parse::by(&Grouping::MACHINE),
        conflicts_with_all = [
            "pid", "user", "filter", "hide_idle", "threads", "command_line", "per_cpu", "sort",
            "rows", "width"
        ]
    )]
    pub by: Option<Grouping>,
    /// Show only rows that used CPU time in the window
    #[arg(short = 'i', long)]
    pub hide_idle: bool,
    /// Show one row per thread instead of one per process
    #[arg(short = 'H', long)]
    pub threads: bool,
    /// Show command lines instead of command names
    #[arg(short = 'c', long)]
    pub command_line: bool,
    /// Show a line for each CPU in the summary
    #[arg(short = '1', long, conflicts_with_all = ["json", "csv"])]
    pub per_cpu: bool,
    /// Sort by this column; + in front sorts high to low, - low to high
    #[arg(short = 'o', long, value_name = "[+|-]FIELD", value_parser = parse::sort_field, allow_hyphen_values = true)]
    pub sort: Option<SortField>,
    /// List the names for -o, --columns and --filter
    #[arg(short = 'O', long)]
    pub list_fields: bool,
    /// Show these columns, separated by commas; 'exactop columns' lists them
    #[arg(long, value_name = "LIST", value_parser = parse::columns, allow_hyphen_values = true, conflicts_with = "by")]
    pub columns: Option<Columns>,
    /// True if windows are drawn over each other on a terminal.
    #[arg(skip)]
    pub draws: bool,
    /// Use the columns and the order of this preset: top, prstat, ptop, or your own in the
    /// configuration
    #[arg(long, value_name = "NAME", conflicts_with_all = ["columns", "by"])]
    pub preset: Option<String>,
    /// Take the figures from this source
    #[arg(long, value_parser = parse::one_of(SOURCES), default_value = "auto")]
    pub source: FigureSource,
    /// Use the daemon's socket at this path
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Split user and system time in the ledger this way
    #[arg(long, value_parser = parse::one_of(SPLITS), default_value = "auto")]
    pub split: MeasurePolicy,
    /// Separate interrupt time from the time of the interrupted task
    #[arg(long, value_parser = parse::one_of(INTERRUPTS), default_value = "auto")]
    pub irq: MeasurePolicy,
    /// Allow --split auto and --irq auto this cost each, in per cent of the machine's CPU time
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = parse::percent, allow_hyphen_values = true)]
    pub budget: f64,
    /// Keep the blame book: who had the CPU while others waited
    #[arg(long, value_parser = parse::one_of(BLAME), default_value = "on")]
    pub blame: WaitBook,
    /// Also record the windows into this directory ('exactop replay DIR')
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Read this directory instead of /proc (procfs source, for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    pub proc_root: Option<PathBuf>,
}

/// Options of the precise top. `--columns` and `--preset` are refused with the reason.
#[derive(Debug, Args)]
#[command(mut_arg("columns", |option| option.hide(true)))]
#[command(mut_arg("preset", |option| option.hide(true)))]
pub struct PtopArgs {
    #[command(flatten)]
    pub watch: WatchArgs,
    #[command(flatten)]
    pub of: OfRecording,
    /// Set the length of a window in seconds [default: 2]
    #[arg(value_parser = parse::seconds, conflicts_with = "delay")]
    pub interval: Option<f64>,
    /// Print this number of windows, then exit
    #[arg(value_parser = parse::windows, conflicts_with_all = ["iterations", "once"])]
    pub count: Option<u64>,
}
