//! Sessions on a /proc of ordinary files.

use super::row_details::DETAILS;
use super::*;
use crate::procfs::fake::{FakeProc, FakeTask};
use crate::procfs::Procfs;
use crate::source::SplitOptions;
use exactop_model::owner::Grouping;
use exactop_model::{FrameOptions, Missing, SourceKind};
use std::cell::RefCell;
use std::rc::Rc;

fn session(proc: &FakeProc) -> Session {
    let source = Procfs::open(proc.root()).unwrap().because("a test\nneeds it");
    Session::new(Box::new(source), proc.root()).unwrap()
}

#[test]
fn the_first_call_opens_and_the_second_closes_a_window() {
    let proc = FakeProc::new();
    proc.process(FakeTask { utime: 5, ..FakeTask::new(7) });
    proc.write("uptime", "350.25 600.00\n");
    let mut session = session(&proc);
    let ask = Ask::default();
    assert_eq!(session.same_frame(&ask), None);
    assert_eq!(session.next_frame(&ask), Ok(None));
    proc.process(FakeTask { utime: 9, ..FakeTask::new(7) });
    let frame = session.next_frame(&ask).unwrap().unwrap();
    assert_eq!(frame.rows.len(), 1);
    assert_eq!(frame.system.uptime_s, Some(350.25));
    assert!(!frame.exact && frame.length_ns() > 0);
    assert_eq!(frame.provenance.source, SourceKind::Procfs);
    assert_eq!(frame.provenance.reason.as_deref(), Some("a test\\x0aneeds it"));
    assert_eq!(session.same_frame(&ask), Some(frame));
}

#[test]
fn measuring_has_its_own_cost() {
    let proc = FakeProc::new();
    let mut session = session(&proc);
    session.advance(&Request::default()).unwrap();
    session.advance(&Request::default()).unwrap();
    let cost = session.window().unwrap().cost;
    assert!(cost.user_ns > 0 && cost.bpf_ns.is_none());
}

#[test]
fn details_are_read_once_in_a_window() {
    let proc = FakeProc::new();
    proc.process(FakeTask { vsize: 4096, ..FakeTask::new(7) });
    proc.write("7/statm", "1 2 3\n");
    let mut session = session(&proc);
    let ask = Ask::default();
    let mut virt_after = |vsize: u64, next: bool, needs: Needs| {
        proc.process(FakeTask { vsize, ..FakeTask::new(7) });
        let frame = if next { session.next_frame(&ask).unwrap() } else { session.same_frame(&ask) };
        let mut row = frame?.rows.remove(0);
        session.details(&mut [&mut row], needs);
        Some((row.detail.virt, row.detail.res.is_ok()))
    };
    assert_eq!(virt_after(1, true, Needs::STAT), None);
    assert_eq!(virt_after(2, true, Needs::STATM), Some((Err(Missing::NotRead), true)));
    assert_eq!(virt_after(3, false, Needs::STAT), Some((Ok(3), true)));
    assert_eq!(virt_after(4, false, Needs::STAT), Some((Ok(3), true)));
    assert_eq!(virt_after(5, true, Needs::STAT), Some((Ok(5), false)));
}

#[test]
fn a_session_on_this_machine_finds_its_own_process() {
    let mut session = open(Choice::Procfs, SplitOptions::default()).unwrap();
    let ask = Ask { needs: Needs::SCHEDSTAT | Needs::STATUS, ..Ask::default() };
    assert_eq!(session.next_frame(&ask), Ok(None));
    let frame = session.next_frame(&ask).unwrap().unwrap();
    let mut row = frame.rows.into_iter().find(|r| r.key.tgid == std::process::id()).unwrap();
    session.details(&mut [&mut row], DETAILS.into_iter().fold(Needs::NONE, Needs::with));
    assert!(row.detail.virt.is_ok() && row.detail.res.is_ok() && row.detail.cgroup.is_ok());
    assert!(row.detail.cmdline.is_ok_and(|line| !line.is_empty()));
    assert_eq!(session.provenance().reason, None);
}

#[test]
fn auto_takes_the_best_source_or_gives_the_reason() {
    let session = open(Choice::Auto, SplitOptions::default()).unwrap();
    let provenance = session.provenance();
    assert_eq!(provenance.source == SourceKind::Procfs, provenance.reason.is_some());
    if let Err(error) = open(Choice::Ledger, SplitOptions::default()) {
        assert_eq!(provenance.reason, Some(error.to_string()));
    }
}

/// A source that begins again with the third snapshot.
struct Restarted {
    source: Procfs,
    taken: u32,
}

impl Source for Restarted {
    fn snapshot(&mut self, request: &Request) -> Result<exactop_model::Snapshot, SourceError> {
        self.taken += 1;
        self.source.snapshot(request)
    }

    fn provenance(&self) -> &Provenance {
        self.source.provenance()
    }

    fn has_begun_anew(&self) -> bool {
        self.taken == 3
    }
}

#[test]
fn no_window_spans_two_ledgers() {
    let proc = FakeProc::new();
    proc.process(FakeTask { utime: 5, ..FakeTask::new(7) });
    let source = Restarted { source: Procfs::open(proc.root()).unwrap(), taken: 0 };
    let mut session = Session::new(Box::new(source), proc.root()).unwrap();
    let ask = Ask { needs: Needs::STAT, ..Ask::default() };
    let mut is_there = || {
        let mut frame = session.next_frame(&ask).unwrap()?;
        session.details(&mut frame.rows.iter_mut().collect::<Vec<_>>(), Needs::STAT);
        Some(frame.length_ns() > 0)
    };
    assert_eq!((is_there(), is_there()), (None, Some(true)));
    assert_eq!(is_there(), None, "the third is of another ledger");
    assert_eq!(is_there(), Some(true));
}

/// Names of users that a tap got.
#[derive(Default)]
struct Users(Vec<(u32, String)>);

impl Tap for Users {
    fn snapshot(&mut self, _: &exactop_model::Snapshot, _: &Book) {}

    fn details(&mut self, _: &Row) {}

    fn user(&mut self, uid: u32, name: &str) {
        self.0.push((uid, name.into()));
    }
}

#[test]
fn the_tap_gets_the_names_of_users_that_have_no_row_of_their_own() {
    let proc = FakeProc::new();
    proc.process(FakeTask { utime: 5, ..FakeTask::new(7) });
    let users = Rc::new(RefCell::new(Users::default()));
    let mut session = session(&proc).tapped(Box::new(Rc::clone(&users)));
    let told = || std::mem::take(&mut users.borrow_mut().0);
    let options = FrameOptions { by: Some(Grouping::User), ..FrameOptions::default() };
    let ask = Ask { options, ..Ask::default() };
    session.next_frame(&ask).expect("the first snapshot");
    assert_eq!(told(), []);
    session.next_frame(&ask).expect("a window");
    assert_eq!(told(), [(0, "root".into())]);
    let frame = session.same_frame(&Ask::default()).expect("the window");
    let mut exited = frame.rows.into_iter().next().expect("a row");
    (exited.kind, exited.exited_uid) = (RowKind::Exited, Some(4_000_000_000));
    session.details(&mut [&mut exited], Needs::USER);
    session.user(0);
    assert_eq!(told(), [(4_000_000_000, "4000000000".into()), (0, "root".into())]);
}
