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
#[command(mut_arg("pid", |pid| pid.help("Show only the victims that contain these processes, separated by commas")))]
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
    /// Sum waits shorter than this as `brief`, in microseconds [default: 5]; attaches own BPF
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
LAT: run-queue latency plus throttled time, summed over tasks.
KEPT OFF BY: the groups that had the CPU meanwhile, with their shares. That may also be the group
itself, kernel threads, interrupts (while they are measured), steal, idle (the CPU was waking up),
throttled (its own quota), brief (waits below --floor), older (longer ago than the CPU remembers)
and ~other (no room in a table). Waits equal their culprits and the change of open waits; a
difference is the residual.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// A book of the windows of a source, in one of its forms.
pub struct BookOf<W> {
    /// What the ledger keeps for it, if the command measures.
    pub split: SplitOptions,
    /// The form of a window; `None`: the source does not keep it.
    pub form: Box<Form<W>>,
    /// The error of a daemon that does not keep it.
    pub no_daemon: &'static str,
    /// The error of a recording without it.
    pub no_recording: &'static str,
}

/// Makes the form of a window, with a book of names and the names of users.
pub type Form<W> = dyn Fn(&Window, &Book, &mut dyn FnMut(u32) -> Option<String>) -> Option<W>;

/// The error of a source that closed no window.
const NO_WINDOW: &str = "cannot close a window: run 'exactop doctor' for the reason";

impl<W> BookOf<W> {
    /// A session on a source that keeps the book.
    fn session(&self, whose: FigureSource, socket: Option<&Path>) -> Result<Session, Failure> {
        let (socket, split) = (socket.map(Path::to_path_buf), self.split);
        let options = SourceOptions { whose, socket, split, root: None, record: None, names: true };
        let (mut session, _) = source::session(&options)?;
        session.advance(&request(None)).map_err(Failure::failed)?;
        Ok(session)
    }

    /// A session with programs of our own.
    ///
    /// # Errors
    /// The ledger cannot be opened.
    pub fn own(&self) -> Result<Opened<Session>, Failure> {
        self.session(FigureSource::Own(Choice::Ledger), None).map(Opened::own)
    }

    /// A daemon's session, if the daemon keeps the book.
    ///
    /// # Errors
    /// No daemon listens there, or it keeps no such book.
    pub fn on_socket(&self, socket: &Path) -> Result<Opened<Session>, Failure> {
        let mut session = self.session(FigureSource::Daemon, Some(socket))?;
        let request = Request { at_once: true, ..request(None) };
        while !session.advance(&request).map_err(Failure::failed)? {}
        self.form_of(&session).map_err(Failure::failed)?;
        Ok(Opened::on_socket(session))
    }

    /// The form of a session's last window.
    fn form_of(&self, session: &Session) -> Result<W, &'static str> {
        let window = session.window().ok_or(NO_WINDOW)?;
        (self.form)(window, session.book(), &mut user).ok_or(self.no_daemon)
    }

    /// The book of the next window.
    ///
    /// # Errors
    /// The source ended, or it keeps no such book.
    pub fn next(&self, session: &mut Session, interval_ns: u64) -> Result<W, String> {
        let request = request(Some(interval_ns));
        while !session.advance(&request).map_err(|error| error.to_string())? {}
        self.form_of(session).map_err(str::to_string)
    }

    /// The book of the next recorded window; `None`: the recording has no more windows.
    ///
    /// # Errors
    /// A file cannot be read, or the recording has no such book.
    pub fn recorded(&self, windows: &mut Windows) -> Result<Option<Ended<W>>, Failure> {
        while windows.next()? {
            let replay = &windows.replay;
            let Some(window) = replay.window() else { continue };
            let form = (self.form)(window, replay.book(), &mut |uid| replay.user(uid));
            let form = form.ok_or_else(|| Failure::failed(self.no_recording))?;
            return Ok(Some(Ended::recorded(form, replay.ends_wall_ns())));
        }
        Ok(None)
    }
}

/// What a session needs for the names of owners.
fn request(interval_ns: Option<u64>) -> Request {
    Request { needs: Needs::NAMES, watch: None, interval_ns, at_once: false }
}

/// A user's name, escaped.
fn user(uid: u32) -> Option<String> {
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
    /// The book with its pairs.
    fn book(&self) -> BookOf<Blamed> {
        let (by, pids, groups) = (self.by, self.look.pid.clone(), self.group.clone());
        let floor_ns = self.floor.map_or(BLAME_FLOOR_NS, |us| u64::from(us) * 1000);
        BookOf {
            split: SplitOptions { blame_floor_ns: Some(floor_ns), ..SplitOptions::default() },
            form: Box::new(move |window, book, user| {
                let time = (window.t0_ns, window.t1_ns);
                let blamed = Blamed::new(window.blame.as_ref()?, time, by, book, user);
                Some(blamed.retain_victims(shown(by, &pids, &groups, book, user)))
            }),
            no_daemon: "the source keeps no blame book: set 'enabled = true' in [blame] of the \
                        daemon's settings, or add --source own",
            no_recording: "the recording has no blame book: record with the ledger, without \
                           --blame off",
        }
    }
}

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &BlameArgs) -> Result<(), Failure> {
    let words = typed.pace.resolve()?;
    let pace = typed.look.pace(words)?;
    let forms = Forms {
        text: if typed.matrix { &blame::matrix } else { &blame::text },
        json: &blame::json,
        csv_header: &blame::csv_header,
        csv: &blame::csv,
    };
    let book = typed.book();
    if let Some(path) = &typed.of.replay {
        typed.look.not_of_a_recording(words)?;
        let windows = Windows::open(path, typed.of.time.as_deref())?;
        return typed.look.print(pace.windows, windows, |windows| book.recorded(windows), &forms);
    }
    if typed.floor.is_some() {
        typed.look.looking.are_own("a daemon has its own floor: leave --floor out")?;
    }
    are_there(None, &typed.look.pid)?;
    let open = || match typed.floor {
        Some(_) => book.own(),
        None => typed.look.looking.places()?.open(|socket| book.on_socket(socket), || book.own()),
    };
    let interval_ns = pace.interval_ns();
    typed.look.show(pace, open, |session| book.next(session, interval_ns), &forms)
}
