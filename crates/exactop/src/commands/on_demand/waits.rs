//! `exactop waits`: where threads sleep, how long they queue for a CPU and behind whom, who wakes
//! them; or what a recording says of it.

use super::super::played;
use super::shared::{look, Windows};
use super::windows::{Ended, Forms, WindowArgs};
use crate::failure::{complain, Failure};
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use crate::options::parse::{self, Word};
use crate::options::resolved::are_there;
use clap::Args;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::Looked;
use exactop_model::text::escape::harmless;
use exactop_service::ask::What;
use exactop_sources::on_demand::waits::WaitTimes;
use exactop_views::on_demand::waits;

/// What to look at.
#[derive(Debug, Args)]
pub struct WaitsArgs {
    #[command(flatten)]
    look: WindowArgs,
    /// What is summed in one row
    #[arg(long, value_parser = parse::one_of(BY), default_value = "process")]
    by: By,
    #[command(flatten)]
    of: OfRecording,
    #[command(flatten)]
    pace: PaceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Process,
    Thread,
}

const BY: &[Word<By>] =
    &[("process", By::Process, "All threads of a process"), ("thread", By::Thread, "One thread")];

/// What the lines mean, for --help.
pub const NOTES: &str = "\
SLP, LCK, BLK: asleep, by the system call slept in, in per cent of the time of all its threads; THR:
kept from a CPU because the quota of its group was used up, until it ran again. Run queue: waits for
a CPU after a wake-up and after losing one to somebody else, with the 99th percentile (of a
log-linear histogram: at most a quarter too high) and the longest. Ran instead: who had that CPU
meanwhile, as far back as its last 32 switches. Woken by: by whom, how often.
With --replay it is what the process waited for whose page was open in the live view while that was recorded
(--record); windows in which none was are passed by.

On a terminal each window is drawn over the one before until q; the last of a number of them stays.";

/// Prints windows.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &WaitsArgs) -> Result<(), Failure> {
    let (pace, pids) = (typed.look.pace(typed.pace.resolve()?)?, &typed.look.pid);
    let threads = typed.by == By::Thread;
    let forms = Forms {
        text: &|window, sheet| waits::text(window, threads, sheet),
        json: &|window| waits::json(window, threads),
        csv_header: waits::csv_header,
        csv: &|window| waits::csv(window, threads),
    };
    if let Some(path) = &typed.of.replay {
        typed.look.looking.not_of_a_recording()?;
        let windows = played::Windows::open(path, typed.of.time.as_deref())?;
        let mut found = false;
        let next = |of: &mut played::Windows| {
            let waits = recorded(of, pids)?;
            found |= waits.is_some();
            Ok(waits)
        };
        typed.look.print(pace.windows, windows, next, &forms)?;
        return if found { Ok(()) } else { Err(nobody_looked()) };
    }
    are_there(None, pids)?;
    let ask = look(What::Waits, pace, pids);
    let open = || Windows::open(typed.look.looking.places(), ask, || WaitTimes::open(pids));
    let next = |windows: &mut Windows<WaitTimes>| {
        windows.next(WaitTimes::window, |looked| match looked {
            Looked::Waits(window) => Some(window),
            _ => None,
        })
    };
    typed.look.show(pace, open, next, &forms)
}

fn nobody_looked() -> Failure {
    let why = "in none of its windows was the page of such a process open, which is when waits are measured \
               (the live view with --record)";
    Failure::failed(why)
}

type Recorded = Result<Option<Ended<WaitWindow>>, Failure>;

/// The next recorded window in which one of these processes, or any, was looked at; `None`: there are no
/// more.
fn recorded(windows: &mut played::Windows, pids: &[u32]) -> Recorded {
    while windows.next()? {
        match windows.replay.waits().filter(|(of, _)| pids.is_empty() || pids.contains(of)) {
            Some((_, Ok(waits))) => {
                let ends = windows.replay.ends_wall_ns();
                return Ok(Some(Ended::recorded(waits.clone(), ends)));
            }
            Some((of, Err(why))) => complain(&format!("process {of}: {}", harmless(why))),
            None => {}
        }
    }
    Ok(None)
}
