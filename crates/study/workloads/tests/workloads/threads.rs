//! Loads of threads of one process.

use crate::{ends, grows};
use exactop_testkit::wait;
use exactop_workloads::herd::Wake;
use exactop_workloads::procs::thread_count;
use exactop_workloads::workloads::{ExitingThreads, Herd, PipePingPong, SignalStorm, Spin};

#[test]
fn pipe_pingpong() {
    pingpong(201, 202);
}

/// Slow on emulated CPUs: a process that reads the load waits its turn among a thousand threads.
#[test]
fn pipe_pingpong_2000() {
    pingpong(2_000, 2_000);
}

fn pingpong(asked: usize, threads: usize) {
    let load = PipePingPong::start(asked).unwrap();
    assert_eq!(thread_count(load.pid()), Some(threads + 1));
    grows("rounds", || load.rounds().unwrap());
    ends(load, PipePingPong::pid);
}

#[test]
fn spin() {
    let spin = Spin::start(2, Some(&[0])).unwrap();
    let tids = spin.threads();
    assert_eq!(thread_count(spin.pid()), Some(3));
    for (index, tid) in tids.iter().enumerate() {
        let status = format!("/proc/{}/task/{tid}/status", spin.pid());
        let status = std::fs::read_to_string(status).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
        grows("CPU time", || spin.cpu_ns(index).unwrap());
    }
    let asked = [0, 1].map(|index| spin.cpu_ns(index).unwrap());
    assert!(spin.cpu_ns(2).is_err());
    let used = spin.stop().unwrap();
    for ((thread, tid), asked) in used.iter().zip(tids).zip(asked) {
        assert_eq!(thread.tid, tid);
        assert!(thread.cpu_ns >= asked);
    }
}

#[test]
fn spin_anywhere() {
    let spin = Spin::start(1, None).unwrap();
    ends(spin, Spin::pid);
}

#[test]
fn exiting_threads() {
    let load = ExitingThreads::start(2).unwrap();
    grows("threads", || load.totals().unwrap().threads);
    let totals = load.stop().unwrap();
    assert!(totals.cpu_ns >= totals.threads * 1_000_000);
    // A joined thread may still be exiting.
    wait::until("threads to be gone", || thread_count(load.pid()) == Some(1));
    assert_eq!(load.totals().unwrap(), totals);
    ends(load, ExitingThreads::pid);
}

#[test]
fn signal_storm() {
    let load = SignalStorm::start(8).unwrap();
    assert_eq!(thread_count(load.pid()), Some(9));
    grows("delivered signals", || load.counts().unwrap().delivered);
    grows("interrupted sleeps", || load.counts().unwrap().interrupted);
    let counts = load.counts().unwrap();
    assert!(counts.interrupted <= counts.delivered, "{counts:?}");
    assert!(counts.delivered <= counts.sent, "{counts:?}");
    ends(load, SignalStorm::pid);
}

#[test]
fn herd_woken_one_by_one() {
    let load = Herd::start(50, Wake::One, 2000.0).unwrap();
    assert_eq!(thread_count(load.pid()), Some(52));
    grows("connections", || load.totals().unwrap().connected);
    wait::until("all that was accepted to be served", || {
        let totals = load.totals().unwrap();
        totals.served == totals.accepted
    });
    let totals = load.totals().unwrap();
    // A worker that is about to sleep may take a signal meant for a sleeping one: both wake.
    assert!(totals.wakeups <= 2 * totals.accepted, "{totals:?}");
    assert_eq!(totals.failed, 0, "{totals:?}");
    ends(load, Herd::pid);
}

#[test]
fn herd_woken_all_together() {
    let load = Herd::start(50, Wake::All, 200.0).unwrap();
    grows("connections", || load.totals().unwrap().connected);
    wait::until("most wake-ups to be for nothing", || {
        let totals = load.totals().unwrap();
        totals.wakeups > 5 * totals.accepted && totals.futile > totals.wakeups / 2
    });
    ends(load, Herd::pid);
}
