//! Recorded windows go into files as they close: each once, also after kills, for every kind of
//! target.

use crate::daemon::Daemon;
use crate::exported::recorded;
use crate::helpers::processes::{KILL, TERM};
use crate::helpers::run::{run, without_ledger};
use crate::metrics::{page, port};
use crate::puts::{Fares, Puts};
use exactop_fleet::{Books, Parquet};
use exactop_recording::TimeRange;
use exactop_testkit::wait;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Settings with which windows close and are written each second.
pub fn start(to: &str, dir: tempfile::TempDir, options: &[&str]) -> Daemon {
    let config = dir.path().join("config.toml");
    let settings =
        format!("[record]\ninterval = \"1s\"\n[export]\nto = \"parquet:{to}\"\nevery = \"1s\"\n");
    fs::write(&config, settings).expect("settings");
    let config = config.to_str().expect("UTF-8").to_string();
    Daemon::start_in(dir, &[&["--config", &config], options].concat(), None)
}

/// Windows of accounts in the files, in order, with duplicates.
pub fn written(books: &Path) -> Vec<(u64, u64)> {
    let mut windows = Vec::new();
    let Ok(books) = Parquet::open(books) else { return windows };
    let add = &mut |row: exactop_fleet::Account| {
        windows.push((row.t1_ns - row.length_ns, row.t1_ns));
    };
    books.accounts(TimeRange::default(), add).expect("what is under its name is whole");
    windows.sort_unstable();
    windows
}

/// Checks that all recorded windows are in the files, at least `least`, except those that the next
/// daemon writes. Checks that they balance except for `gaps` gaps.
fn balances(daemon: &Daemon, books: &Path, least: usize, gaps: u64) {
    let (there, all) = (written(books), recorded(daemon));
    assert!(all.starts_with(&there) && there.len() >= least, "{there:?}\n{all:?}");
    let balance = run(&["fleet", "check", "--from", books.to_str().expect("UTF-8"), "--json"]);
    let told: Value = serde_json::from_str(&balance.out).expect("JSON");
    let host = &told["hosts"][0];
    for what in ["doubled_rows", "uneven_windows", "stray_windows", "open_windows"] {
        assert_eq!(host[what], 0, "{what}: {host}");
    }
    assert_eq!(host["gaps"]["count"], gaps, "the kills: {host}");
}

#[test]
fn a_repeatedly_killed_daemon_writes_each_window_once() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (books, aside) = (dir.path().join("books"), dir.path().join("aside"));
    let metrics = port();
    let address = format!("127.0.0.1:{metrics}");
    let to = books.to_str().expect("UTF-8").to_string();
    let mut daemon = start(&to, dir, &["--metrics", &address]);
    let failed = || page(metrics)["exactop_export_events_total{kind=\"failure\"}"];
    wait::until("a failure", || failed() > 0 && recorded(&daemon).len() > 2);
    assert!(daemon.said().contains("No such file"), "{}", daemon.said());
    assert!(!books.exists(), "a directory that is missing is not made");
    fs::create_dir(&books).expect("made");
    fs::set_permissions(&books, Permissions::from_mode(0o755)).expect("rights");
    wait::until("it is there", || !written(&books).is_empty());
    for _ in 0..3 {
        let before = written(&books).len();
        wait::until("some of it is there", || written(&books).len() > before + 1);
        daemon.end(KILL);
        daemon.start_again();
    }
    fs::rename(&books, &aside).expect("away");
    let (before, recorded_before) = (failed(), recorded(&daemon).len());
    wait::until("failures", || failed() > before && recorded(&daemon).len() > recorded_before + 1);
    fs::rename(&aside, &books).expect("back");
    let is_all = || page(metrics)["exactop_export_pending_bytes"] == 0;
    wait::until("all was written", || is_all() && written(&books).len() > recorded_before);
    let least = written(&books).len();
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let said = daemon.said();
    assert!(said.contains("works again, all recorded windows are sent"), "{said}");
    balances(&daemon, &books, least, 3);
}

#[test]
fn a_server_gets_files_and_no_window_twice() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let books = dir.path().join("books");
    let server = Puts::start(&books, Fares::Moody);
    let metrics = port();
    let address = format!("127.0.0.1:{metrics}");
    let mut daemon = start(&server.url, dir, &["--metrics", &address]);
    for _ in 0..2 {
        // A daemon that is killed before its first window leaves one gap with the one before it.
        let (asked, recorded_so_far) = (server.requests(), recorded(&daemon).len());
        wait::until("some of it was sent", || {
            server.requests() > asked + 4 && recorded(&daemon).len() > recorded_so_far
        });
        daemon.end(KILL);
        daemon.start_again();
    }
    server.fares(Fares::Well);
    let all = recorded(&daemon).len();
    wait::until("all was sent", || {
        let page = page(metrics);
        let sent = page["exactop_export_windows_total{outcome=\"sent\"}"];
        let is_all = sent > 0 && page["exactop_export_pending_bytes"] == 0;
        is_all && recorded(&daemon).len() > all + 1
    });
    let least = written(&books).len();
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    balances(&daemon, &books, least, 2);
}

#[test]
fn no_file_is_written_where_another_user_could_redirect_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let books = dir.path().join("books");
    fs::create_dir(&books).expect("made");
    fs::set_permissions(&books, Permissions::from_mode(0o777)).expect("rights");
    let to = format!("parquet:{}", books.display());
    run(&["daemon", "--check", "--export", &to]).refused(2, "others can write to");
}
