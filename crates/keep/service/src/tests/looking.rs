//! On-demand programs: how many are attached, for which readers, and what each reader gets.

use super::{now_ns, Daemon};
use crate::ask::{Answer, Look};
use crate::server::Attach;
use crate::{Looker, ServiceError};
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::syscalls::{SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::{Programs, Subject, SubjectWindow, SyscallNr};
use exactop_model::{Comm, TaskRef};
use exactop_recording::stream::{Incoming, StreamItem};
use exactop_testkit::wait;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Programs that count one call of each of two threads every nanosecond.
struct Counting {
    t0_ns: u64,
    what: Subject,
    attached: Arc<AtomicUsize>,
}

impl Programs for Counting {
    fn began_ns(&self) -> u64 {
        self.t0_ns
    }

    fn window(&mut self) -> Result<SubjectWindow, String> {
        let (t0_ns, t1_ns) = (self.t0_ns, now_ns());
        self.t0_ns = t1_ns;
        let row = |tgid, nr| SyscallRow {
            calls: t1_ns - t0_ns,
            ..SyscallRow::new(
                Some(TaskRef::thread(tgid, tgid, Comm::new(b"x"), Comm::new(b"x"))),
                SyscallNr(nr),
            )
        };
        let losses = Losses::default();
        Ok(match self.what {
            Subject::Syscalls => SubjectWindow::Syscalls(SyscallWindow {
                t0_ns,
                t1_ns,
                by: SyscallsBy::Thread,
                rows: vec![row(1, 0), row(std::process::id(), 1)],
                failures: Vec::new(),
                dispatches: Vec::new(),
                losses,
            }),
            _ => SubjectWindow::Waits(WaitWindow { t0_ns, t1_ns, rows: Vec::new(), losses }),
        })
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.attached.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A daemon with these programs; how many are attached now, and how many ever were.
fn daemon() -> (Daemon, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let attached: Arc<AtomicUsize> = Arc::default();
    let ever: Arc<AtomicUsize> = Arc::default();
    let (now, all) = (attached.clone(), ever.clone());
    let attach = Attach::by(move |what| {
        if what == Subject::Wakeups {
            return Err("the kernel refuses them".into());
        }
        now.fetch_add(1, Ordering::SeqCst);
        all.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Counting { t0_ns: now_ns(), what, attached: now.clone() }))
    });
    (Daemon::with(Some(attach)), attached, ever)
}

fn look(path: &Path, ask: Look) -> Result<Looker, ServiceError> {
    Looker::connect(path, "x", ask)
}

fn every(ms: u64, what: Subject) -> Look {
    Look { interval_ns: Some(ms * 1_000_000), ..Look::at(what) }
}

/// Windows and the calls counted in each.
fn windows(looker: &mut Looker, ms: u64, times: usize) -> Vec<(u64, u64, u64)> {
    let window = |_| {
        // The interval of this reader.
        std::thread::sleep(Duration::from_millis(ms));
        let looked = looker.window().unwrap();
        let SubjectWindow::Syscalls(window) = looked else { panic!("calls") };
        (window.t0_ns, window.t1_ns, window.rows.iter().map(|row| row.calls).sum())
    };
    (0..times).map(window).collect()
}

#[test]
fn programs_are_attached_once_for_all_readers_and_detached_after_the_last() {
    let (daemon, attached, ever) = daemon();
    assert_eq!(attached.load(Ordering::SeqCst), 0);
    std::thread::scope(|scope| {
        for ms in [100, 150, 400, 400] {
            let (path, attached) = (&daemon.path, &attached);
            scope.spawn(move || {
                let ask = Look { by: SyscallsBy::Call, ..every(ms, Subject::Syscalls) };
                let mut looker = look(path, ask).unwrap();
                let windows = windows(&mut looker, ms, 2 + 1200 / ms as usize);
                assert_eq!(attached.load(Ordering::SeqCst), 1);
                // Each reader has all counts, whichever other readers ended windows in between.
                assert!(
                    windows.iter().all(|(t0, t1, calls)| *calls == 2 * (t1 - t0)),
                    "{windows:?}"
                );
                assert!(windows.windows(2).all(|pair| pair[0].1 == pair[1].0), "{windows:?}");
            });
        }
    });
    wait::until("nothing is attached", || attached.load(Ordering::SeqCst) == 0);
    let all = ever.load(Ordering::SeqCst);
    assert!(all >= 1, "{all}");
    let mut again = look(&daemon.path, every(100, Subject::Syscalls)).unwrap();
    assert_eq!(windows(&mut again, 100, 2).len(), 2);
    assert_eq!(daemon.said(), []);
}

/// Programs that are slow to attach and to detach; counts the windows that ended.
struct Slow {
    t0_ns: u64,
    attached: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Programs for Slow {
    fn began_ns(&self) -> u64 {
        self.t0_ns
    }

    fn window(&mut self) -> Result<SubjectWindow, String> {
        self.ended.fetch_add(1, Ordering::SeqCst);
        let (t0_ns, t1_ns) = (self.t0_ns, now_ns());
        self.t0_ns = t1_ns;
        let (rows, losses) = (Vec::new(), Losses::default());
        Ok(SubjectWindow::Waits(WaitWindow { t0_ns, t1_ns, rows, losses }))
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(2_500));
        self.attached.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn fast_reconnects_leave_one_set_of_programs_which_is_read_each_second() {
    let (attached, ended): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
    let most: Arc<AtomicUsize> = Arc::default();
    let (now, all, greatest) = (attached.clone(), ended.clone(), most.clone());
    let attach = Attach::by(move |_| {
        greatest.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Ok(Box::new(Slow { t0_ns: now_ns(), attached: now.clone(), ended: all.clone() }))
    });
    let daemon = Daemon::with(Some(attach));
    for _ in 0..3 {
        drop(look(&daemon.path, every(100, Subject::Waits)).unwrap());
    }
    // The reader's windows take ten minutes; those of the programs do not.
    let mut last = look(&daemon.path, every(600_000, Subject::Waits)).unwrap();
    let before = ended.load(Ordering::SeqCst);
    wait::until("two windows more", || ended.load(Ordering::SeqCst) > before + 2);
    assert_eq!(most.load(Ordering::SeqCst), 1);
    let SubjectWindow::Waits(window) = last.window().unwrap() else { panic!("waits") };
    assert!(window.t1_ns - window.t0_ns > 1_000_000_000, "{window:?}");
    drop(last);
    wait::until("nothing is attached", || attached.load(Ordering::SeqCst) == 0);
}

/// The next answer on a connection.
fn answer(stream: &mut UnixStream, incoming: &mut Incoming) -> Answer {
    let mut bytes = [0; 4096];
    loop {
        if let Some(StreamItem::Answer(json)) = incoming.next_item().unwrap() {
            return serde_json::from_slice(&json).unwrap();
        }
        let n = stream.read(&mut bytes).unwrap();
        assert_ne!(n, 0, "the connection ended");
        incoming.push(&bytes[..n]);
    }
}

#[test]
fn the_first_window_begins_when_the_programs_did() {
    // Time passes between the first count and the report of the thread.
    let attach = Attach::by(|what| {
        let attached = Arc::new(AtomicUsize::new(1));
        let counting = Counting { t0_ns: now_ns(), what, attached };
        std::thread::sleep(Duration::from_millis(20));
        Ok(Box::new(counting))
    });
    let daemon = Daemon::with(Some(attach));
    let mut stream = UnixStream::connect(&daemon.path).unwrap();
    let look = "{\"look\":{\"what\":\"syscalls\",\"interval_ns\":100000000}}\n";
    let hello = "{\"hello\":{\"exactop\":\"x\",\"format\":1}}\n";
    stream.write_all([hello, look].concat().as_bytes()).unwrap();
    let mut incoming = Incoming::new();
    let Answer::Begun(begun_ns) = answer(&mut stream, &mut incoming) else { panic!("a window") };
    stream.write_all(look.as_bytes()).unwrap();
    let Answer::Looked(first) = answer(&mut stream, &mut incoming) else { panic!("it began") };
    assert_eq!(first.span_ns().0, begun_ns);
}

#[test]
fn each_reader_gets_its_choice() {
    let (daemon, _, _) = daemon();
    let ask = Look { pids: vec![1], ..every(100, Subject::Syscalls) };
    let mut one = look(&daemon.path, ask).unwrap();
    let ask = Look { calls: vec![SyscallNr(7)], ..every(100, Subject::Syscalls) };
    let mut none = look(&daemon.path, ask).unwrap();
    assert!(windows(&mut one, 100, 2).iter().all(|(t0, t1, calls)| *calls == t1 - t0));
    assert!(windows(&mut none, 100, 2).iter().all(|(_, _, calls)| *calls == 0));
    let mut waits = look(&daemon.path, every(100, Subject::Waits)).unwrap();
    assert!(matches!(waits.window().unwrap(), SubjectWindow::Waits(_)));
}

#[test]
fn refusals_give_the_reason() {
    let (daemon, _, _) = daemon();
    let refused = |ask| look(&daemon.path, ask).unwrap_err().to_string();
    let error = refused(every(100, Subject::Wakeups));
    assert!(error.contains("the kernel refuses them"), "{error}");
    let many = Look { pids: (0..5000).collect(), ..every(100, Subject::Syscalls) };
    let error = look(&daemon.path, many).unwrap_err();
    assert!(matches!(error, ServiceError::TooLong { .. }), "{error}");
    let looking: Vec<_> =
        (0..16).map(|_| look(&daemon.path, every(1000, Subject::Syscalls)).unwrap()).collect();
    let error = refused(every(100, Subject::Waits));
    assert!(error.contains("16 on-demand connections exist already"), "{error}");
    drop(looking);
    let nothing = Daemon::start();
    let error = look(&nothing.path, every(100, Subject::Waits)).unwrap_err().to_string();
    assert!(error.contains("attaches no programs"), "{error}");
}

#[test]
fn an_older_daemon_is_distinguished_from_one_that_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let older = std::thread::spawn(move || {
        let (mut stream, _): (UnixStream, _) = listener.accept().unwrap();
        // The reply of the version before.
        let said =
            "'{\"look\":{\"what\":\"waits\"}}' is not a valid request: unknown variant `look`, expected \
                    `hello` or `window` at line 1 column 7";
        stream.write_all(&exactop_recording::stream::word(said).unwrap()).unwrap();
    });
    let error = look(&path, every(100, Subject::Waits)).unwrap_err();
    older.join().unwrap();
    assert!(matches!(error, ServiceError::Older { .. }), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
}
