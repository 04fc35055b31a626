//! `exactop trace`: records every switch and wake-up for some time into a file for the Perfetto
//! viewer.

use crate::failure::Failure;
use crate::options::parse;
use crate::output::file::Sink;
use crate::output::{self, Signals};
use crate::rights::{self, Origin, Role};
use clap::Args;
use exactop_model::{Needs, TaskSample};
use exactop_sources::on_demand::switchlog::{SwitchLog, AT_ONCE};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, SourceError, SplitOptions};
use exactop_views::perfetto::{Clocks, Host, InitialThread, Recording};
use rustix::time::{clock_gettime, ClockId};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
The file holds every switch and every wake-up of all CPUs, with names and states. An event takes some 60 bytes
of the buffer and 40 of the file. Events that find no room in the buffer are counted, reported, and marked in the
file. Ctrl-C ends the recording early, and the file is complete.";

/// Interval between two reads of the buffer.
const BEAT: Duration = Duration::from_millis(20);

/// Options of `exactop trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Record for this time
    #[arg(short, long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse::seconds, allow_hyphen_values = true)]
    duration: f64,
    /// Write to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Set the size of the buffer between two reads, in MiB; a power of two
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = buffer)]
    buffer: u32,
}

fn buffer(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(mib @ 1..=1024) if mib.is_power_of_two() => Ok(mib),
        _ => Err("write 1, 2, 4 ... 1024".into()),
    }
}

/// Records.
///
/// # Errors
/// Programs cannot be attached, the file cannot be written, or a signal ended it.
pub fn run(typed: &TraceArgs) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let known = known().map_err(Failure::failed)?;
    let mut log = SwitchLog::open(typed.buffer << 20).map_err(Failure::failed)?;
    let mut file = Sink::open(&typed.output, &signals)?;
    rights::reduce(Role::Trace, Origin::Bpf, &[]);
    let (mut recording, bytes) = Recording::begin(&host(), clocks(), &known);
    file.write(&bytes)?;
    let end = Instant::now() + Duration::from_secs_f64(typed.duration);
    let (mut events, mut lost) = (0, 0);
    let mut ended = None;
    loop {
        let over = Instant::now() >= end || ended.is_some();
        if over {
            log.stop();
        }
        let some = log.read().map_err(Failure::failed)?;
        let missing = log.lost();
        file.write(&recording.events(&some, missing > lost))?;
        (events, lost) = (events + some.len(), missing);
        // At the end the buffer is read until it is empty.
        let more = some.len() == AT_ONCE;
        if over && !more {
            break;
        }
        let pause = if more { Duration::ZERO } else { BEAT };
        match signals.sleep_until((Instant::now() + pause).min(end)) {
            Err(Failure::Signal(signal @ (SIGINT | SIGTERM))) => ended = Some(signal),
            other => other?,
        }
    }
    output::print(summary(typed, events, lost))
}

fn summary(typed: &TraceArgs, events: usize, lost: u64) -> String {
    let lost = match lost {
        0 => "none lost".into(),
        lost => format!("{lost} LOST for want of room (a larger --buffer helps)"),
    };
    format!("{events} events, {lost}, into {}\n", typed.output.display())
}

fn host() -> Host {
    let name = rustix::system::uname();
    Host {
        release: name.release().to_string_lossy().into_owned(),
        version: name.version().to_string_lossy().into_owned(),
        machine: name.machine().to_string_lossy().into_owned(),
    }
}

fn clocks() -> Clocks {
    let ns = |id| {
        let time = clock_gettime(id);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    Clocks {
        boottime_ns: ns(ClockId::Boottime),
        monotonic_ns: ns(ClockId::Monotonic),
        realtime_ns: ns(ClockId::Realtime),
    }
}

/// Threads that exist now, from procfs.
fn known() -> Result<Vec<InitialThread>, SourceError> {
    let mut source = session::source(Choice::Procfs, SplitOptions::default())?;
    let snapshot = source.snapshot(&Request { needs: Needs::THREADS, ..Request::default() })?;
    let of = |task: &TaskSample| {
        let (key, ident) = (&task.key, &task.ident);
        InitialThread { tid: key.tid, tgid: key.tgid, ppid: ident.ppid, comm: ident.comm }
    };
    Ok(snapshot.tasks.iter().map(of).collect())
}
