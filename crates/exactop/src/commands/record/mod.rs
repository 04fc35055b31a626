//! `exactop record`: records every window on disk; lists, cuts and verifies recordings.

pub mod cutting;
pub mod listing;

use crate::failure::Failure;
use crate::machine;
use crate::options::of_recording::{directory, PlaceArgs};
use crate::options::parse::{self, Word};
use crate::options::resolved::SourceOptions;
use crate::options::time::{size, stretch};
use crate::options::typed::{FigureSource, WaitBook, BLAME, SOURCES};
use crate::output::Signals;
use crate::recorded::{Shared, KEEP, MOST};
use crate::rights::{self, ExtraAccess, Role};
use crate::source;
use clap::{Args, Subcommand};
use exactop_model::{Ask, Feed, FrameOptions, IdleRows, Needs, Row};
use exactop_recording::{Options, Sync};
use exactop_sources::session::Session;
use exactop_sources::Request;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
Without --dir the directory is /var/log/exactop, for users $XDG_STATE_HOME/exactop or ~/.local/state/exactop.
No other user may be able to write there. On a full disk exactop deletes the oldest windows and reports it. A window
that cannot be written becomes a gap; recording goes on. docs/reference/recording.md describes the files.";

/// Words of `--sync`.
pub const SYNCS: &[Word<Sync>] = &[
    ("window", Sync::Window, "After each window"),
    ("10s", Sync::Every(Duration::from_secs(10)), "Every 10 seconds"),
    ("none", Sync::Never, "When the kernel writes them back"),
];

/// Figures to measure: all that cost little while nobody watches.
pub const NEEDS: Needs = Needs::MACHINE
    .with(Needs::SPLIT)
    .with(Needs::INTERRUPTS)
    .with(Needs::SCHEDSTAT)
    .with(Needs::STATUS)
    .with(Needs::NAMES);
/// Details to read for rows that were active.
pub const DETAILS: Needs = Needs::STAT
    .with(Needs::STATM)
    .with(Needs::CMDLINE)
    .with(Needs::USER)
    .with(Needs::CGROUP)
    .with(Needs::NAMES);

/// Options of `exactop record`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RecordArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the recorded time ranges and their files
    List(PlaceArgs),
    /// Write a time range to one file that you can send
    Cut(cutting::CutArgs),
    /// Check every byte, and list gaps with their reasons. Exit with 1 if anything is damaged
    Verify(PlaceArgs),
}

#[derive(Debug, Args)]
struct How {
    /// Set the length of a window
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = parse::seconds, allow_hyphen_values = true)]
    delay: f64,
    /// Keep windows for this time
    #[arg(long, value_name = "TIME", default_value = KEEP, value_parser = stretch)]
    keep: Duration,
    /// Keep this much at most, including the file that is being written
    #[arg(long, value_name = "SIZE", default_value = MOST, value_parser = size)]
    max_size: u64,
    /// Force windows to the disk at these times
    #[arg(long, value_parser = parse::one_of(SYNCS), default_value = "window")]
    sync: Sync,
    /// Record into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Name this host [default: the kernel's name]; EXACTOP_HOST overrides it
    #[arg(long, value_name = "NAME", value_parser = machine::parse)]
    host: Option<String>,
    /// Take the figures from this source
    #[arg(long, value_parser = parse::one_of(SOURCES), default_value = "auto")]
    source: FigureSource,
    /// Use the daemon's socket at this path
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Keep the blame book: who had the CPU while others waited
    #[arg(long, value_parser = parse::one_of(BLAME), default_value = "on")]
    blame: WaitBook,
    /// Record command names, but no command lines
    #[arg(long)]
    no_command_lines: bool,
}

/// Records, or runs a subcommand on a recording.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &RecordArgs) -> Result<(), Failure> {
    match &typed.action {
        Some(Action::List(of)) => listing::list(&of.path()?),
        Some(Action::Cut(cut)) => cutting::cut(cut),
        Some(Action::Verify(of)) => listing::verify(&of.path()?),
        None => record(&typed.how),
    }
}

fn record(how: &How) -> Result<(), Failure> {
    let path = directory(how.dir.as_ref())?;
    let signals = Signals::new()?;
    let options = Options {
        keep: Some(how.keep),
        max_bytes: Some(how.max_size),
        sync: how.sync,
        command_lines: !how.no_command_lines,
        ..Options::default()
    };
    let recorder = Shared::open(&path, machine::this(how.host.as_deref())?, options)?;
    recorder.tell();
    let wanted = SourceOptions {
        whose: how.source,
        socket: how.socket.clone(),
        split: how.blame.split(),
        root: None,
        record: Some(path.clone()),
        names: true,
    };
    let (session, origin) = source::session(&wanted)?;
    rights::reduce_beside(
        Role::Record,
        origin,
        &ExtraAccess { written: &[&path], ..ExtraAccess::default() },
    );
    let mut session = session.tapped(recorder.tap());
    let ended = windows(&mut session, &recorder, &signals, Duration::from_secs_f64(how.delay));
    recorder.with(exactop_recording::Recorder::finish);
    recorder.tell();
    ended
}

/// Records windows until a signal ends it.
fn windows(
    session: &mut Session,
    recorder: &Shared,
    signals: &Signals,
    interval: Duration,
) -> Result<(), Failure> {
    // A daemon keeps measuring the requested figures until the next request is due.
    let interval_ns = u64::try_from(interval.as_nanos()).ok();
    let request = Request { needs: NEEDS, interval_ns, ..Request::default() };
    let started = Instant::now();
    let mut due = started;
    // Names of all tasks once; later only of tasks that were active.
    let mut still = IdleRows::All;
    loop {
        let advanced = session.advance(&request);
        if advanced.map_err(|error| signals.or(Failure::failed(error)))? {
            let options = FrameOptions { still: std::mem::take(&mut still), ..Default::default() };
            let ask = Ask { options, needs: NEEDS, ..Ask::default() };
            if let Some(mut frame) = session.same_frame(&ask) {
                let mut rows: Vec<&mut Row> = frame.rows.iter_mut().collect();
                session.details(&mut rows, DETAILS);
                name_users(session, frame.exited.iter().filter_map(Row::uid));
            }
            recorder.with(exactop_recording::Recorder::settle);
        } else {
            // The next window is the first of a new book, which knows no names yet.
            still = IdleRows::All;
        }
        recorder.tell();
        state(recorder, started);
        due = (due + interval).max(Instant::now());
        signals.sleep_until(due)?;
    }
}

/// Reads the names of these users of exited groups, so that the recording has them, too: its other
/// names are those of living processes.
pub fn name_users(session: &mut Session, uids: impl Iterator<Item = u32>) {
    let uids: BTreeSet<u32> = uids.collect();
    uids.into_iter().for_each(|uid| drop(session.user(uid)));
}

/// Prints one line of progress on a terminal; a service prints none.
fn state(recorder: &Shared, started: Instant) {
    let mut out = io::stdout();
    if !out.is_terminal() {
        return;
    }
    let text = recorder.with(|r| {
        let mib = r.bytes() as f64 / 1_048_576.0;
        let path = exactop_model::text::escape::escape_str(&r.path().to_string_lossy());
        format!(
            "{} windows in {} s, {mib:.1} MiB in {path}",
            r.windows(),
            started.elapsed().as_secs()
        )
    });
    // A write error is ignored: the recording does not depend on this line.
    let _ = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
}
