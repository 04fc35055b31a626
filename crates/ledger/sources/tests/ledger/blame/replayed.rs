//! The pairs of groups on one CPU, from a log of all switches and wake-ups. It goes forward and adds
//! each stay to all waits of its CPU at once; the programs go back from a wait's end. Waits begin at
//! a preemption and at a wake-up.

use super::{closed, open, pairs_of, spinners, WINDOW};
use crate::moved::Group;
use crate::moves::bind;
use exactop_model::blame::Blame;
use exactop_model::on_demand::switchlog::{SwitchEvent, SwitchEventKind};
use exactop_sources::on_demand::switchlog::{SwitchLog, AT_ONCE, BUFFER};
use exactop_testkit::wait;
use exactop_workloads::workloads::{ForkStorm, Tickers};
use std::collections::BTreeMap;
use std::time::Duration;

/// The CPU that the spinners share.
const CPU: u32 = 0;
/// Shorter waits have no culprit.
const FLOOR_NS: u64 = 5_000;
/// The log reads its clock after the ledger's programs, and its clock is converted. The reader goes to
/// sleep when a window ends, so a wait often ends that near to it.
const NEAR_NS: u64 = 100_000;
/// How much longer or shorter a wait is by the log's clock than by the ledger's; some 350 ns on a
/// calm machine. Waits for a task that is soon preempted take 20 us.
const APART_NS: u64 = 1_000;

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

/// A group's threads.
struct Threads<'a> {
    group: &'a Group,
    tids: Vec<u32>,
}

/// A wait that has not ended.
struct Begun {
    at_ns: u64,
    /// Its time so far, by the place of who was on the CPU.
    parts: Vec<u64>,
}

/// A bound of what the ledger may have booked.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    /// Without the time around a hidden switch, of which nothing tells whose it is.
    Least,
    /// That time is the task's that came before it, and the task's that left after it.
    Most,
}

/// What each group waited for each other one, by their places in `groups`, in the waits that ended
/// within a time range. A stay of anybody else belongs to the last place.
fn replay(
    events: &[SwitchEvent],
    groups: &[Threads],
    bound: Bound,
    is_in: impl Fn(u64) -> bool,
) -> Vec<Vec<u64>> {
    let bounded = |ns: u64| match bound {
        Bound::Least => ns.saturating_sub(APART_NS),
        Bound::Most => ns + APART_NS,
    };
    let place = |tid: u32| groups.iter().position(|one| one.tids.contains(&tid));
    let others = groups.len();
    let mut pairs = vec![vec![0; others + 1]; others];
    // By thread; only threads that were seen beginning one wait.
    let mut waiting: BTreeMap<u32, Begun> = BTreeMap::new();
    let begin = |waiting: &mut BTreeMap<u32, Begun>, tid: u32, at_ns: u64| {
        if place(tid).is_some() {
            waiting.entry(tid).or_insert(Begun { at_ns, parts: vec![0; others + 1] });
        }
    };
    // The last switch: when, and who came.
    let mut last = None;
    for event in events {
        // All are bound to the CPU, wherever the one that wakes them is.
        let SwitchEventKind::Switch { preempted, state } = event.what else {
            begin(&mut waiting, event.next_tid, event.at_ns);
            continue;
        };
        if event.cpu != CPU {
            continue;
        }
        // The task that leaves had the CPU. If it seems to wait, the switch onto it is hidden, and nothing
        // tells when its wait ended.
        waiting.remove(&event.prev_tid);
        let (last_ns, came) = last.unwrap_or((0, event.prev_tid));
        let on_it = [event.prev_tid, came].map(|tid| place(tid).unwrap_or(others));
        let on_it = match bound {
            _ if on_it[0] == on_it[1] => &on_it[..1],
            Bound::Least => &[],
            Bound::Most => &on_it,
        };
        for begun in waiting.values_mut() {
            for place in on_it {
                begun.parts[*place] += event.at_ns - begun.at_ns.max(last_ns);
            }
        }
        last = Some((event.at_ns, event.next_tid));
        if preempted || state == 0 {
            begin(&mut waiting, event.prev_tid, event.at_ns);
        }
        let Some(Begun { at_ns, parts }) = waiting.remove(&event.next_tid) else { continue };
        if is_in(event.at_ns) && bounded(event.at_ns - at_ns) >= FLOOR_NS {
            let one = place(event.next_tid).expect("it waits");
            for (sum, part) in pairs[one].iter_mut().zip(parts).filter(|(_, part)| *part > 0) {
                *sum += bounded(part);
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
    let Some(woken) = Group::new("woken") else { return };
    let tickers = Tickers::start(4, Duration::from_millis(20)).expect("tickers");
    for pid in tickers.pids() {
        woken.take(pid);
        bind(pid, &[CPU as usize]);
    }
    let mut groups: Vec<Threads> = spinners
        .iter()
        .map(|one| Threads { group: &one.group, tids: one.spin.threads() })
        .collect();
    groups.push(Threads { group: &woken, tids: tickers.pids() });
    let storm = ForkStorm::start(1).expect("a storm");
    let mut log = SwitchLog::open(BUFFER).expect("a log");
    let mut books = open();
    let mut events = Vec::new();
    let mut blame = Blame::default();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    // The first window's waits may have begun before the log.
    books.window(WINDOW);
    wait::until("each group to wait long enough for each spinner", || {
        let window = books.window(WINDOW);
        drain(&mut log, &mut events);
        match ranges.last_mut().filter(|(_, t1)| *t1 == window.t0_ns) {
            Some(range) => range.1 = window.t1_ns,
            None => ranges.push((window.t0_ns, window.t1_ns)),
        }
        blame.add(&closed(&books, &window));
        let long = |one: &Threads| {
            let pairs = pairs_of(&blame, one.group);
            let others = spinners.iter().filter(|other| other.group.id() != one.group.id());
            others.clone().all(|o| pairs.get(&o.group.id()).is_some_and(|ns| *ns > 10_000_000))
        };
        groups.iter().all(long)
    });
    drop(storm);
    log.stop();
    drain(&mut log, &mut events);
    assert_eq!(log.lost(), 0, "the log has all switches");
    // Events of several CPUs may come a little out of order.
    events.sort_by_key(|event| event.at_ns);
    let offset = boot_offset_ns();
    let at = |ns: u64| ns.wrapping_add_signed(offset);
    let ranges: Vec<_> = ranges.into_iter().map(|(t0, t1)| (at(t0), at(t1))).collect();
    let surely = |ns: u64| ranges.iter().any(|(t0, t1)| ns > t0 + NEAR_NS && ns + NEAR_NS <= *t1);
    let perhaps = |ns: u64| ranges.iter().any(|(t0, t1)| ns + NEAR_NS > *t0 && ns <= t1 + NEAR_NS);
    let least = replay(&events, &groups, Bound::Least, surely);
    let most = replay(&events, &groups, Bound::Most, perhaps);
    for (place, one) in groups.iter().enumerate() {
        let pairs = pairs_of(&blame, one.group);
        // To the log, steal is time of the task on the CPU.
        let by_no_task = pairs.get(&0).copied().unwrap_or(0);
        for (by, other) in groups.iter().enumerate() {
            let ours = pairs.get(&other.group.id()).copied().unwrap_or(0);
            let (least, most) = (least[place][by], most[place][by]);
            println!("{} by {}: {ours}, replayed {least} to {most}", place, by);
            assert!(ours + by_no_task + least / 100 + 100_000 >= least, "{ours} of {least}");
            assert!(ours <= most + most / 100 + 100_000, "{ours} of {most}");
        }
    }
}
