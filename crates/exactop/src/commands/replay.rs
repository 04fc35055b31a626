//! `exactop replay`: shows a recording in the live view, or prints its windows as they were
//! measured.

use super::page;
use super::played::{opened, too_late, Opened, Windows};
use super::watch::{check::Check, live::show};
use crate::failure::{complain, Failure};
use crate::options::of_recording::{PlaceArgs, TimeArgs};
use crate::options::resolved::{self, OutputMode, Replayed, Replaying, NO_TERMINAL};
use crate::options::typed::{PtopArgs, WatchArgs};
use crate::output::{not_written, Signals};
use crate::rights::{self, Origin, Role};
use clap::{Arg, Args};
use exactop_model::Feed;
use exactop_recording::{Playback, Recording};
use std::path::{Path, PathBuf};

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
The live view has a time line. Arrows move by one window, with Shift by ten. [ and ] jump to the next moment of
change: a gap, a boot, or a spike (use changes by half a CPU or more, and by half of the lesser side). t goes to
a time, space plays, z merges windows into sums of up to an hour. Printed windows are, byte for byte, what the same
options would have printed then, as far as the figures were measured and read. A column that was not read in a
window is '-'. Standard error reports gaps.";

/// Options of `exactop replay`.
#[derive(Debug, Args)]
#[command(mut_args(hidden_if_measuring))]
pub struct ReplayArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    part: TimeArgs,
    /// Write one self-contained page for a browser
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "batch", "json", "csv", "once", "iterations", "check", "width", "pid", "user", "filter", "by",
            "hide_idle", "threads", "command_line", "per_cpu", "sort", "columns", "preset", "list_fields", "rows"
        ]
    )]
    html: Option<PathBuf>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Options of the live view that replay refuses, because the windows are already measured.
fn hidden_if_measuring(option: Arg) -> Arg {
    const MEASURING: [&str; 8] =
        ["delay", "source", "socket", "record", "split", "irq", "budget", "blame"];
    let is_one = MEASURING.contains(&option.get_id().as_str());
    match is_one {
        true => option.hide(true),
        false => option,
    }
}

/// Shows a recording.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: ReplayArgs) -> Result<(), Failure> {
    let ReplayArgs { place, part: TimeArgs { time }, html, mut watch } = typed;
    let path = place.path()?;
    // A page needs no terminal.
    watch.print.batch |= html.is_some();
    let wanted = OutputMode::replaying(watch).or_else(|wrong| match &wrong {
        // A recording that is not there comes first.
        Failure::Usage(text) if text == NO_TERMINAL => {
            rights::reduce(Role::Text, Origin::None, &[&path]);
            Recording::open(&path).map_err(Failure::failed)?;
            Err(wrong)
        }
        _ => Err(wrong),
    })?;
    if let Some(file) = html {
        return page::write(&path, time.as_deref(), &file);
    }
    let role = match &wanted {
        Replaying::Live(..) => Role::Replay,
        Replaying::Windows(_) => Role::Text,
    };
    let Opened { recording, when } = opened(&path, time.as_deref(), role)?;
    match wanted {
        Replaying::Live(..) if when.to.is_some() => Err(Failure::usage(
            "-t FROM+LENGTH needs printed windows: add -b, --json or --csv, or leave +LENGTH out",
        )),
        Replaying::Live(begin, pids) => {
            let none = too_late(&recording);
            let playback = Playback::new(recording, when.from).map_err(Failure::failed)?;
            show(Box::new(playback.ok_or(none)?), pids, begin)
        }
        Replaying::Windows(replayed) => {
            print(Windows::from_recording(recording, when, time.as_deref())?, &replayed)
        }
    }
}

/// Prints the precise top of a recording.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn precise(typed: PtopArgs, path: &Path) -> Result<(), Failure> {
    let time = typed.of.time.clone();
    match OutputMode::replaying(resolved::precise(typed)?)? {
        Replaying::Windows(wanted) => print(Windows::open(path, time.as_deref())?, &wanted),
        Replaying::Live(..) => {
            Err(Failure::usage("cannot show ptop of a recording live: add -b, --json or --csv"))
        }
    }
}

fn print(mut of: Windows, wanted: &Replayed) -> Result<(), Failure> {
    let Replayed { plan, format, windows, check } = wanted;
    let mut check = Check::new(*check);
    let signals = Signals::new()?;
    let ask = format.ask(plan);
    let mut printed = 0;
    while windows.is_none_or(|n| printed < n) && of.next()? {
        let Some(frame) = of.replay.same_frame(&ask) else { continue };
        if printed == 0 {
            signals.write(&format.opening(plan).map_err(not_written)?)?;
        }
        let page = plan.page(frame, &mut of.replay);
        signals.write(&format.window(&page, printed == 0).map_err(not_written)?)?;
        if let Some(line) = format.beside(&page.frame) {
            complain(&line);
        }
        check.look(&page.frame);
        printed += 1;
    }
    check.verdict()
}
