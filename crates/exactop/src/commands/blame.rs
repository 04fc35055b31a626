//! `exactop blame`: shows which groups had the CPU while others waited.

use super::on_demand::windows::{Forms, Opened, WindowArgs};
use crate::failure::Failure;
use crate::options::pace::PaceArgs;
use crate::options::parse;
use crate::options::resolved::are_there;
use clap::Args;
use exactop_model::blame::rows::{Blamed, KEYS};
use exactop_model::owner::{Grouping, Owner};
use exactop_model::text::escape::escape;
use exactop_model::Needs;
use exactop_sources::ledger::{BlameOptions, Ledger, Options};
use exactop_sources::session::Session;
use exactop_sources::{passwd, Request};
use exactop_views::blame;
use std::path::Path;

/// Options of `exactop blame`.
#[derive(Debug, Args)]
#[command(
    mut_arg("source", |option| option.hide(true)),
    mut_arg("socket", |option| option.hide(true))
)]
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
    /// Name no culprit of waits shorter than this, in microseconds
    #[arg(long, value_name = "US", value_parser = parse::number::<u32>, default_value = "5")]
    floor: u32,
    #[command(flatten)]
    pace: PaceArgs,
}

/// The meaning of the columns, for `--help`.
pub const NOTES: &str = "\
LAT: time in which tasks could run and had no CPU, throttled time included, summed over tasks. KEPT OFF
BY: the groups that had the CPU meanwhile, with their shares. That may also be the group itself,
kernel threads, interrupts (while they are measured), steal, idle (the CPU was waking up), throttled (its own
quota), brief (waits below --floor), older (longer ago than the CPU remembers) and ~other (no room in a
table). Waits equal their culprits and the change of open waits; a difference is the residual.

On a terminal each window is drawn over the previous one until q; with -n the last window stays.";

/// A ledger that keeps the blame book.
struct Books {
    session: Session,
    by: Grouping,
    pids: Vec<u32>,
    groups: Vec<String>,
}

impl Books {
    fn open(typed: &BlameArgs) -> Result<Books, Failure> {
        let floor_ns = u64::from(typed.floor) * 1000;
        let blame = Some(BlameOptions { floor_ns, ..BlameOptions::default() });
        let options = Options { calibrate: false, blame, ..Options::default() };
        let ledger = Box::new(Ledger::open(&options).map_err(Failure::failed)?);
        let mut session = Session::new(ledger, Path::new("/proc")).map_err(Failure::failed)?;
        session.name_groups();
        session.advance(&request()).map_err(Failure::failed)?;
        let (pids, groups) = (typed.look.pid.clone(), typed.group.clone());
        Ok(Books { session, by: typed.by, pids, groups })
    }

    /// Ends the window and begins the next.
    fn window(&mut self) -> Result<Blamed, String> {
        self.session.advance(&request()).map_err(|error| error.to_string())?;
        let (book, window) = (self.session.book(), self.session.window());
        let booked = window.and_then(|w| Some(([w.t0_ns, w.t1_ns], w.blame.as_ref()?)));
        let Some(([t0_ns, t1_ns], booked)) = booked else {
            return Err("cannot read the blame book of this window: run 'exactop doctor'".into());
        };
        let blamed = Blamed::new(booked, (t0_ns, t1_ns), self.by, book, &mut user);
        if self.pids.is_empty() && self.groups.is_empty() {
            return Ok(blamed);
        }
        let of_pid = |pid: &u32| {
            let leader = book.task(book.process(*pid)?.head()?)?;
            Some(match Owner::of_task(self.by, leader, book) {
                Owner::User(Some(uid)) => user(uid).unwrap_or_else(|| uid.to_string()),
                owner => owner.name(self.by, book).0,
            })
        };
        let named = self.groups.iter().map(|name| escape(name.as_bytes()));
        let shown: Vec<String> = self.pids.iter().filter_map(of_pid).chain(named).collect();
        Ok(blamed.of(|victim| shown.iter().any(|name| name == victim)))
    }
}

fn request() -> Request {
    Request { needs: Needs::NAMES, watch: None, interval_ns: None, at_once: false }
}

/// A user's name, escaped.
fn user(uid: u32) -> Option<String> {
    passwd::entry(uid).map(|entry| escape(&entry.name))
}

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &BlameArgs) -> Result<(), Failure> {
    let pace = typed.look.pace(typed.pace.resolve()?)?;
    typed
        .look
        .looking
        .are_own("the daemon keeps no blame book: leave --source and --socket out")?;
    are_there(None, &typed.look.pid)?;
    let forms = Forms {
        text: if typed.matrix { &blame::matrix } else { &blame::text },
        json: &blame::json,
        csv_header: &blame::csv_header,
        csv: &blame::csv,
    };
    typed.look.show(pace, || Books::open(typed).map(Opened::own), Books::window, &forms)
}
