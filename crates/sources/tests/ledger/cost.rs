//! What looking costs, as counts and ratios: the absolute figures are in the benchmarks.

use crate::books::Books;
use exactop_sources::ledger::Options;
use exactop_workloads::workloads::PipePingPong;
use std::time::Duration;

#[test]
fn the_cost_of_an_event_gets_known_and_the_kernels_statistics_go_off_again() {
    let Some(_machine) = crate::machine() else { return };
    if crate::emulated() {
        eprintln!("left out: emulated");
        return;
    }
    let mut books = Books::open(&Options::default());
    let load = PipePingPong::start(50).expect("ping-pong");
    let mut cost = None;
    for _ in 0..50 {
        let window = books.window(Duration::from_millis(100));
        cost = window.end.cost.bpf_ns.zip(window.end.cost.bpf_events);
        if books.ledger.program_stats().iter().map(|s| s.runs).sum::<u64>() > 5_000 {
            break;
        }
    }
    let (ns, events) = cost.expect("calibrated");
    println!("{:?} ns an event, {ns} ns for {events} events", books.ledger.ns_per_event());
    assert!(ns > 0 && events > 5_000);
    let others = std::fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled");
    if others.is_ok_and(|on| on.trim() == "1") {
        eprintln!("someone else has the kernel's statistics on: not looked at further");
        return;
    }
    books.close();
    let runs = |b: &Books| b.ledger.program_stats().iter().map(|s| s.runs).sum::<u64>();
    let (before, rounds) = (runs(&books), load.rounds().expect("rounds"));
    std::thread::sleep(Duration::from_millis(200));
    assert!(load.rounds().expect("rounds") > rounds, "the load runs on");
    assert_eq!(runs(&books), before, "the kernel goes on measuring");
}

/// What a window says its events cost, and what the kernel's statistics say they took.
fn cost_and_truth(books: &mut Books) -> (f64, f64) {
    let took = |b: &Books| b.ledger.program_stats().iter().map(|s| s.run_time_ns).sum::<u64>();
    let before = took(books);
    let window = books.window(Duration::from_millis(500));
    let told = window.cost.bpf_ns.expect("calibrated");
    let most = window.length_ns() * window.cpus.len() as u64;
    assert!(told < most, "{told} ns of {most} ns that all CPUs have");
    (told as f64, (took(books) - before) as f64)
}

#[test]
fn the_cost_of_an_event_is_measured_again_when_the_load_changes() {
    let Some(_machine) = crate::machine() else { return };
    if crate::emulated() {
        eprintln!("left out: emulated");
        return;
    }
    let mut books = Books::open(&Options::default());
    // Few events, far between: each finds cold caches.
    while books.ledger.ns_per_event().is_none() {
        books.window(Duration::from_millis(200));
    }
    // The witness: the kernel's own statistics, on all the time from here.
    let statistics = std::fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled");
    std::fs::write("/proc/sys/kernel/bpf_stats_enabled", "1").expect("root may");
    let _load = PipePingPong::start(2).expect("ping-pong");
    let mut off = Vec::new();
    for _ in 0..4 {
        let (told, truth) = cost_and_truth(&mut books);
        off.push(told / truth);
    }
    let _ = std::fs::write("/proc/sys/kernel/bpf_stats_enabled", statistics.unwrap_or_default());
    println!("told / measured, window by window: {off:?}");
    assert!(off[1..].iter().all(|ratio| (0.33..3.0).contains(ratio)), "{off:?}");
}
