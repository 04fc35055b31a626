//! What is typed to watch: options named as in top where top has them.

use super::parse::{self, Columns, SortField, Word};
use crate::options::of_recording::OfRecording;
use crate::options::printed::PrintArgs;
use clap::Args;
use exactop_model::columns::filter::Filter;
use exactop_model::owner::By;
use exactop_sources::session::Choice;
use exactop_sources::When;
use std::path::PathBuf;

/// Whose figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A daemon's.
    Daemon,
    /// Our own.
    Own(Choice),
}

/// The first that can be had.
pub const AUTO: Whose = Whose::Own(Choice::Auto);

/// Where the figures come from.
pub const SOURCES: &[Word<Whose>] = &[
    ("auto", AUTO, "The first of the others that can be had"),
    ("daemon", Whose::Daemon, "The ledger of 'exactop daemon', by its socket; for its group"),
    ("ledger", Whose::Own(Choice::Ledger), "BPF events, exact; needs privileges"),
    (
        "snapshot",
        Whose::Own(Choice::Snapshot),
        "The kernel's own counters, read by a BPF iterator; needs privileges",
    ),
    (
        "taskstats",
        Whose::Own(Choice::Taskstats),
        "Netlink, with a record of each exit; needs CAP_NET_ADMIN",
    ),
    ("procfs", Whose::Own(Choice::Procfs), "/proc: ticks, for anyone"),
];

/// How the ledger tells user from system time.
pub const SPLITS: &[Word<When>] = &[
    ("auto", When::WhileCheap, "At every system call while that stays under the budget"),
    ("exact", When::Always, "At every system call"),
    ("sampled", When::Never, "By the kernel's tick-sampled ratio (~)"),
];

/// Whether the ledger tells interrupts from whom they hit.
const INTERRUPTS: &[Word<When>] = &[
    (
        "auto",
        When::WhileCheap,
        "While a column on screen asks for it and it stays under the budget",
    ),
    ("on", When::Always, "Always"),
    ("off", When::Never, "Never"),
];

/// What to watch and how to show it.
#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub print: PrintArgs,
    /// Exit with 3 if a window was inexact, as it always is from other sources than the ledger (batch)
    #[arg(long)]
    pub check: bool,
    /// Length of a window [default: 2]
    #[arg(short, long, value_name = "SECONDS", value_parser = parse::seconds, allow_hyphen_values = true)]
    pub delay: Option<f64>,
    /// Width of text lines; without N that of $COLUMNS [default: 512] (batch)
    #[arg(
        short,
        long,
        value_name = "N",
        num_args = 0..=1,
        value_parser = parse::width,
        conflicts_with_all = ["json", "csv"]
    )]
    pub width: Option<Option<usize>>,
    /// Only these processes and what exited below them; separate by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse::pid, allow_hyphen_values = true)]
    pub pid: Vec<u32>,
    /// Only this effective user, a name or a number; ! in front: everyone else
    #[arg(short, long, value_name = "[!]USER")]
    pub user: Option<String>,
    /// Only rows for which this holds: COLUMN followed by = (contains, or equals a number), ==, !=,
    /// <, <=, > or >= and a value; ! in front negates. May be given several times
    #[arg(long, value_name = "EXPR", value_parser = parse::filter, allow_hyphen_values = true)]
    pub filter: Vec<Filter>,
    /// Sum everyone's time, exited tasks' too, by this instead of showing tasks (batch)
    #[arg(
        long,
        value_parser = parse::by(&By::MACHINE),
        conflicts_with_all = [
            "pid", "user", "filter", "hide_idle", "threads", "command_line", "per_cpu", "sort",
            "columns", "preset", "rows", "width"
        ]
    )]
    pub by: Option<By>,
    /// Only rows that used CPU time in the window
    #[arg(short = 'i', long)]
    pub hide_idle: bool,
    /// One row a thread instead of one a process
    #[arg(short = 'H', long)]
    pub threads: bool,
    /// Command lines instead of command names
    #[arg(short = 'c', long)]
    pub command_line: bool,
    /// A line for each CPU in the summary
    #[arg(short = '1', long, conflicts_with_all = ["json", "csv"])]
    pub per_cpu: bool,
    /// Sort by this column; + in front sorts high to low, - low to high
    #[arg(short = 'o', long, value_name = "[+|-]FIELD", value_parser = parse::sort_field, allow_hyphen_values = true)]
    pub sort: Option<SortField>,
    /// List the names for -o, --columns and --filter
    #[arg(short = 'O', long)]
    pub list_fields: bool,
    /// Show these columns, separated by commas; 'exactop columns' lists them
    #[arg(long, value_name = "LIST", value_parser = parse::columns, allow_hyphen_values = true)]
    pub columns: Option<Columns>,
    /// Windows are drawn over each other on a terminal.
    #[arg(skip)]
    pub draws: bool,
    /// The columns and the order of this name: top, prstat, ptop, or a preset of your own in the
    /// configuration
    #[arg(long, value_name = "NAME", conflicts_with = "columns")]
    pub preset: Option<String>,
    /// Where the figures come from
    #[arg(long, value_parser = parse::one_of(SOURCES), default_value = "auto")]
    pub source: Whose,
    /// The daemon's socket
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// How the ledger tells user from system time
    #[arg(long, value_parser = parse::one_of(SPLITS), default_value = "auto")]
    pub split: When,
    /// Whether interrupt time is told from the time of whom it hit
    #[arg(long, value_parser = parse::one_of(INTERRUPTS), default_value = "auto")]
    pub irq: When,
    /// What --split auto and --irq auto may cost each, in per cent of the machine's CPU time
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = parse::percent, allow_hyphen_values = true)]
    pub budget: f64,
    /// Record what is shown into this directory, too ('exactop replay DIR')
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Read this directory instead of /proc (procfs source, for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    pub proc_root: Option<PathBuf>,
}

/// The precise top.
#[derive(Debug, Args)]
pub struct PtopArgs {
    #[command(flatten)]
    pub watch: WatchArgs,
    #[command(flatten)]
    pub of: OfRecording,
    /// Seconds a window is long
    #[arg(value_parser = parse::seconds, conflicts_with = "delay", default_value = "2")]
    pub interval: f64,
    /// Windows to print, then exit
    #[arg(value_parser = parse::windows, conflicts_with_all = ["iterations", "once"])]
    pub count: Option<u64>,
}
