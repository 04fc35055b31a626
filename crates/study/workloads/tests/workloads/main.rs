//! Each workload starts, works, and leaves nothing behind.

mod processes;
mod refusals;
mod survival;
mod threads;

use exactop_testkit::wait;
use exactop_workloads::procs::group_members;

/// Waits for a count to grow, twice.
fn grows(what: &str, mut count: impl FnMut() -> u64) {
    for _ in 0..2 {
        let before = count();
        wait::until(what, || count() > before);
    }
}

/// Drops a load and checks that nothing of it is left.
fn ends<L>(load: L, pid: impl Fn(&L) -> u32) {
    let pid = pid(&load);
    assert!(group_members(pid).contains(&pid), "the load was not there");
    drop(load);
    assert_eq!(group_members(pid), [0; 0], "left behind");
}
