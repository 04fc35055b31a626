//! The command line: watching, or one of the subcommands.

#[cfg(feature = "bpf")]
use crate::commands::{blame, lab, on_demand, run, trace};
use crate::commands::{
    cgroups, daemon, diff, export, fleet, load, prstat, record, replay, report, web,
};
use crate::options::parse::{self, Word};
use crate::options::typed::{PtopArgs, WatchArgs};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;

/// Show where every nanosecond of CPU time goes
///
/// exactop charges every nanosecond of every CPU to an account, including the time of processes
/// that exit between two refreshes. Every window shows that the accounts sum to the CPUs' time.
///
/// Without options, exactop shows the live view. Batch mode (-b, --json, --csv, --once) prints one
/// window after the other. The first window has its full length, like all others.
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
    /// The subcommand; `None`: watch.
    #[command(subcommand)]
    pub command: Option<Subcommands>,
    /// Options of watching.
    #[command(flatten)]
    pub watch: WatchArgs,
}

/// Name of the subcommand on the command line, such as `lab run`; empty: none.
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

/// Names of the commands below a subcommand.
pub fn below(subcommand: &str) -> Vec<String> {
    let command = Cli::command();
    let mut words = subcommand.split_whitespace();
    let meant = words.try_fold(&command, |command, word| command.find_subcommand(word));
    let below = meant.into_iter().flat_map(clap::Command::get_subcommands);
    below.filter(|one| !one.is_hide_set()).map(|one| one.get_name().to_string()).collect()
}

/// The command line that prints the help of a subcommand.
pub fn help_of(subcommand: &str) -> String {
    let words = ["exactop", subcommand, "--help"];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

const AFTER_HELP: &str = "\
Exit status: 0 done, 1 something failed, 2 wrong use, 3 found what --check or 'fleet check' asks for,
128+N ended by signal N.";

/// Subcommands of exactop.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
    /// List every column: name, unit, meaning and source
    Columns {
        /// Print a JSON array of objects
        #[arg(long)]
        json: bool,
        /// Print a Markdown page
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
    },
    /// Report what this kernel offers, what is missing and what to do about it
    ///
    /// Exit with 1 if the exact ledger cannot be opened.
    Doctor {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what illumos's prstat(8) shows, with microstates (-m) of threads (-L)
    #[command(disable_help_flag = true, after_help = prstat::NOTES)]
    Prstat(Box<prstat::PrstatArgs>),
    /// Print the precise top: CPU time by kind, own and children's, and its sum
    #[command(after_help = PTOP_NOTES)]
    Ptop(Box<PtopArgs>),
    #[cfg(feature = "bpf")]
    #[command(flatten)]
    OnDemand(on_demand::OnDemand),
    /// Run a command under scheduling conditions and report what it and all its descendants used
    #[cfg(feature = "bpf")]
    #[command(after_help = run::NOTES)]
    Run(Box<run::RunArgs>),
    /// Show which groups had the CPU while others waited, to the nanosecond
    #[cfg(feature = "bpf")]
    #[command(after_help = blame::NOTES)]
    Blame(Box<blame::BlameArgs>),
    /// Show the CPU time, waits and throttling of control groups; set their limits
    #[command(after_help = cgroups::NOTES)]
    Cgroups(Box<cgroups::CgroupsArgs>),
    /// Record every window on disk, checksummed, in bounded space; list and verify recordings
    #[command(after_help = record::NOTES)]
    Record(Box<record::RecordArgs>),
    /// Run one ledger for all readers: record it and serve it on a socket
    #[command(after_help = daemon::NOTES)]
    Daemon(Box<daemon::DaemonArgs>),
    /// Show a recording in the live view, forward and backward, or print its windows
    #[command(after_help = replay::NOTES)]
    Replay(Box<replay::ReplayArgs>),
    /// Serve a page for browsers on this machine: live, or of a recording
    #[command(after_help = web::NOTES)]
    Web(Box<web::WebArgs>),
    /// Show where the difference between two recorded time ranges went, to the nanosecond
    #[command(after_help = diff::NOTES)]
    Diff(Box<diff::DiffArgs>),
    /// Report what happened in a recorded time range, in words and figures or as one HTML file
    #[command(after_help = report::NOTES)]
    Report(Box<report::ReportArgs>),
    /// Write recorded windows as Parquet, or send them to ClickHouse
    #[command(after_help = export::NOTES)]
    Export {
        #[command(subcommand)]
        export: export::ExportArgs,
    },
    /// Check the books of many machines, and report what happened in them
    #[command(after_help = fleet::NOTES)]
    Fleet {
        #[command(subcommand)]
        fleet: fleet::FleetArgs,
    },
    /// Run a workload of known behaviour
    Load {
        #[command(subcommand)]
        load: load::LoadArgs,
    },
    /// Record every switch and wake-up into a file for the Perfetto viewer
    #[cfg(feature = "bpf")]
    #[command(after_help = trace::NOTES)]
    Trace(trace::TraceArgs),
    /// Run scheduler experiments: predict, measure with an interval, draw
    #[cfg(feature = "bpf")]
    #[command(after_help = lab::NOTES)]
    Lab {
        #[command(subcommand)]
        lab: lab::LabArgs,
    },
    /// Print the manual page of exactop or of one command
    Man {
        /// The command, such as run or lab-run
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
        /// List the names of all pages
        #[arg(long, conflicts_with = "of")]
        list: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_parser = parse::one_of(SHELLS))]
        shell: Shell,
    },
}

const PTOP_NOTES: &str = "\
user, sys and ste (steal) are the process's own; cuser, csys and cste are those of its children. In the
ledger and in taskstats, children are descendants that exited in the window, waited for or not, with
what they used in it. In snapshot and procfs they are the kernel's count of children that were waited
for in the window, with their whole lives. V:V:S is the sum: in the ledger, on a busy machine, the
CPUs times 100 %. A + after a figure means that a part of its total is unknown. Names in brackets are
not processes: exited tasks without a living ancestor, unnamed time, interrupts.
exactop --preset ptop shows the same columns live.

On a terminal each window is drawn over the previous one, with as many rows as fit, until q; with -n the
last window stays. With -b, --json or --csv, and into a pipe, windows are printed.";

/// Shells with completions.
const SHELLS: &[Word<Shell>] =
    &[("bash", Shell::Bash, ""), ("zsh", Shell::Zsh, ""), ("fish", Shell::Fish, "")];
