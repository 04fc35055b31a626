//! A daemon that ends under a reader, and another one on its socket.

use super::{request, Daemon};
use crate::Remote;
use exactop_model::{Book, Counter, Window};
use exactop_sources::Source;
use std::time::Duration;

/// Takes the next snapshot as whoever has a book does, and what it closes.
fn look(remote: &mut Remote, book: &mut Book) -> Option<Window> {
    let now = remote.snapshot(&request(100)).unwrap();
    if remote.has_begun_anew() {
        assert!(now.complete, "everyone is told");
        *book = Book::new();
    }
    let window = book.advance(now)?;
    // Of two ledgers it would have run backwards, or for longer than there was.
    let ran = window.tasks[0].delta.get(Counter::RunNs);
    assert_eq!((ran, window.cpus[0].residual_ns), (Some(window.length_ns()), 0));
    Some(window)
}

#[test]
fn a_reader_goes_on_with_the_daemon_that_comes_after_and_no_window_spans_the_two() {
    let mut daemon = Daemon::start();
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    let mut book = Book::new();
    assert!(look(&mut remote, &mut book).is_none() && !remote.has_begun_anew());
    let mut before = look(&mut remote, &mut book).unwrap();
    daemon.end();
    remote.away = Duration::from_secs(60);
    let next = std::thread::scope(|scope| {
        let next = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            daemon.again()
        });
        // What the first one told before it ended comes first.
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
fn one_that_stays_away_is_an_error_until_it_comes() {
    let mut daemon = Daemon::start();
    let mut remote = Remote::connect(&daemon.path, "x").unwrap();
    let mut book = Book::new();
    assert!(look(&mut remote, &mut book).is_none());
    daemon.end();
    remote.away = Duration::from_millis(200);
    // What it told before it ended comes first.
    while remote.snapshot(&request(100)).is_ok() {}
    for _ in 0..3 {
        let gone = remote.snapshot(&request(100)).unwrap_err().to_string();
        assert!(gone.contains("has not come back: no exactop daemon at"), "{gone}");
    }
    let _next = daemon.again();
    assert!(look(&mut remote, &mut book).is_none() && remote.has_begun_anew());
    assert!(look(&mut remote, &mut book).is_some());
}
