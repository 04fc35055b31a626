//! Each workload starts, does what it is for, and leaves nothing behind.

mod processes;
mod refusals;
mod survival;
mod threads;

use exactop_workloads::procs::group_members;
use std::time::{Duration, Instant};

/// How long a load may take to show what it does, emulated machines included.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something to come true.
fn comes_true(what: &str, mut check: impl FnMut() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a count to grow, twice.
fn grows(what: &str, mut count: impl FnMut() -> u64) {
    for _ in 0..2 {
        let before = count();
        comes_true(what, || count() > before);
    }
}

/// Drops a load and looks for what is left of it.
fn ends<L>(load: L, pid: impl Fn(&L) -> u32) {
    let pid = pid(&load);
    assert!(group_members(pid).contains(&pid), "the load was not there");
    drop(load);
    assert_eq!(group_members(pid), [0; 0], "left behind");
}
