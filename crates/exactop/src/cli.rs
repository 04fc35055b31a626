//! The command line: options named as in top where top has them.

use crate::commands::{cgroups, load, prstat};
#[cfg(feature = "bpf")]
use crate::commands::{lab, on_demand, run, trace};
use crate::options::parse::{self, Columns, SortField};
use clap::{Args, Parser, Subcommand, ValueEnum};
use exactop_model::filter::Filter;
use exactop_sources::SplitPolicy;
use std::path::PathBuf;

/// A top for Linux that closes its books
///
/// Every nanosecond of every CPU is posted to an account, that of processes which exit between
/// two looks included, and every window shows that the sum comes out.
///
/// Without options it shows the live view. Batch mode (-b, --json, --csv, --once) prints windows
/// one after the other; the first is as long as the others, so its figures mean the same.
#[derive(Debug, Parser)]
#[command(
    name = "exactop",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Something else than watching.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to watch.
    #[command(flatten)]
    pub watch: Watch,
}

const AFTER_HELP: &str = "\
Examples:
  exactop                       watch
  exactop -b -n 3 -o TIME+      three windows as text, longest-running first
  exactop --json --once -d 10   ten seconds as one JSON object (docs/json.md)
  exactop --filter '%CPU>5' --filter user=root
  exactop doctor                what this kernel can give, and why not more

Exit status: 0 done, 1 something failed, 2 wrong use, 3 found what --check asks for, 128+N ended by
signal N.";

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List every column: name, unit, meaning, where it comes from
    Columns {
        /// An array of objects
        #[arg(long)]
        json: bool,
        /// A Markdown page
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
    /// Say what this kernel offers, what is missing, and what to do about it
    ///
    /// Exits with 1 if the exact ledger cannot be opened.
    Doctor {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// What illumos's prstat(8) shows, microstates (-m) of threads (-L) included
    #[command(disable_help_flag = true, after_help = prstat::NOTES)]
    Prstat(Box<prstat::Options>),
    /// The precise top: CPU time by kind with that of children, and its sum, window after window
    #[command(after_help = PTOP_NOTES)]
    Ptop(Box<Ptop>),
    /// Count and time system calls, by call, process or thread
    #[cfg(feature = "bpf")]
    #[command(after_help = on_demand::syscalls::NOTES)]
    Syscalls(on_demand::syscalls::Command),
    /// Show who wakes whom, how many at once, and which wake-ups are for nothing
    #[cfg(feature = "bpf")]
    #[command(after_help = on_demand::wakeups::notes())]
    Wakeups(on_demand::wakeups::Command),
    /// Show what threads wait for: calls slept in, the run queue and who ran instead, who woke them
    #[cfg(feature = "bpf")]
    #[command(after_help = on_demand::waits::NOTES)]
    Waits(on_demand::waits::Command),
    /// Run a command under scheduling conditions and say what all of its descendants used
    #[cfg(feature = "bpf")]
    #[command(after_help = run::NOTES)]
    Run(Box<run::Command>),
    /// Show what control groups use, want and are kept from; set what they may use
    #[command(after_help = cgroups::NOTES)]
    Cgroups(Box<cgroups::Command>),
    /// Run a workload of known behaviour to look at
    Load {
        /// Which.
        #[command(subcommand)]
        load: load::Load,
    },
    /// Record every switch and wake-up into a file for the Perfetto viewer
    #[cfg(feature = "bpf")]
    #[command(after_help = trace::NOTES)]
    Trace(trace::Command),
    /// Scheduler experiments as measurements: predicted, measured with an interval, drawn
    #[cfg(feature = "bpf")]
    #[command(after_help = lab::NOTES)]
    Lab {
        /// What.
        #[command(subcommand)]
        lab: lab::Lab,
    },
    /// Print the manual page
    Man,
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// The precise top.
#[derive(Debug, clap::Args)]
pub struct Ptop {
    #[command(flatten)]
    pub watch: Watch,
    /// Show at most this many rows; the sum is of all
    #[arg(long, value_name = "N")]
    pub rows: Option<usize>,
    /// Seconds a window is long
    #[arg(value_parser = parse::seconds, conflicts_with = "delay", default_value = "2")]
    pub interval: f64,
    /// Windows to print, then exit
    #[arg(value_parser = parse::count, conflicts_with = "iterations")]
    pub count: Option<u64>,
}

const PTOP_NOTES: &str = "\
user, sys and ste (steal) are the process's own, cuser, csys and cste those of its children. In the
ledger and in taskstats these are descendants that exited in the window, with what they took in it,
waited for or not; in snapshot and procfs they are the kernel's count of children that were waited
for in the window, with all their lives. V:V:S is the sum: in the ledger, on a busy machine, the
CPUs times 100 %. Names in brackets are not processes: what exited and has no ancestor that lives,
time without a name, interrupts. exactop --preset ptop shows the same columns live.";

/// Shells with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[allow(missing_docs)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Where the figures come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// The first of the others that can be had
    #[default]
    Auto,
    /// BPF events, exact; needs privileges
    Ledger,
    /// The kernel's own counters, read by a BPF iterator; needs privileges
    Snapshot,
    /// Netlink, with a record of each exit; needs CAP_NET_ADMIN
    Taskstats,
    /// /proc: ticks, for anyone
    Procfs,
}

/// How the ledger tells user from system time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Split {
    /// At every system call while that stays under the budget
    #[default]
    Auto,
    /// At every system call
    Exact,
    /// By the kernel's tick-sampled ratio (~)
    Sampled,
}

/// Whether the ledger tells interrupts from whom they hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Irq {
    /// While a column on screen asks for it and it stays under the budget
    #[default]
    Auto,
    /// Always
    On,
    /// Never
    Off,
}

impl Irq {
    /// As the ledger has it.
    pub fn policy(self) -> SplitPolicy {
        match self {
            Irq::Auto => SplitPolicy::Auto,
            Irq::On => SplitPolicy::Exact,
            Irq::Off => SplitPolicy::Sampled,
        }
    }
}

/// What to watch and how to show it.
#[derive(Debug, Args)]
pub struct Watch {
    /// Text, one window after the other, without cursor movement
    #[arg(short, long)]
    pub batch: bool,
    /// One JSON object on one line for each window
    #[arg(long)]
    pub json: bool,
    /// A header line, then a line for each row and window
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// One window, then exit
    #[arg(long, conflicts_with = "iterations")]
    pub once: bool,
    /// Exit after N windows (batch)
    #[arg(short = 'n', long, value_name = "N", value_parser = parse::count, allow_hyphen_values = true)]
    pub iterations: Option<u64>,
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
    /// At most so many rows of the precise top.
    #[arg(skip)]
    pub rows: Option<usize>,
    /// The columns and the order of this name: top, prstat, ptop, or a preset of your own in the
    /// configuration
    #[arg(long, value_name = "NAME", conflicts_with = "columns")]
    pub preset: Option<String>,
    /// Where the figures come from
    #[arg(long, value_enum, default_value_t)]
    pub source: Source,
    /// How the ledger tells user from system time
    #[arg(long, value_enum, default_value_t)]
    pub split: Split,
    /// Whether interrupt time is told from the time of whom it hit
    #[arg(long, value_enum, default_value_t)]
    pub irq: Irq,
    /// What --split auto and --irq auto may cost each, in per cent of the machine's CPU time
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = parse::percent, allow_hyphen_values = true)]
    pub budget: f64,
    /// Read this directory instead of /proc (procfs source, for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    pub proc_root: Option<PathBuf>,
}

impl Watch {
    /// Whether to print windows instead of showing the live view.
    pub fn prints(&self) -> bool {
        self.batch || self.json || self.csv || self.once
    }
}
