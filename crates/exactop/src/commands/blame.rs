//! `exactop blame`: shows which groups had the CPU while others waited.

use super::on_demand::windows::{Ended, Forms, Opened, WindowArgs};
use super::played::Windows;
use crate::failure::Failure;
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use crate::options::resolved::{are_there, SourceOptions};
use crate::options::typed::FigureSource;
use crate::source;
use clap::Args;
use exactop_model::blame::rows::{Blamed, KEYS};
use exactop_model::ledger::window::Window;
use exactop_model::owner::{Grouping, Owner};
use exactop_model::text::escape::escape;
use exactop_model::{Book, Needs};
use exactop_sources::session::{Choice, Session};
use exactop_sources::{passwd, Request, SplitOptions, BLAME_FLOOR_NS};
use exactop_views::blame;
use std::path::Path;

/// Options of `exactop blame`.
#[derive(Debug, Args)]
pub struct BlameArgs {
    #[command(flatten)]
    look: WindowArgs,
    /// Sum victims and culprits by this
    #[arg(long, value_parser = parse::by(&KEYS), default_value = "cgroup")]
    by: Grouping,
    /// Show only these victims, by name
    #[arg(short, long, value_name = "GROUP")]
    group: Vec<String>,
    /// Print victims and culprits as a matrix, in per cent of each victim's wait
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    matrix: bool,
    /// Name no culprit of waits shorter than this, in microseconds [default: 5]; measures with own
    /// programs
    #[arg(long, value_name = "US", value_parser = parse::number::<u32>, conflicts_with = "replay")]
    floor: Option<u32>,
    #[command(flatten)]
    of: OfRecording,
    #[command(flatten)]
    pace: PaceArgs,
}

/// The meaning of the columns, for `--help`.
pub const NOTES: &str = "\
LAT: time in which tasks could run and had no CPU, throttled time included, summed over tasks.
KEPT OFF BY: the groups that had the CPU meanwhile, with their shares. That may also be the group
itself, kernel threads, interrupts (while they are measured), steal, idle (the CPU was waking up),
throttled (its own quota), brief (waits below --floor), older (longer ago than the CPU remembers)
and ~other (no room in a table). Waits equal their culprits and the change of open waits; a
difference is the residual.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// A session on a source that keeps the blame book.
fn session(whose: FigureSource, socket: Option<&Path>, floor: u32) -> Result<Session, Failure> {
    let split =
        SplitOptions { blame_floor_ns: Some(u64::from(floor) * 1000), ..SplitOptions::default() };
    let socket = socket.map(Path::to_path_buf);
    let options = SourceOptions { whose, socket, split, root: None, record: None, names: true };
    let (mut session, _) = source::session(&options)?;
    session.advance(&request(None)).map_err(Failure::failed)?;
    Ok(session)
}

/// The error of a source that closed no window.
pub const NO_WINDOW: &str = "cannot close a window: run 'exactop doctor' for the reason";

/// The error of a daemon without the book.
const NO_BOOK: &str = "the source keeps no blame book: set 'enabled = true' in [blame] of the \
                       daemon's settings, or add --source own";

/// A daemon's session, if the daemon keeps the book.
fn on_socket(socket: &Path, floor: u32) -> Result<Session, Failure> {
    let mut session = session(FigureSource::Daemon, Some(socket), floor)?;
    let request = Request { at_once: true, ..request(None) };
    while !session.advance(&request).map_err(Failure::failed)? {}
    match session.window().is_some_and(|window| window.blame.is_some()) {
        true => Ok(session),
        false => Err(Failure::failed(NO_BOOK)),
    }
}

/// What a session needs for the names of owners.
pub fn request(interval_ns: Option<u64>) -> Request {
    Request { needs: Needs::NAMES, watch: None, interval_ns, at_once: false }
}

/// A user's name, escaped.
pub fn user(uid: u32) -> Option<String> {
    passwd::entry(uid).map(|entry| escape(&entry.name))
}

/// True for the names of these processes' owners and of these groups; without any, for all names.
pub fn shown(
    by: Grouping,
    pids: &[u32],
    groups: &[String],
    book: &Book,
    user: &mut dyn FnMut(u32) -> Option<String>,
) -> impl Fn(&str) -> bool {
    let of_pid = |pid: &u32| {
        let leader = book.task(book.process(*pid)?.head()?)?;
        Some(match Owner::of_task(by, leader, book) {
            Owner::User(Some(uid)) => user(uid).unwrap_or_else(|| uid.to_string()),
            owner => owner.name(by, book).0,
        })
    };
    let named = groups.iter().map(|name| escape(name.as_bytes()));
    let shown: Vec<String> = pids.iter().filter_map(of_pid).chain(named).collect();
    let all = pids.is_empty() && groups.is_empty();
    move |name| all || shown.iter().any(|shown| shown == name)
}

impl BlameArgs {
    /// The book of a window; `None`: its source keeps none.
    fn blamed(
        &self,
        window: &Window,
        book: &Book,
        user: &mut dyn FnMut(u32) -> Option<String>,
    ) -> Option<Blamed> {
        let time = (window.t0_ns, window.t1_ns);
        let blamed = Blamed::new(window.blame.as_ref()?, time, self.by, book, user);
        Some(blamed.of(shown(self.by, &self.look.pid, &self.group, book, user)))
    }

    /// The book of the next window.
    fn next(&self, session: &mut Session, interval_ns: u64) -> Result<Blamed, String> {
        let request = request(Some(interval_ns));
        while !session.advance(&request).map_err(|error| error.to_string())? {}
        let window = session.window().ok_or(NO_WINDOW)?;
        let blamed = self.blamed(window, session.book(), &mut user);
        blamed.ok_or_else(|| NO_BOOK.into())
    }

    /// The book of the next recorded window; `None`: the recording has no more windows.
    fn recorded(&self, windows: &mut Windows) -> Result<Option<Ended<Blamed>>, Failure> {
        while windows.next()? {
            let replay = &windows.replay;
            let Some(window) = replay.window() else { continue };
            let blamed = self.blamed(window, replay.book(), &mut |uid| replay.user(uid));
            let none = || {
                Failure::failed(
                    "the recording has no blame book: record with the ledger, without --blame off",
                )
            };
            return Ok(Some(Ended::recorded(blamed.ok_or_else(none)?, replay.ends_wall_ns())));
        }
        Ok(None)
    }
}

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &BlameArgs) -> Result<(), Failure> {
    let pace = typed.look.pace(typed.pace.resolve()?)?;
    let forms = Forms {
        text: if typed.matrix { &blame::matrix } else { &blame::text },
        json: &blame::json,
        csv_header: &blame::csv_header,
        csv: &blame::csv,
    };
    if let Some(path) = &typed.of.replay {
        typed.look.looking.not_of_a_recording()?;
        let windows = Windows::open(path, typed.of.time.as_deref())?;
        return typed.look.print(pace.windows, windows, |windows| typed.recorded(windows), &forms);
    }
    if typed.floor.is_some() {
        typed.look.looking.are_own("a daemon has its own floor: leave --floor out")?;
    }
    are_there(None, &typed.look.pid)?;
    let open = || {
        let floor = typed.floor.unwrap_or((BLAME_FLOOR_NS / 1000) as u32);
        let on = |socket: &Path| on_socket(socket, floor).map(Opened::on_socket);
        let own = || session(FigureSource::Own(Choice::Ledger), None, floor).map(Opened::own);
        match typed.floor {
            Some(_) => own(),
            None => typed.look.looking.places().open(on, own),
        }
    };
    let interval_ns = pace.interval_ns();
    typed.look.show(pace, open, |session| typed.next(session, interval_ns), &forms)
}
