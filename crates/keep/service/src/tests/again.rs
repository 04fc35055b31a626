//! A daemon that ends under a reader, and its successor on the same socket.

use super::{request, Daemon};
use crate::Remote;
use exactop_model::{Book, Counter, Snapshot, Window};
use exactop_sources::Source;
use exactop_testkit::wait;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Takes the next snapshot into a book; returns the window that it closes.
fn look(remote: &mut Remote, book: &mut Book) -> Option<Window> {
    let now = remote.snapshot(&request(100)).unwrap();
    if remote.has_begun_anew() {
        assert!(now.complete, "it holds all tasks");
        *book = Book::new();
    }
    let window = book.advance(now)?;
    // Figures of two ledgers would run backwards, or exceed the window.
    let ran = window.tasks[0].delta.get(Counter::RunNs);
    assert_eq!((ran, window.cpus[0].residual_ns), (Some(window.length_ns()), 0));
    Some(window)
}

#[test]
fn a_reader_continues_with_the_next_daemon_and_no_window_spans_both() {
    let mut daemon = Daemon::start();
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    let mut book = Book::new();
    assert!(look(&mut remote, &mut book).is_none() && !remote.has_begun_anew());
    let mut before = look(&mut remote, &mut book).unwrap();
    daemon.end();
    remote.away = wait::LIMIT;
    let next = std::thread::scope(|scope| {
        let next = scope.spawn(|| {
            // While no daemon is there.
            std::thread::sleep(Duration::from_millis(300));
            daemon.again()
        });
        // The windows of the first daemon come first.
        while let Some(window) = look(&mut remote, &mut book) {
            assert!(!remote.has_begun_anew(), "what lies between has no window");
            before = window;
        }
        next.join().unwrap()
    });
    assert!(remote.has_begun_anew());
    let after = look(&mut remote, &mut book).unwrap();
    assert!(!remote.has_begun_anew(), "once");
    assert!(after.t0_ns > before.t1_ns, "{} {}", before.t1_ns, after.t0_ns);
    assert_eq!(next.said(), []);
}

#[test]
fn a_missing_daemon_is_an_error_until_it_returns() {
    let mut daemon = Daemon::start();
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    let mut book = Book::new();
    assert!(look(&mut remote, &mut book).is_none());
    daemon.end();
    remote.away = Duration::from_millis(200);
    // The windows before its end come first.
    while remote.snapshot(&request(100)).is_ok() {}
    for _ in 0..3 {
        let gone = remote.snapshot(&request(100)).unwrap_err().to_string();
        assert!(gone.contains("is not reachable (cannot reach an exactop daemon at"), "{gone}");
    }
    let _next = daemon.again();
    assert!(look(&mut remote, &mut book).is_none() && remote.has_begun_anew());
    assert!(look(&mut remote, &mut book).is_some());
}

/// A blocking reader would wait this long here; no load of the machine comes near it.
const LONG: Duration = Duration::from_secs(600);

fn failed(remote: &mut Remote) -> String {
    let begun = Instant::now();
    let why = remote.snapshot(&request(100)).unwrap_err().to_string();
    assert!(begun.elapsed() < LONG, "{why}: after {:?}", begun.elapsed());
    why
}

#[test]
fn a_non_blocking_reader_does_not_wait_for_the_next_daemon() {
    let mut daemon = Daemon::start();
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    remote.away = LONG;
    remote.waits_for_nobody();
    let mut book = Book::new();
    assert!(look(&mut remote, &mut book).is_none());
    daemon.end();
    while remote.snapshot(&request(100)).is_ok() {}
    assert!(failed(&mut remote).contains("is not reachable (cannot reach an exactop daemon at"));
    // A daemon whose socket exists but that does not answer yet.
    std::fs::create_dir_all(daemon.path.parent().unwrap()).unwrap();
    let begins = UnixListener::bind(&daemon.path).unwrap();
    begins.set_nonblocking(true).unwrap();
    for _ in 0..3 {
        let why = failed(&mut remote);
        assert!(why.contains("accepted the connection and has not answered yet"), "{why}");
    }
    let connections = std::iter::from_fn(|| begins.accept().ok());
    assert_eq!(connections.collect::<Vec<_>>().len(), 1, "it waits for the one it has");
    assert!(failed(&mut remote).contains("closed the connection"), "and that is gone");
    drop(begins);
    std::fs::remove_file(&daemon.path).unwrap();
    let next = daemon.again();
    let first = until_there(&mut remote);
    assert!(remote.has_begun_anew() && first.complete, "{:?}", next.said());
    book = Book::new();
    assert!(book.advance(first).is_none());
    assert!(look(&mut remote, &mut book).is_some());
}

/// The next snapshot, once there is one.
fn until_there(remote: &mut Remote) -> Snapshot {
    wait::find("a snapshot", || remote.snapshot(&request(100)).ok())
}

#[test]
fn a_non_blocking_reader_takes_a_late_answer_and_loses_nothing() {
    let daemon = Daemon::start();
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    remote.waits_for_nobody();
    let mut book = Book::new();
    assert!(look(&mut remote, &mut book).is_none());
    let before = look(&mut remote, &mut book).unwrap();
    let mut patient = Remote::connect(&daemon.path, "x").unwrap();
    daemon.held.store(true, Ordering::SeqCst);
    // It may have sent one more window before it stopped.
    let mut last = before.t1_ns;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A blocking reader waits longer for one answer than the non-blocking one for all of them.
        let other = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                if patient.snapshot(&request(100)).is_err() {
                    break;
                }
            }
        });
        let why = loop {
            match remote.snapshot(&request(100)) {
                Ok(now) => last = book.advance(now).unwrap().t1_ns,
                Err(why) => break why.to_string(),
            }
        };
        assert!(why.contains("has not answered for"), "{why}");
        (0..12).for_each(|_| assert!(failed(&mut remote).contains("has not answered for")));
        let was_first = !other.is_finished();
        is_over.store(true, Ordering::SeqCst);
        daemon.held.store(false, Ordering::SeqCst);
        assert!(was_first, "it waits as long as who has no keys to answer");
    });
    let now = until_there(&mut remote);
    assert!(!remote.has_begun_anew());
    let window = book.advance(now).unwrap();
    assert_eq!((window.t0_ns, window.cpus[0].residual_ns), (last, 0));
    assert_eq!(window.tasks[0].delta.get(Counter::RunNs), Some(window.length_ns()));
}
