//! `exactop waits`: where threads sleep, how long they queue for a CPU and behind whom, who wakes
//! them; or what a recording says of it.

use super::super::played;
use super::by_thread::{By, BY};
use super::shared::Show;
use super::windows::{Ended, WindowArgs};
use crate::failure::{complain, Failure};
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use exactop_model::on_demand::{Subject, SubjectWindow};
use exactop_model::text::escape::harmless;

/// Show what threads wait for: calls slept in, the run queue and who ran instead, who woke them
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
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

/// What the lines mean, for --help.
const NOTES: &str = "\
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
pub fn run(typed: &Args) -> Result<(), Failure> {
    let show = Show::of(Subject::Waits, &typed.look, typed.pace.resolve()?)?;
    let show = Show { threads: typed.by == By::Thread, ..show };
    let Some(path) = &typed.of.replay else { return show.run() };
    typed.look.looking.not_of_a_recording()?;
    let windows = played::Windows::open(path, typed.of.time.as_deref())?;
    let mut found = false;
    let next = |of: &mut played::Windows| {
        let waits = recorded(of, &typed.look.pid)?;
        found |= waits.is_some();
        Ok(waits)
    };
    show.written(|forms| typed.look.print(show.pace.windows, windows, next, forms))?;
    if found {
        Ok(())
    } else {
        Err(nobody_looked())
    }
}

fn nobody_looked() -> Failure {
    let why = "in none of its windows was the page of such a process open, which is when waits are measured \
               (the live view with --record)";
    Failure::failed(why)
}

type Recorded = Result<Option<Ended<SubjectWindow>>, Failure>;

/// The next recorded window in which one of these processes, or any, was looked at; `None`: there are no
/// more.
fn recorded(windows: &mut played::Windows, pids: &[u32]) -> Recorded {
    while windows.next()? {
        match windows.replay.waits().filter(|(of, _)| pids.is_empty() || pids.contains(of)) {
            Some((_, Ok(waits))) => {
                let ends = windows.replay.ends_wall_ns();
                return Ok(Some(Ended::recorded(waits.clone().into(), ends)));
            }
            Some((of, Err(why))) => complain(&format!("process {of}: {}", harmless(why))),
            None => {}
        }
    }
    Ok(None)
}
