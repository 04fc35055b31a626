//! How the daemon ends and restarts: no recorded window is lost, and gaps are recorded.

use crate::daemon::Daemon;
use crate::helpers::processes::{Load, HUP, KILL, TERM};
use crate::helpers::run::{run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// A directory with settings for short windows.
fn with_short_windows() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, "[record]\ninterval = \"1s\"\n").expect("settings");
    let config = config.to_str().expect("UTF-8").to_string();
    (dir, config)
}

/// Number of kills.
fn kills() -> u64 {
    match std::env::var("EXACTOP_TEST_KILLS") {
        Err(_) => 5,
        Ok(text) => text.parse().expect("EXACTOP_TEST_KILLS is a number"),
    }
}

/// Recorded windows so far.
fn windows(daemon: &Daemon) -> Vec<Value> {
    let log = daemon.log();
    let replayed = run(&["replay", log.to_str().expect("UTF-8"), "--json"]);
    crate::daemon::parsed(&replayed.out)
}

#[test]
fn the_daemon_ends_in_order_and_removes_its_socket() {
    if without_ledger() {
        return;
    }
    let mut daemon = Daemon::start(&[]);
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    assert!(!daemon.socket().exists());
    let verified = daemon.verified().fine();
    assert!(!verified.contains("damaged"), "{verified}");
    assert_eq!(daemon.said(), "");
}

#[test]
fn after_kills_under_load_each_book_closes_and_gaps_are_recorded() {
    if without_ledger() {
        return;
    }
    let _storm = Load::forks();
    let (dir, config) = with_short_windows();
    let mut daemon = Daemon::start_in(dir, &["--config", &config], None);
    let kills = kills();
    for round in 0..kills {
        let before = windows(&daemon).len();
        wait::until("a window on the disk", || windows(&daemon).len() > before);
        // At a different moment in each round; there is no event to wait for.
        std::thread::sleep(Duration::from_millis(130 * (round % 5)));
        daemon.end(KILL);
        daemon.start_again();
    }
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let told = daemon.verified().out;
    let gaps = told.lines().filter(|line| line.contains("gap")).count();
    assert!(gaps >= kills as usize, "{told}");
    let mut last_ns = 0;
    let windows = windows(&daemon);
    assert!(windows.len() > kills as usize, "{}", windows.len());
    println!("killed {kills} times: {gaps} gaps told, {} windows, each book closes", windows.len());
    for window in windows {
        let books = &window["window"];
        assert_eq!(books["residual_ns"], 0, "{books}");
        let (t0_ns, t1_ns) = (books["t0_ns"].as_u64(), books["t1_ns"].as_u64());
        assert!(t0_ns.expect("a time") >= last_ns, "a window twice: {books}");
        last_ns = t1_ns.expect("a time");
    }
}

#[test]
fn systemd_gets_the_daemons_state() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notify");
    let notified = UnixDatagram::bind(&path).expect("a socket");
    notified.set_read_timeout(Some(wait::LIMIT)).expect("a time");
    let heard = |what: &str| {
        let mut bytes = [0; 4096];
        for _ in 0..1000 {
            let n = notified.recv(&mut bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
            let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
            if text.lines().any(|line| line == what) {
                return text;
            }
        }
        panic!("{what} was not said");
    };
    let mut daemon = Daemon::start_in(dir, &[], Some(path));
    heard("READY=1");
    heard("WATCHDOG=1");
    heard("WATCHDOG=1");
    crate::helpers::processes::send(daemon.load.pid(), HUP);
    assert!(heard("RELOADING=1").contains("MONOTONIC_USEC="));
    heard("READY=1");
    assert_eq!(daemon.end(TERM), Some(0));
    heard("STOPPING=1");
}
