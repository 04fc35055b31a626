//! `exactop cgroups`: what groups use and are kept from, and setting what they may use.

use crate::failure::Failure;
use crate::on_demand::{self, Look, Windows};
use crate::output;
use clap::{Args, Subcommand};
use exactop_model::cgroups::Groups;
use exactop_model::text::escape_str;
use exactop_sources::cgroupfs::{Hierarchy, Max, Watch, MAX_WEIGHT, MIN_WEIGHT};
use exactop_views::cgroups;
use std::path::PathBuf;

/// What to do with groups.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Command {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    show: Show,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set what a group may use; before and after are shown
    Set(Set),
}

/// How to show them.
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    look: Look,
    /// The interval in seconds [default: 1] and how many windows [default: until stopped]
    #[arg(value_name = "INTERVAL|COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
}

#[derive(Debug, Args)]
struct Set {
    /// The group: as in /proc/PID/cgroup, or its directory
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// cpu.weight, 1 to 10000; in v1 cpu.shares, 100 being 1024
    #[arg(long, value_name = "W", value_parser = weight, required_unless_present = "max")]
    weight: Option<u64>,
    /// The quota: 40%, 400000/1000000 (microseconds) or max
    #[arg(long, value_name = "QUOTA[/PERIOD]")]
    max: Option<Max>,
}

/// A weight of cpu.weight.
fn weight(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(weight) if (MIN_WEIGHT..=MAX_WEIGHT).contains(&weight) => Ok(weight),
        _ => Err(format!("write a weight of {MIN_WEIGHT} to {MAX_WEIGHT}; 100 is usual")),
    }
}

/// What the columns mean, for --help.
pub const NOTES: &str = "\
%CPU, %USR, %SYS: by the kernel's count of the group (cpu.stat; v1: cpuacct). LEDGER%: the same by the
ledger. SHARE: of the machine. LAT%, THR%: time its tasks waited for a CPU, or for a new quota, in per
cent of the window, over tasks. THROTTLED, PERIODS: by cpu.stat, throttled of all. MAX: CPUs the quota
allows. PSI%: time in which some task waited for a CPU (cpu.pressure). Groups include those below.";

/// Prints windows, or sets a group.
///
/// # Errors
/// What failed, or the signal.
pub fn run(command: &Command) -> Result<(), Failure> {
    if let Some(Action::Set(set)) = &command.action {
        return change(set);
    }
    let Show { look, words } = &command.show;
    let pace = on_demand::pace(words)?;
    if !look.pid.is_empty() {
        return Err(Failure::usage("-p: groups are of many processes; 'exactop -p' shows one"));
    }
    look.show(pace, || Watch::open().map(Source).map_err(Failure::failed)).map(|_| ())
}

fn change(set: &Set) -> Result<(), Failure> {
    let hierarchy = Hierarchy::of_this_machine().map_err(Failure::failed)?;
    let directory = hierarchy.directory(&set.path).map_err(Failure::failed)?;
    let limits = || {
        let weight = hierarchy.weight(&directory).map_or("-".into(), |w| w.to_string());
        let max = hierarchy.max(&directory).map_or("-".into(), |max| max.to_string());
        format!("weight {weight}, max {max}")
    };
    let before = limits();
    if let Some(weight) = set.weight {
        hierarchy.set_weight(&directory, weight).map_err(Failure::failed)?;
    }
    if let Some(max) = set.max {
        hierarchy.set_max(&directory, max).map_err(Failure::failed)?;
    }
    let name = escape_str(&hierarchy.name(&directory).to_string_lossy());
    output::print(format!("{name}\nbefore: {before}\nafter:  {}\n", limits()))
}

struct Source(Watch);

impl Windows for Source {
    type Window = Groups;

    fn next(&mut self) -> Result<Groups, Failure> {
        Ok(self.0.window())
    }

    fn text(&self, window: &Groups, rows: usize) -> String {
        cgroups::text(window, rows)
    }

    fn json(&self, window: &Groups) -> String {
        cgroups::json(window)
    }

    fn csv_header(&self) -> Vec<u8> {
        cgroups::csv_header()
    }

    fn csv(&self, window: &Groups) -> Vec<u8> {
        cgroups::csv(window)
    }
}
