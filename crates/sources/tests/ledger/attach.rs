//! The beginning: programs are attached one after the other while everything runs, and the first
//! window must close all the same.

use crate::books::Books;
use exactop_model::Counter;
use exactop_sources::ledger::Options;
use exactop_workloads::herd::Wake;
use exactop_workloads::workloads::{ForkStorm, Herd, PipePingPong};
use std::time::Duration;

#[test]
fn first_windows_close_under_load() {
    let Some(_machine) = crate::machine() else { return };
    let _storm = ForkStorm::start(1).expect("a fork storm");
    let _pipes = PipePingPong::start(40).expect("ping-pong");
    // Ours alone, after the loads inherited the old one.
    let _ = rustix::process::setpriority_process(None, -19);
    let times = if crate::emulated() { 2 } else { 20 };
    let mut faults = Vec::new();
    for time in 0..times {
        let mut books = Books::open(&Options::default());
        for n in 0..3 {
            let window = books.window(Duration::from_millis(10 + n * 15));
            assert!(window.cpus.iter().any(|c| c.time.switches > Some(0)), "nothing happened");
            let wrong = books.faults(&window);
            faults.extend(wrong.into_iter().map(|f| format!("attach {time}, window {n}: {f}")));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Whoever slept when the ledger came, and sleeps on, is asleep for what it fell asleep for.
#[test]
fn sleepers_from_before_are_known_to_wait_for_a_lock() {
    let Some(_machine) = crate::machine() else { return };
    // A connection in ten minutes: after the first one all workers wait.
    let herd = Herd::start(20, Wake::One, 1.0 / 600.0).expect("a herd");
    let waits = |tid: u32| {
        let call = std::fs::read_to_string(format!("/proc/{}/task/{tid}/syscall", herd.pid()));
        call.is_ok_and(|call| call.starts_with("202 "))
    };
    let tasks = std::fs::read_dir(format!("/proc/{}/task", herd.pid())).expect("threads");
    let tids: Vec<u32> = tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect();
    std::thread::sleep(Duration::from_millis(300));
    let workers: Vec<u32> = tids.into_iter().filter(|&tid| waits(tid)).collect();
    assert_eq!(workers.len(), 20, "not all workers wait");
    let mut books = Books::open(&Options::default());
    let window = books.window(Duration::from_millis(200));
    let frame = books.threads(&window);
    for tid in workers {
        let row = frame.rows.iter().find(|row| row.key.tid == tid).expect("a row");
        assert_eq!(row.delta.get(Counter::LockNs), Some(row.life_ns), "{row:?}");
    }
}

/// CAP_PERFMON and CAP_BPF of include/uapi/linux/capability.h.
const FOR_PROGRAMS: u64 = 1 << 38 | 1 << 39;

#[test]
fn the_thread_that_adds_slots_has_no_rights_but_those_for_maps() {
    let Some(_machine) = crate::machine() else { return };
    let _books = Books::open(&Options::default());
    let effective = || {
        let threads = std::fs::read_dir("/proc/self/task").expect("proc(5)").flatten();
        let mut statuses =
            threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        let status = statuses.find(|status| status.contains("Name:\texactop-growth\n"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"))?;
        u64::from_str_radix(line, 16).ok()
    };
    // It gives up rights as the first thing it does, some time after it was started.
    for _ in 0..500 {
        if effective().is_some_and(|caps| caps & !FOR_PROGRAMS == 0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it has {:x?}", effective());
}
