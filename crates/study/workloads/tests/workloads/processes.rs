//! Loads of processes.

use crate::{ends, grows};
use exactop_testkit::wait;
use exactop_workloads::procs::{group_members, stat_field};
use exactop_workloads::workloads::{
    AutoReaped, ExecThreads, ForkStorm, Sleepers, StopContinue, Tickers,
};
use std::time::Duration;

/// Field of proc(5): page faults of the reaped children.
const CMINFLT: usize = 11;

#[test]
fn fork_storm() {
    let storm = ForkStorm::start(2).unwrap();
    assert_eq!(storm.pids().len(), 2);
    for shell in storm.pids() {
        grows("children of a shell", || stat_field(shell, CMINFLT).expect("the shell runs"));
    }
    ends(storm, ForkStorm::pid);
}

#[test]
fn exec_threads() {
    let load = ExecThreads::start(3).unwrap();
    grows("execs", || load.execs().unwrap());
    wait::until("every process execs", || load.execs().unwrap() > 100);
    for pid in load.pids() {
        assert!(stat_field(pid, 4).is_some(), "{pid} ended");
    }
    ends(load, ExecThreads::pid);
}

#[test]
fn stop_continue() {
    let load = StopContinue::start(2).unwrap();
    grows("stops", || load.stops().unwrap());
    for pid in load.pids() {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        wait::until("a stopped process", || state().contains(") T "));
        wait::until("a running process", || state().contains(") R "));
    }
    ends(load, StopContinue::pid);
}

#[test]
fn sleepers() {
    many_sleepers(1_000);
}

#[test]
#[ignore = "takes gigabytes of memory"]
fn sleepers_10_000() {
    many_sleepers(10_000);
}

#[test]
#[ignore = "takes gigabytes of memory and nearly all process numbers"]
fn sleepers_30_000() {
    many_sleepers(30_000);
}

/// The kernel counts their sleeps.
#[test]
fn tickers() {
    let load = Tickers::start(20, Duration::from_millis(10)).unwrap();
    assert_eq!(load.pids().len(), 20);
    for pid in load.pids() {
        grows("switches of a ticker", || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
            line.expect("a count").trim().parse().expect("a number")
        });
    }
    ends(load, Tickers::pid);
}

fn many_sleepers(count: usize) {
    let load = Sleepers::start(count).unwrap();
    assert_eq!(load.pids().len(), count);
    assert_eq!(group_members(load.pid()).len(), count + 1);
    ends(load, Sleepers::pid);
}

#[test]
fn auto_reaped() {
    let work = Duration::from_millis(2);
    let load = AutoReaped::start(2, work).unwrap();
    grows("orphans", || load.totals().unwrap().orphans);
    let totals = load.stop().unwrap();
    assert_eq!(group_members(load.pid()), [load.pid()], "children left after stop");
    assert_eq!(load.totals().unwrap(), totals);
    // For every child that only forked an orphan, the orphan worked.
    assert!(totals.cpu_ns >= totals.children * work.as_nanos() as u64, "{totals:?}");
    ends(load, AutoReaped::pid);
}
