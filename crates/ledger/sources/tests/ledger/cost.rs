//! Tests of the cost of measuring, as counts and ratios; absolute figures are in the benchmarks.

use crate::books::Books;
use exactop_sources::ledger::Options;
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_workloads::workloads::{ExitingThreads, ForkStorm, PipePingPong};
use std::time::Duration;

/// Turns on the kernel's run-time statistics; restores the setting on drop.
struct Statistics {
    before: String,
}

impl Statistics {
    const FILE: &str = "/proc/sys/kernel/bpf_stats_enabled";

    fn on() -> Statistics {
        let before = std::fs::read_to_string(Self::FILE).expect("proc_sys_kernel(5)");
        std::fs::write(Self::FILE, "1").expect("root may");
        Statistics { before }
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        let _ = std::fs::write(Self::FILE, &self.before);
    }
}

/// The cost of an event is multiplied by the number of program runs, of any program and whatever it
/// did. The kernel's count of runs is the witness.
#[test]
fn every_program_run_counts_as_an_event() {
    let Some(_machine) = crate::machine() else { return };
    let split = SplitOptions {
        split: MeasurePolicy::Always,
        irq: MeasurePolicy::Always,
        ..SplitOptions::default()
    };
    let mut books = Books::open(&Options { split, ..Options::default() });
    let _statistics = Statistics::on();
    let _load = (ForkStorm::start(1), PipePingPong::start(2), ExitingThreads::start(1));
    let runs = |b: &Books| b.ledger.program_stats().iter().map(|s| s.runs).sum::<u64>();
    // Readings around both ends, because much may happen between an end and a reading on a busy
    // machine.
    let before = runs(&books);
    books.close();
    let begun = runs(&books);
    let (mut events, mut ending) = (0, 0);
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(400));
        ending = runs(&books);
        let window = books.close().expect("a window is open");
        events += window.cost.bpf_events.expect("the ledger counts them");
    }
    let (least, most) = (ending - begun, runs(&books) - before);
    println!("{events} events, {least} to {most} runs of programs");
    // Runs by the reader at the windows' ends are no events.
    let margin = if crate::emulated() { least / 4 } else { least / 20 };
    assert!(events + margin >= least && events <= most + margin, "{events} {least} {most}");
}

#[test]
fn the_cost_of_an_event_is_measured_and_the_statistics_are_turned_off() {
    let Some(_machine) = crate::machine() else { return };
    if crate::emulated() {
        eprintln!("left out: emulated");
        return;
    }
    let mut books = Books::open(&Options::default());
    let _load = PipePingPong::start(50).expect("ping-pong");
    // On a busy machine the first window may have measured it already.
    let measured = books.ledger.ns_per_event().is_some();
    assert!(measured || holds_statistics_on(), "they are on while it is measured");
    let (ns, events) = books.find("5,000 events that cost something", |_, window| {
        let cost = window.end.cost.bpf_ns.zip(window.end.cost.bpf_events);
        cost.filter(|&(ns, events)| ns > 0 && events > 5_000)
    });
    println!("{:?} ns an event, {ns} ns for {events} events", books.ledger.ns_per_event());
    books.find("the kernel to measure no more for us", |_, _| {
        (!holds_statistics_on()).then_some(())
    });
}

/// True if this process has turned on the kernel's run-time statistics. Another program may also
/// turn them on or off at any time.
fn holds_statistics_on() -> bool {
    let open = std::fs::read_dir("/proc/self/fd").expect("our own descriptors");
    let names = open.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
    names.into_iter().any(|name| name.to_string_lossy().contains("bpf-stats"))
}

/// The cost of events in a window by the ledger, over their cost by the kernel's statistics, whose
/// bounds are readings before and after each end.
fn cost_over_truth(books: &mut Books) -> f64 {
    let took = |b: &Books| b.ledger.program_stats().iter().map(|s| s.run_time_ns).sum::<u64>();
    let before = took(books);
    books.close().expect("a window is open");
    let begun = took(books);
    std::thread::sleep(Duration::from_millis(500));
    let ending = took(books);
    let window = books.close().expect("a window is open");
    let (least, most) = ((ending - begun) as f64, (took(books) - before) as f64);
    let told = window.cost.bpf_ns.expect("calibrated");
    let all = window.length_ns() * window.cpus.len() as u64;
    assert!(told < all, "{told} ns of {all} ns that all CPUs have");
    let told = told as f64;
    told / told.clamp(least, most)
}

#[test]
fn the_cost_of_an_event_is_measured_again_when_the_load_changes() {
    let Some(_machine) = crate::machine() else { return };
    if crate::emulated() {
        eprintln!("left out: emulated");
        return;
    }
    let mut books = Books::open(&Options::default());
    // Few events with long gaps: each finds cold caches.
    books.find("a first figure", |books, _| books.ledger.ns_per_event());
    // The witness: the kernel's own statistics, on from here.
    let _statistics = Statistics::on();
    let _load = PipePingPong::start(2).expect("ping-pong");
    let mut off = Vec::new();
    for _ in 0..6 {
        off.push(cost_over_truth(&mut books));
    }
    println!("told / measured, window by window: {off:?}");
    // A hypervisor that takes a CPU for milliseconds within a program spoils a window.
    let right = off[1..].iter().filter(|&ratio| (0.33..3.0).contains(ratio)).count();
    assert!(right >= 3, "{off:?}");
}
