//! `exactop cgroups`: shows what groups use and are denied, and sets their limits.

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

/// Options of `exactop cgroups`.
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
    /// Set the limits of a group; print its limits before and after
    Set(Set),
}

/// Options of showing groups. `-p` is refused with the reason.
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
    /// The group: its path as in /proc/PID/cgroup, or its directory
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Set cpu.weight, 1 to 10000; in v1 cpu.shares, where weight 100 is 1024
    #[arg(long, value_name = "W", value_parser = weight)]
    weight: Option<u64>,
    /// Set the quota: 40%, 400000/1000000 (microseconds) or max
    #[arg(long, value_name = "QUOTA[/PERIOD]")]
    max: Option<Max>,
}

/// The meaning of the columns, for `--help`.
pub const NOTES: &str = "\
%CPU, %USR, %SYS: CPU time by the kernel's count of the group (cpu.stat; v1: cpuacct). LEDGER%: the same
by the ledger. SHARE: per cent of the machine. LAT%, THR%: time in which its tasks waited for a CPU, or
for a new quota, in per cent of the window, summed over tasks. THROTTLED: the kernel's count of throttled
time, summed over CPUs. PERIODS: 19/20 means that the quota ran out in 19 of 20 periods (cpu.stat). MAX:
CPUs that the quota allows. PSI%: time in which some task waited for a CPU (cpu.pressure). A group's
figures include the groups below it.
With --replay, LEDGER%, SHARE, LAT% and THR% come from the recorded windows. The kernel's own figures are
recorded only while a live view with --record shows groups; else they are -.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// Prints windows, or sets the limits of a group.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &CgroupsArgs) -> Result<(), Failure> {
    if let Some(Action::Set(set)) = &typed.action {
        return change(set);
    }
    let Show { look, pace, of } = &typed.show;
    let words = pace.resolve()?;
    let pace = look.pace(words)?;
    if !look.pid.is_empty() {
        return Err(Failure::usage(
            "-p: a control group has many processes: run 'exactop -p PID' to see one",
        ));
    }
    let forms = Forms {
        text: &cgroups::text,
        json: &cgroups::json,
        csv_header: &cgroups::csv_header,
        csv: &cgroups::csv,
    };
    if let Some(path) = &of.replay {
        look.not_of_a_recording(words)?;
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
        look.looking.places()?.open(on, own)
    };
    look.show(pace, open, |groups| Ok::<_, CgroupError>(groups.window()), &forms)
}

/// Groups of the next recorded window; `None`: the recording has no more windows.
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
    if options.weight.is_none() && options.max.is_none() {
        return Err(Failure::usage("no limit to set: give --weight, --max or both"));
    }
    rights::reduce(Role::Limit, Origin::None, &[]);
    let (name, before, after) =
        set(&options.path, options.weight, options.max).map_err(Failure::failed)?;
    output::print(format!("{name}\nbefore: {before}\nafter:  {after}\n"))
}

/// Sets the limits of a group. Returns its name, and its limits before and after.
///
/// # Errors
/// No such group exists, or the kernel refuses.
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

/// Sets the limits of a group if it still has this id. Returns its limits before and after.
///
/// # Errors
/// No such group exists, or the kernel refuses.
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
    // While this descriptor is open, the directory cannot become another group.
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
