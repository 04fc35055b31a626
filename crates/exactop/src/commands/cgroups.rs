//! `exactop cgroups`: what groups use and are kept from, and setting what they may use.

use super::on_demand::windows::{Ended, Forms, Opened, WindowArgs};
use super::played::Windows;
use crate::failure::Failure;
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use crate::output;
use crate::rights::{self, Origin, Role};
use clap::{Args, Subcommand};
use exactop_cgroups::{CgroupError, Hierarchy};
use exactop_model::cgroups::limits::{weight, Max};
use exactop_model::cgroups::Groups;
use exactop_model::text::escape::escape_str;
use exactop_service::Remote;
use exactop_sources::cgroups::GroupWindows;
use exactop_views::cgroups;
use rustix::fs::{Mode, OFlags};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// What to do with groups.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CgroupsArgs {
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

/// How to show them. `-p` is refused with the reason.
#[derive(Debug, Args)]
#[command(mut_arg("pid", |option| option.hide(true)))]
struct Show {
    #[command(flatten)]
    look: WindowArgs,
    #[command(flatten)]
    of: OfRecording,
    #[command(flatten)]
    pace: PaceArgs,
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

/// What the columns mean, for --help.
pub const NOTES: &str = "\
%CPU, %USR, %SYS: by the kernel's count of the group (cpu.stat; v1: cpuacct). LEDGER%: the same by the
ledger. SHARE: of the machine. LAT%, THR%: time its tasks waited for a CPU, or for a new quota, in per
cent of the window, over tasks. THROTTLED, PERIODS: by cpu.stat, throttled of all. MAX: CPUs the quota
allows. PSI%: time in which some task waited for a CPU (cpu.pressure). Groups include those below.
With --replay LEDGER%, SHARE, LAT% and THR% are of the recorded windows; the kernel's own files are recorded only while
somebody looks at groups in a live view with --record, else -.

On a terminal each window is drawn over the one before until q; the last of a number of them stays.";

/// Prints windows, or sets a group.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &CgroupsArgs) -> Result<(), Failure> {
    if let Some(Action::Set(set)) = &typed.action {
        return change(set);
    }
    let Show { look, pace, of } = &typed.show;
    let pace = look.pace(pace.resolve()?)?;
    if !look.pid.is_empty() {
        return Err(Failure::usage("-p: groups are of many processes; 'exactop -p' shows one"));
    }
    let forms = Forms {
        text: &cgroups::text,
        json: &cgroups::json,
        csv_header: &cgroups::csv_header,
        csv: &cgroups::csv,
    };
    if let Some(path) = &of.replay {
        look.looking.not_of_a_recording()?;
        let windows = Windows::open(path, of.time.as_deref())?;
        return look.print(pace.windows, windows, recorded, &forms);
    }
    let open = || {
        let on = |socket: &Path| {
            let ledger = Remote::connect(socket, env!("CARGO_PKG_VERSION"));
            let ledger = Box::new(ledger.map_err(Failure::failed)?);
            GroupWindows::on(ledger, pace.interval_ns())
                .map(Opened::on_socket)
                .map_err(Failure::failed)
        };
        let own = || GroupWindows::open().map(Opened::own).map_err(Failure::failed);
        look.looking.places().open(on, own)
    };
    look.show(pace, open, |groups| Ok::<_, CgroupError>(groups.window()), &forms)
}

/// The groups of the next recorded window; `None`: there are no more.
fn recorded(windows: &mut Windows) -> Result<Option<Ended<Groups>>, Failure> {
    while windows.next()? {
        if let Some(groups) = windows.replay.groups() {
            let groups = groups.map_err(Failure::failed)?;
            return Ok(Some(Ended::recorded(groups, windows.replay.ends_wall_ns())));
        }
    }
    Ok(None)
}

fn change(options: &Set) -> Result<(), Failure> {
    rights::reduce(Role::Limit, Origin::None, &[]);
    let (name, before, after) =
        set(&options.path, options.weight, options.max).map_err(Failure::failed)?;
    output::print(format!("{name}\nbefore: {before}\nafter:  {after}\n"))
}

/// Sets what a group may use: its name, and its limits before and after.
///
/// # Errors
/// When there is no such group, or the kernel refuses.
pub fn set(
    path: &Path,
    weight: Option<u64>,
    max: Option<Max>,
) -> Result<(String, String, String), CgroupError> {
    let hierarchy = Hierarchy::of_this_machine()?;
    let directory = hierarchy.directory(path)?;
    let (before, after) = change_limits(&hierarchy, &directory, weight, max)?;
    Ok((escape_str(&hierarchy.name(&directory).to_string_lossy()), before, after))
}

/// Sets what a group may use if it still is the one with this id: its limits before and after.
///
/// # Errors
/// When there is no such group, or the kernel refuses.
pub fn set_if(
    path: &Path,
    id: Option<u64>,
    weight: Option<u64>,
    max: Option<Max>,
) -> Result<Option<(String, String)>, CgroupError> {
    let hierarchy = Hierarchy::of_this_machine()?;
    let directory = match hierarchy.directory(path) {
        Err(CgroupError::NoGroup { .. }) => return Ok(None),
        directory => directory?,
    };
    // Held open, the directory cannot come to mean another group.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(held) = rustix::fs::open(&directory, flags, Mode::empty()) else { return Ok(None) };
    let held_path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    if id.is_some() && Hierarchy::id(&held_path) != id {
        return Ok(None);
    }
    let changed =
        change_limits(&hierarchy, &held_path, weight, max).map_err(|error| match error {
            CgroupError::File { what, path, error } => {
                let path =
                    path.strip_prefix(&held_path).map_or(path.clone(), |f| directory.join(f));
                CgroupError::File { what, path, error }
            }
            error => error,
        })?;
    Ok(Some(changed))
}

fn change_limits(
    hierarchy: &Hierarchy,
    directory: &Path,
    weight: Option<u64>,
    max: Option<Max>,
) -> Result<(String, String), CgroupError> {
    let limits = || {
        let weight = hierarchy.weight(directory).map_or("-".into(), |w| w.to_string());
        let max = hierarchy.max(directory).map_or("-".into(), |max| max.to_string());
        format!("weight {weight}, max {max}")
    };
    let before = limits();
    if let Some(weight) = weight {
        hierarchy.set_weight(directory, weight)?;
    }
    if let Some(max) = max {
        hierarchy.set_max(directory, max)?;
    }
    Ok((before, limits()))
}
