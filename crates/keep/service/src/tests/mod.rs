//! A server and its readers, on a made-up machine.

mod again;
mod hidden;
mod long;
mod looking;

use crate::notices::Notice;
use crate::server::{Attach, Server};
use crate::{Remote, ServiceError};
use exactop_model::{Book, Counter, Ident, Snapshot, SourceKind, TaskKey};
use exactop_recording::stream::{Incoming, StreamItem};
use exactop_recording::Machine;
use exactop_sources::{Request, Source};
use exactop_testkit::{samples, wait};
use rustix::time::{clock_gettime, ClockId};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn machine() -> Machine {
    let text = || "x".to_string();
    Machine { host: text(), boot_id: text(), kernel: text(), architecture: text(), exactop: text() }
}

/// One CPU and one task that runs all the time: this process.
fn snapshot(first: bool, began_ns: u64, at_ns: u64) -> Snapshot {
    let key = TaskKey { tgid: std::process::id(), tid: std::process::id(), start_ns: 1 };
    let mut task = samples::task(1, key, Ident::default());
    task.counters.set(Counter::RunNs, at_ns - began_ns);
    let mut cpu = samples::cpu(0);
    cpu.task_ns = at_ns - began_ns;
    Snapshot {
        complete: first,
        tasks: vec![task],
        cpus: vec![cpu],
        ..samples::snapshot(SourceKind::Ledger, at_ns)
    }
}

/// A daemon without a kernel.
struct Daemon {
    path: PathBuf,
    dir: Arc<tempfile::TempDir>,
    stop: Arc<AtomicBool>,
    /// The daemon stops while this is set.
    held: Arc<AtomicBool>,
    windows: Arc<AtomicU64>,
    notices: Arc<Mutex<Vec<Notice>>>,
    thread: Option<JoinHandle<()>>,
}

impl Daemon {
    fn start() -> Daemon {
        Daemon::with(None)
    }

    /// Starts a daemon with on-demand programs.
    fn with(attach: Option<Attach>) -> Daemon {
        Daemon::within(Arc::new(tempfile::tempdir().unwrap()), attach)
    }

    /// Starts another daemon on the same socket.
    fn again(&self) -> Daemon {
        Daemon::within(self.dir.clone(), None)
    }

    fn within(dir: Arc<tempfile::TempDir>, attach: Option<Attach>) -> Daemon {
        let path = dir.path().join("run/socket");
        let mut server = Server::listen(&path, None, machine()).unwrap();
        if let Some(attach) = attach {
            server.attach_by(attach);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (windows, notices) = (Arc::new(AtomicU64::new(0)), Arc::default());
        let told: Arc<Mutex<Vec<Notice>>> = Arc::clone(&notices);
        let held = Arc::new(AtomicBool::new(false));
        let (stopped, counted, stands) = (stop.clone(), windows.clone(), held.clone());
        let thread = std::thread::spawn(move || {
            let (nothing, _other) = UnixStream::pair().unwrap();
            let began_ns = now_ns();
            let mut book = Book::new();
            while !stopped.load(Ordering::SeqCst) {
                use std::os::fd::AsFd;
                while stands.load(Ordering::SeqCst) && !stopped.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                server.serve(Duration::from_millis(20), &[nothing.as_fd()]).unwrap();
                told.lock().unwrap().extend(server.notices());
                if server.is_due() {
                    let t0_ns = book.at_ns();
                    let now = snapshot(t0_ns.is_none(), began_ns, now_ns());
                    book.advance(now.clone());
                    counted.fetch_add(1, Ordering::SeqCst);
                    server.tell(t0_ns.unwrap_or(now.at_ns), &now, &book);
                    server.tell_followers();
                }
            }
        });
        Daemon { path, dir, stop, held, windows, notices, thread: Some(thread) }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    fn said(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

fn request(interval_ms: u64) -> Request {
    Request { interval_ns: Some(interval_ms * 1_000_000), ..Request::default() }
}

/// Reads some windows and checks that the CPU's time is the task's; returns their ends.
fn look(path: &std::path::Path, interval_ms: u64, times: usize) -> Vec<u64> {
    let mut remote = Remote::connect(path, "x").unwrap();
    assert_eq!(remote.provenance().source, SourceKind::Ledger);
    let mut book = Book::new();
    let mut ends = Vec::new();
    for _ in 0..=times {
        let now = remote.snapshot(&request(interval_ms)).unwrap();
        ends.push(now.at_ns);
        if let Some(window) = book.advance(now) {
            let ran = window.tasks[0].delta.get(Counter::RunNs);
            assert_eq!(ran, Some(window.length_ns()));
            assert_eq!(window.cpus[0].residual_ns, 0);
        }
        // The interval of this reader.
        std::thread::sleep(Duration::from_millis(interval_ms));
    }
    ends
}

#[test]
fn every_reader_has_its_own_windows_that_balance() {
    let daemon = Daemon::start();
    let paces = [100, 150, 400, 400, 400, 1000];
    let all: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let looks = paces.map(|pace| {
            let path = &daemon.path;
            scope.spawn(move || look(path, pace, 2 + 1200 / pace as usize))
        });
        looks.map(|look| look.join().unwrap()).into()
    });
    for ends in &all {
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1]), "{ends:?}");
    }
    let asked: usize = all.iter().map(Vec::len).sum::<usize>() + paces.len();
    let ended = daemon.windows.load(Ordering::SeqCst) as usize;
    assert!(ended < asked, "{ended} ends for {asked} looks");
    assert_eq!(daemon.said(), []);
}

#[test]
fn a_run_takes_two_windows_one_before_its_command_and_one_after_it() {
    let daemon = Daemon::start();
    let windows = || daemon.windows.load(Ordering::SeqCst);
    let (mut remote, tree) = Remote::following(&daemon.path, "x").unwrap();
    let begin = remote.snapshot(&Request::default()).unwrap();
    assert_eq!((tree, windows()), (1, 1), "the window of the answer is the one before the command");
    let end = remote.snapshot(&Request { at_once: true, ..Request::default() }).unwrap();
    assert_eq!(windows(), 2);
    assert!(begin.at_ns < end.at_ns);
    drop(remote);
    let (_, tree) = Remote::following(&daemon.path, "x").unwrap();
    assert_eq!(tree, 2);
    assert_eq!(daemon.said(), []);
}

#[test]
fn an_older_reader_gets_the_answer_that_it_knows() {
    let daemon = Daemon::start();
    for (asks, answer) in [("{}", "{\"follows\":1}"), ("{\"at_once\":true}", "{\"followed\":2}")] {
        let mut stream = UnixStream::connect(&daemon.path).unwrap();
        let hello = "{\"hello\":{\"exactop\":\"x\",\"format\":1}}";
        write!(stream, "{hello}\n{{\"follow\":{asks}}}\n{{\"window\":{{}}}}\n").unwrap();
        let (mut said, mut bytes) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&said).contains(answer) {
            let n = stream.read(&mut bytes).unwrap();
            assert!(n > 0, "the daemon ended the connection");
            said.extend_from_slice(&bytes[..n]);
        }
    }
}

#[test]
fn an_invalid_request_is_answered_with_the_reason_and_disconnected() {
    let daemon = Daemon::start();
    for (said, word) in [
        ("{\"window\":{}}\n", "the first line is not a hello"),
        ("GET / HTTP/1.1\n", "'GET / HTTP/1.1' is not a valid request"),
        ("\u{1b}[2J\n", "'\\x1b[2J' is not a valid request"),
        (&"x".repeat(5000), "a line of more than 4096 bytes"),
    ] {
        let mut stream = UnixStream::connect(&daemon.path).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // Unread data at the close reaches the reader as a reset.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(word), "{said:?}: {answer:?}");
    }
    assert_eq!(look(&daemon.path, 100, 1).len(), 2, "others go on");
    // Each is reported, one of a kind a second.
    let four = || (daemon.said().len() >= 4).then_some(());
    wait::find_or_say("four notices", four, || format!("{:?}", daemon.said()));
}

#[test]
fn a_stalled_reader_delays_no_other() {
    let daemon = Daemon::start();
    let mut stalled = UnixStream::connect(&daemon.path).unwrap();
    stalled.write_all(b"{\"hello\":{\"exactop\":\"x\",\"format\":1}}\n{\"window\":{}}\n").unwrap();
    // A reader of a stopped daemon gives it up.
    assert_eq!(look(&daemon.path, 100, 10).len(), 11);
    assert_eq!(daemon.said(), [], "and no reader is disconnected");
}

#[test]
fn windows_are_sent_when_requested_and_not_before() {
    let daemon = Daemon::start();
    let mut seldom = UnixStream::connect(&daemon.path).unwrap();
    let ask = b"{\"window\":{\"interval_ns\":1000000000,\"after_ns\":1}}\n";
    seldom.write_all(b"{\"hello\":{\"exactop\":\"x\",\"format\":1}}\n").unwrap();
    seldom.write_all(ask).unwrap();
    let mut incoming = Incoming::new();
    let heard = |seldom: &mut UnixStream, incoming: &mut Incoming| {
        let mut bytes = [0; 1 << 16];
        let n = seldom.read(&mut bytes).unwrap();
        incoming.push(&bytes[..n]);
        std::iter::from_fn(|| incoming.next_item().unwrap()).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    while !matches!(all.last(), Some(StreamItem::Whole(_))) {
        all.extend(heard(&mut seldom, &mut incoming));
    }
    let ends = look(&daemon.path, 100, 10);
    seldom.set_nonblocking(true).unwrap();
    let nothing = seldom.read(&mut [0; 1]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock, "no request, and few bytes");
    seldom.set_nonblocking(false).unwrap();
    seldom.write_all(ask).unwrap();
    // All windows come at once, the last ones perhaps in a second piece, and none is missing.
    let mut told: Vec<(u64, u64)> = Vec::new();
    while told.last().is_none_or(|last| Some(&last.1) < ends.last()) {
        told.extend(heard(&mut seldom, &mut incoming).iter().filter_map(|heard| match heard {
            StreamItem::Window(span, now) => Some((span.t0_ns, now.at_ns)),
            _ => None,
        }));
    }
    assert!(told.windows(2).all(|pair| pair[0].1 == pair[1].0), "{told:?}");
    assert!(ends.iter().all(|&end| told.iter().any(|told| told.1 == end)), "{ends:?}: {told:?}");
}

#[test]
fn ends_of_one_request_come_unasked_and_then_stop() {
    let daemon = Daemon::start();
    let mut reader = UnixStream::connect(&daemon.path).unwrap();
    let ask = b"{\"window\":{\"interval_ns\":100000000,\"ends\":4}}\n";
    reader.write_all(b"{\"hello\":{\"exactop\":\"x\",\"format\":1}}\n").unwrap();
    reader.write_all(ask).unwrap();
    // The daemon may be late and skip some.
    reader.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut incoming = Incoming::new();
    let mut ends = Vec::new();
    let mut bytes = [0; 1 << 16];
    while ends.len() < 4 {
        let n = match reader.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // All windows that ended have arrived.
                if daemon.windows.load(Ordering::SeqCst) == ends.len() as u64 {
                    break;
                }
                continue;
            }
            read => read.unwrap(),
        };
        assert!(n > 0, "it was disconnected: {:?}", daemon.said());
        incoming.push(&bytes[..n]);
        let heard = std::iter::from_fn(|| incoming.next_item().unwrap());
        ends.extend(heard.filter_map(|heard| match heard {
            StreamItem::Whole(now) | StreamItem::Window(_, now) => Some(now.at_ns),
            _ => None,
        }));
    }
    assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= 100_000_000), "{ends:?}");
    // Wait as long as some more would take: nothing reports that none is due.
    std::thread::sleep(Duration::from_millis(500));
    assert!((1..=4).contains(&ends.len()), "{ends:?}");
    assert_eq!(daemon.windows.load(Ordering::SeqCst), ends.len() as u64, "no reader wants more");
    look(&daemon.path, 100, 1);
}

#[test]
fn a_missing_or_second_daemon_is_named() {
    let mut daemon = Daemon::start();
    let twice = Server::listen(&daemon.path, None, machine()).unwrap_err();
    assert!(matches!(twice, ServiceError::InUse(_)), "{twice}");
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    daemon.end();
    remote.away = Duration::from_millis(1);
    // The first window ended just before, and may serve.
    let gone = wait::find("a refusal", || remote.snapshot(&request(100)).err()).to_string();
    assert!(gone.contains("closed the connection"), "{gone}");
    let nobody = Remote::connect(&daemon.path, "x").unwrap_err();
    assert!(matches!(nobody, ServiceError::Nobody { .. }), "{nobody}");
}
