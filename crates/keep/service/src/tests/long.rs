//! A long-running reader while ever new names come.

use super::{machine, now_ns, snapshot};
use crate::server::Server;
use exactop_model::{Book, Comm, Ident, Snapshot, TaskKey};
use exactop_recording::stream::{Incoming, StreamItem};
use exactop_testkit::{samples, wait};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// New names with each window, and number of windows: more than the names allowed between two
/// keyframes.
const NAMES: u64 = 2_000;
const WINDOWS: u64 = 40;

/// Adds processes of this window, each with its own name, beside the running one.
fn crowd(window: u64, mut now: Snapshot) -> Snapshot {
    let of = |n: u64| {
        let number = window * NAMES + n;
        let pid = 1_000 + number as u32;
        let key = TaskKey { tgid: pid, tid: pid, start_ns: now.at_ns - 1 };
        let comm = Comm::new(format!("n{number}").as_bytes());
        samples::task(2 + number, key, Ident { comm, ..Ident::default() })
    };
    let tasks: Vec<_> = (0..NAMES).map(of).collect();
    now.tasks.extend(tasks);
    now.gone.extend(
        (0..NAMES)
            .filter(|_| window > 0)
            .map(|n| exactop_model::AccountId(2 + (window - 1) * NAMES + n)),
    );
    now
}

#[test]
fn a_long_running_reader_gets_a_keyframe_before_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run/socket");
    let mut server = Server::listen(&path, None, machine()).unwrap();
    let mut reader = UnixStream::connect(&path).unwrap();
    reader.set_nonblocking(true).unwrap();
    let hello = "{\"hello\":{\"exactop\":\"x\",\"format\":1}}\n";
    let ask = "{\"window\":{\"interval_ns\":100000000}}\n";
    reader.write_all([hello, ask].concat().as_bytes()).unwrap();
    let (began_ns, mut book, mut incoming) = (now_ns(), Book::new(), Incoming::new());
    let (mut windows, mut wholes) = (0, 0);
    let mut chunk = vec![0; 1 << 16];
    wait::until("forty windows", || {
        server.serve(Duration::from_millis(20), &[]).unwrap();
        assert!(server.notices().is_empty());
        if server.is_due() {
            let t0_ns = book.at_ns();
            let now = crowd(windows + 1, snapshot(t0_ns.is_none(), began_ns, now_ns()));
            book.advance(now.clone());
            server.tell(t0_ns.unwrap_or(now.at_ns), &now, &book);
        }
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => panic!("it was disconnected after {windows} windows"),
                Ok(read) => incoming.push(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        let before = windows;
        while let Some(heard) = incoming.next_item().unwrap() {
            match heard {
                StreamItem::Whole(_) => wholes += 1,
                StreamItem::Window(..) => windows += 1,
                _ => continue,
            }
            // The first answer is a keyframe; later keyframes come beside a window.
            if wholes <= 1 || before < windows {
                reader.write_all(ask.as_bytes()).unwrap();
            }
        }
        windows >= WINDOWS
    });
    assert!((3..=6).contains(&wholes), "{wholes} times everyone in {windows} windows");
}
