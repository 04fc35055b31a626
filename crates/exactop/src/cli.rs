//! The command line: watching, or one of the subcommands.

use crate::commands::{
    cgroups, daemon, diff, export, fleet, load, prstat, record, replay, report, web,
};
#[cfg(feature = "bpf")]
use crate::commands::{lab, on_demand, run, trace};
use crate::options::parse::{self, Word};
use crate::options::typed::{PtopArgs, WatchArgs};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;

/// A top for Linux that closes its books
///
/// Every nanosecond of every CPU is charged to an account, that of processes which exit between
/// two looks included, and every window shows that the sum comes out.
///
/// Without options it shows the live view. Batch mode (-b, --json, --csv, --once) prints windows
/// one after the other; the first is as long as the others, so its figures mean the same.
#[derive(Debug, Parser)]
#[command(
    name = "exactop",
    version,
    long_version = crate::version::long(),
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Something else than watching.
    #[command(subcommand)]
    pub command: Option<Subcommands>,
    /// How to watch.
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// The subcommand that is meant, such as `lab run`; empty: none.
pub fn subcommand(args: &[OsString]) -> String {
    let mut command = &Cli::command();
    let mut words = Vec::new();
    for arg in args.iter().skip(1) {
        let Some(below) = command.find_subcommand(arg) else { break };
        command = below;
        words.push(command.get_name());
    }
    words.join(" ")
}

/// The commands that may follow a subcommand.
pub fn below(subcommand: &str) -> Vec<String> {
    let command = Cli::command();
    let mut words = subcommand.split_whitespace();
    let meant = words.try_fold(&command, |command, word| command.find_subcommand(word));
    let below = meant.into_iter().flat_map(clap::Command::get_subcommands);
    below.filter(|one| !one.is_hide_set()).map(|one| one.get_name().to_string()).collect()
}

/// What prints the help of a subcommand.
pub fn help_of(subcommand: &str) -> String {
    let words = ["exactop", subcommand, "--help"];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

const AFTER_HELP: &str = "\
Examples:
  exactop                       watch
  exactop -b -n 3 -o TIME+      three windows as text, longest-running first
  exactop --json --once -d 10   ten seconds as one JSON object (docs/reference/json.md)
  exactop --filter '%CPU>5' --filter user=root
  exactop doctor                what this kernel can give, and why not more

Exit status: 0 done, 1 something failed, 2 wrong use, 3 found what --check or 'fleet check' asks for,
128+N ended by signal N.";

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
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
    Prstat(Box<prstat::PrstatArgs>),
    /// The precise top: CPU time by kind with that of children, and its sum, window after window
    #[command(after_help = PTOP_NOTES)]
    Ptop(Box<PtopArgs>),
    #[cfg(feature = "bpf")]
    #[command(flatten)]
    OnDemand(on_demand::OnDemand),
    /// Run a command under scheduling conditions and say what all of its descendants used
    #[cfg(feature = "bpf")]
    #[command(after_help = run::NOTES)]
    Run(Box<run::RunArgs>),
    /// Show what control groups use, want and are kept from; set what they may use
    #[command(after_help = cgroups::NOTES)]
    Cgroups(Box<cgroups::CgroupsArgs>),
    /// Keep the books on disk: every window, checksummed, in bounded space; list and verify what is kept
    #[command(after_help = record::NOTES)]
    Record(Box<record::RecordArgs>),
    /// Keep one ledger for all who look, record it, and serve it on a socket
    #[command(after_help = daemon::NOTES)]
    Daemon(Box<daemon::DaemonArgs>),
    /// Show a recording in the live view, to and fro; or print its windows as they were
    #[command(after_help = replay::NOTES)]
    Replay(Box<replay::ReplayArgs>),
    /// Serve a page for browsers of this machine: live, or of a recording
    #[command(after_help = web::NOTES)]
    Web(Box<web::WebArgs>),
    /// Say where the difference between two stretches of recorded time went, to the nanosecond
    #[command(after_help = diff::NOTES)]
    Diff(Box<diff::DiffArgs>),
    /// Say what happened in a stretch of recorded time, in words and figures, or drawn in one HTML file
    #[command(after_help = report::NOTES)]
    Report(Box<report::ReportArgs>),
    /// Write recorded windows as Parquet, or send them to ClickHouse
    #[command(after_help = export::NOTES)]
    Export {
        #[command(subcommand)]
        export: export::ExportArgs,
    },
    /// Say whether the books of many machines balance, and what happened in them
    #[command(after_help = fleet::NOTES)]
    Fleet {
        #[command(subcommand)]
        fleet: fleet::FleetArgs,
    },
    /// Run a workload of known behaviour to look at
    Load {
        #[command(subcommand)]
        load: load::LoadArgs,
    },
    /// Record every switch and wake-up into a file for the Perfetto viewer
    #[cfg(feature = "bpf")]
    #[command(after_help = trace::NOTES)]
    Trace(trace::TraceArgs),
    /// Scheduler experiments as measurements: predicted, measured with an interval, drawn
    #[cfg(feature = "bpf")]
    #[command(after_help = lab::NOTES)]
    Lab {
        #[command(subcommand)]
        lab: lab::LabArgs,
    },
    /// Print the manual page, or a command's own
    Man {
        /// A command, as run or lab-run
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
        /// The names of all pages
        #[arg(long, conflicts_with = "of")]
        list: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        #[arg(value_parser = parse::one_of(SHELLS))]
        shell: Shell,
    },
}

const PTOP_NOTES: &str = "\
user, sys and ste (steal) are the process's own, cuser, csys and cste those of its children. In the
ledger and in taskstats these are descendants that exited in the window, with what they took in it,
waited for or not; in snapshot and procfs they are the kernel's count of children that were waited
for in the window, with all their lives. V:V:S is the sum: in the ledger, on a busy machine, the
CPUs times 100 %; a + behind a figure says that it is not known of all that the total counts. Names
in brackets are not processes: what exited and has no ancestor that lives, time without a name,
interrupts. exactop --preset ptop shows the same columns live.

On a terminal each window is drawn over the one before, with as many rows as fit, until q; the last
of a number of windows stays. With -b, --json or --csv, and into a pipe, they are printed.";

/// Shells with completions.
const SHELLS: &[Word<Shell>] =
    &[("bash", Shell::Bash, ""), ("zsh", Shell::Zsh, ""), ("fish", Shell::Fish, "")];
