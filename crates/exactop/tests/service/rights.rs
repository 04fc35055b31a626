//! Rights that an attacker would gain from the daemon, and paths to which one could redirect its
//! writes.

use crate::daemon::Daemon;
use crate::helpers::processes::Load;
use crate::helpers::rights::{await_threads, documented, each_thread_has, field, of};
use crate::helpers::run::{command, run, without_ledger};
use exactop_testkit::wait;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{lchown, symlink, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

/// Threads of a daemon with a page of metrics and a collector.
const THREADS: [&str; 5] = ["exactop", "exactop-growth", "exactop-names", "metrics", "otlp"];

#[test]
fn each_thread_of_the_daemon_keeps_the_documented_rights() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&["--metrics", "127.0.0.1:0", "--otlp", "http://127.0.0.1:9"]);
    let expected = documented("`daemon`", "ledger");
    let pid = daemon.load.pid().to_string();
    // The page's and the sender's threads start after the daemon has given up its rights, the
    // others before.
    await_threads(&pid, &THREADS);
    assert_eq!(of(&pid), expected);
    let threads = each_thread_has(&pid, expected);
    for name in THREADS {
        assert!(threads.iter().any(|thread| thread == name), "{name}: {threads:?}");
    }
}

/// The thread that reads from the daemon begins before its process gives up its rights.
#[test]
fn each_thread_of_a_reader_keeps_the_documented_rights() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let socket = daemon.socket().display().to_string();
    let expected = documented("`--json`", "procfs");
    for words in [&["--json", "-d", "0.1"][..], &["web", "--listen", "127.0.0.1:0"]] {
        let mut reader = command(&[words, &["--source", "daemon", "--socket", &socket]].concat());
        let reader = Load::start(reader.stderr(Stdio::null()));
        let pid = reader.pid().to_string();
        wait::until("a fence", || field(&pid, "Seccomp:") == "2");
        await_threads(&pid, &["daemon"]);
        assert_eq!(of(&pid), expected, "{words:?}");
        each_thread_has(&pid, expected);
    }
}

#[test]
fn an_invalid_request_is_refused_and_harms_no_reader() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    for said in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"{\"hello\":{\"exactop\":\"\x1b[2J\",\"format\":999}}\n",
        b"{\"window\":{}}\n",
        b"\n\n\n",
        &[0xff; 100_000],
    ] {
        let mut stream = UnixStream::connect(daemon.socket()).expect("connected");
        // The connection may be closed before all is written.
        let _ = stream.write_all(said);
        let mut answer = Vec::new();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 10_000, "a refusal, not a stream: {}", answer.len());
    }
    assert!(!daemon.said().contains('\u{1b}'), "{}", daemon.said());
    assert_eq!(daemon.windows(&["-n", "2", "-d", "0.1"]).len(), 2);
}

#[test]
fn the_daemon_writes_to_no_path_that_another_user_redirects() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root makes a link of another user");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_string();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).expect("a directory");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).expect("open to all");
    let goal = dir.path().join("goal");
    fs::create_dir(&goal).expect("a directory");
    symlink(&goal, theirs.join("link")).expect("a link");
    lchown(theirs.join("link"), Some(65534), Some(65534)).expect("a link of another user");
    let (link, below) = (path("theirs/link"), path("theirs/link/socket"));
    let log = path("log");
    for (socket, log) in [(path("s").as_str(), link.as_str()), (below.as_str(), log.as_str())] {
        let refused = run(&["daemon", "--socket", socket, "--dir", log]);
        assert_eq!(refused.code, Some(1), "{}", refused.err);
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
        assert_eq!(fs::read_dir(&goal).expect("a directory").count(), 0, "nothing is made there");
    }
}
