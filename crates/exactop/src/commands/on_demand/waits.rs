//! `exactop waits`: shows where threads sleep, how long they queue for a CPU and behind which
//! tasks, and which tasks wake them, live or from a recording; or how long an owner's tasks queue
//! (`wait_sizes`).

use super::super::played;
use super::by_thread::{RowUnit, BY};
use super::shared::Show;
use super::wait_sizes;
use super::windows::{Ended, WindowArgs};
use crate::failure::{complain, Failure};
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use exactop_model::blame::rows::KEYS;
use exactop_model::on_demand::{Subject, SubjectWindow};
use exactop_model::owner::Grouping;
use exactop_model::text::escape::harmless;

/// Show where threads sleep, how long they queue, which tasks run instead and which wake them
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    #[command(flatten)]
    look: WindowArgs,
    /// Sum the waits by this; by a group, user or command: a histogram of waits for a CPU
    #[arg(long, value_parser = by(), default_value = "process")]
    by: Sum,
    #[command(flatten)]
    of: OfRecording,
    #[command(flatten)]
    pace: PaceArgs,
}

/// What waits are summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    /// Sleeps and waits for a CPU of processes or threads.
    Tasks(RowUnit),
    /// Histograms of waits for a CPU.
    Owners(Grouping),
}

fn by() -> impl TypedValueParser<Value = Sum> {
    let units = BY.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
    let owners = KEYS.iter().map(|by| PossibleValue::new(by.name()).help(by.help()));
    PossibleValuesParser::new(units.chain(owners)).try_map(|typed: String| {
        match BY.iter().find(|(word, ..)| *word == typed) {
            Some(&(_, unit, _)) => Ok(Sum::Tasks(unit)),
            None => Grouping::parse(&typed, &KEYS).map(Sum::Owners),
        }
    })
}

/// The meaning of the lines, for `--help`.
const NOTES: &str = "\
SLP, LCK, BLK: sleep by system call, in per cent of the time of all threads of the process.
THR: time after the group's quota ran out, until the thread ran again. Run queue:
waits for a CPU after a wake-up and after a preemption, with the 99th percentile (from a log-linear
histogram: at most 25 % too high) and the longest. Ran instead: the tasks that had that CPU
meanwhile, within its last 32 switches. Woken by: the tasks that woke the thread, and how often.
By a group, user or command: a bar for each size of waits for a CPU, and percentiles, at most twice too
high and never above MAX. BEGAN: with a wake-up, or by losing the CPU (also if throttled). LAT is the
sum; a residual of 0 says that the waits in the bars and those not over yet are all waits.
With --replay, processes and threads need a page that was open in a live view with --record (other
windows are skipped). Groups, users and commands need --blame histograms then.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &Args) -> Result<(), Failure> {
    let unit = match typed.by {
        Sum::Tasks(unit) => unit,
        Sum::Owners(by) => return wait_sizes::run(&typed.look, &typed.of, &typed.pace, by),
    };
    let words = typed.pace.resolve()?;
    let show = Show::new(Subject::Waits, &typed.look, words)?;
    let show = Show { threads: unit == RowUnit::Thread, ..show };
    let Some(path) = &typed.of.replay else { return show.run() };
    typed.look.not_of_a_recording(words)?;
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
    let why = "the recording has no waits, which exactop records while the page of a process is open: record with \
               'exactop --record DIR' and open one";
    Failure::failed(why)
}

type Recorded = Result<Option<Ended<SubjectWindow>>, Failure>;

/// The next recorded window in which the page of one of these processes, or of any, was open;
/// `None`: no more.
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
