//! The pairs of pinned spinners, from a log of all switches. It goes forward and adds each stay to
//! all waits of its CPU at once; the programs go back from a wait's end.

use super::{closed, open, pairs_of, spinners, Spinner, WINDOW};
use exactop_model::blame::Blame;
use exactop_model::on_demand::switchlog::{SwitchEvent, SwitchEventKind};
use exactop_sources::on_demand::switchlog::{SwitchLog, AT_ONCE, BUFFER};
use exactop_testkit::wait;
use exactop_workloads::workloads::ForkStorm;
use std::collections::BTreeMap;

/// The CPU that the spinners share.
const CPU: u32 = 0;
/// Shorter waits have no culprit.
const FLOOR_NS: u64 = 5_000;
/// The log reads its clock after the ledger's programs, and its clock is converted. The reader goes to
/// sleep when a window ends, so a wait often ends that near to it.
const NEAR_NS: u64 = 100_000;

fn now_ns(clock: rustix::time::ClockId) -> i64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// CLOCK_BOOTTIME less CLOCK_MONOTONIC; they differ only by suspensions.
fn boot_offset_ns() -> i64 {
    use rustix::time::ClockId::{Boottime, Monotonic};
    let reads = (0..100).map(|_| {
        let before = now_ns(Monotonic);
        let boot = now_ns(Boottime);
        let after = now_ns(Monotonic);
        (after - before, boot - before)
    });
    reads.min().expect("reads").1
}

/// Takes all events: one read takes a part of what a busy machine writes.
fn drain(log: &mut SwitchLog, events: &mut Vec<SwitchEvent>) {
    loop {
        let read = log.read().expect("events");
        let is_last = read.len() < AT_ONCE;
        events.extend(read);
        if is_last {
            return;
        }
    }
}

/// What each spinner waited for each other one, by their places in `spinners`, in the waits that ended
/// within a time range. A stay of anybody else belongs to the last place.
fn replay(
    events: &[SwitchEvent],
    spinners: &[&Spinner],
    is_in: impl Fn(u64) -> bool,
) -> Vec<Vec<u64>> {
    let place = |tid: u32| spinners.iter().position(|one| one.tid() == tid);
    let others = spinners.len();
    let mut pairs = vec![vec![0; others + 1]; others];
    // The parts of each wait so far; only spinners that were seen leaving the CPU wait.
    let mut waiting: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut last_ns = None;
    for event in events.iter().filter(|event| event.cpu == CPU) {
        let SwitchEventKind::Switch { .. } = event.what else { continue };
        if let Some(last_ns) = last_ns {
            let on_it = place(event.prev_tid).unwrap_or(others);
            for parts in waiting.values_mut() {
                parts[on_it] += event.at_ns - last_ns;
            }
        }
        last_ns = Some(event.at_ns);
        if let Some(one) = place(event.prev_tid) {
            waiting.insert(one, vec![0; others + 1]);
        }
        let Some(one) = place(event.next_tid) else { continue };
        let Some(parts) = waiting.remove(&one) else { continue };
        if is_in(event.at_ns) && parts.iter().sum::<u64>() >= FLOOR_NS {
            for (sum, part) in pairs[one].iter_mut().zip(parts) {
                *sum += part;
            }
        }
    }
    pairs
}

#[test]
fn pairs_are_those_of_a_replay() {
    let Some(_machine) = crate::machine() else { return };
    if crate::left_out("its clocks differ between reads") {
        return;
    }
    let of = [("one", 0, 100), ("two", 0, 200), ("three", 0, 400)];
    let Some(spinners) = spinners(of) else { return };
    let storm = ForkStorm::start(1).expect("a storm");
    let mut log = SwitchLog::open(BUFFER).expect("a log");
    let mut books = open();
    let mut events = Vec::new();
    let mut blame = Blame::default();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    // The first window's waits may have begun before the log.
    books.window(WINDOW);
    wait::until("each spinner to wait long enough for each other", || {
        let window = books.window(WINDOW);
        drain(&mut log, &mut events);
        match ranges.last_mut().filter(|(_, t1)| *t1 == window.t0_ns) {
            Some(range) => range.1 = window.t1_ns,
            None => ranges.push((window.t0_ns, window.t1_ns)),
        }
        blame.add(&closed(&books, &window));
        let long = |one: &Spinner| {
            let pairs = pairs_of(&blame, &one.group);
            let others = spinners.iter().filter(|other| other.group.id() != one.group.id());
            others.clone().all(|o| pairs.get(&o.group.id()).is_some_and(|ns| *ns > 50_000_000))
        };
        spinners.iter().all(long)
    });
    drop(storm);
    log.stop();
    drain(&mut log, &mut events);
    assert_eq!(log.lost(), 0, "the log has all switches");
    let offset = boot_offset_ns();
    let at = |ns: u64| ns.wrapping_add_signed(offset);
    let ranges: Vec<_> = ranges.into_iter().map(|(t0, t1)| (at(t0), at(t1))).collect();
    let all: Vec<&Spinner> = spinners.iter().collect();
    let surely = |ns: u64| ranges.iter().any(|(t0, t1)| ns > t0 + NEAR_NS && ns + NEAR_NS <= *t1);
    let perhaps = |ns: u64| ranges.iter().any(|(t0, t1)| ns + NEAR_NS > *t0 && ns <= t1 + NEAR_NS);
    let least = replay(&events, &all, surely);
    let most = replay(&events, &all, perhaps);
    for (place, one) in all.iter().enumerate() {
        let pairs = pairs_of(&blame, &one.group);
        // To the log, steal is time of the task on the CPU.
        let by_no_task = pairs.get(&0).copied().unwrap_or(0);
        for (by, other) in all.iter().enumerate() {
            let ours = pairs.get(&other.group.id()).copied().unwrap_or(0);
            let (least, most) = (least[place][by], most[place][by]);
            println!("{} by {}: {ours}, replayed {least} to {most}", one.tid(), other.tid());
            assert!(ours + by_no_task + least / 100 + 1_000_000 >= least, "{ours} of {least}");
            assert!(ours <= most + most / 100 + 1_000_000, "{ours} of {most}");
        }
    }
}
