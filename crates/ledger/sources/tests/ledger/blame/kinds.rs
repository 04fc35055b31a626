//! Each kind of culprit that a load can cause on purpose.

use super::{booked, closed, keeping, pairs_of, spinners, Blame, BlameOptions, Books, WINDOW};
use crate::moved::Group;
use crate::moves::bind;
use exactop_model::blame::Culprit;
use exactop_testkit::wait;
use exactop_workloads::workloads::{ForkStorm, Spin, Tickers};
use std::time::Duration;

/// The pairs of a group.
fn of_group(blame: &Blame, group: &Group) -> Blame {
    let mut own = blame.clone();
    own.pairs.retain(|(victim, _), _| victim.is_some_and(|v| v.cgroup_id == group.id()));
    own
}

fn open(floor_ns: u64) -> Books {
    Books::open(&keeping(BlameOptions { floor_ns, ..BlameOptions::default() }))
}

#[test]
fn waits_below_the_floor_are_brief_and_no_others() {
    let Some(_machine) = crate::machine() else { return };
    let Some([one, _two]) = spinners([("one", 0, 100), ("two", 0, 100)]) else { return };
    for (floor_ns, all_are_brief) in [(u64::MAX, true), (0, false)] {
        let mut books = open(floor_ns);
        let mut sums = Blame::default();
        wait::until("waits of a tenth of a second", || {
            let window = books.window(WINDOW);
            sums.add(&closed(&books, &window));
            pairs_of(&sums, &one.group).values().sum::<u64>() > 100_000_000
        });
        let own = of_group(&sums, &one.group);
        let is_brief = |culprit: &Culprit| *culprit == Culprit::Brief;
        assert_eq!(booked(&own, is_brief) > 0, all_are_brief, "{:?}", own.pairs);
        // A wait whose end is hidden, or that was under way as the books opened, is older.
        let is_named = |culprit: &Culprit| !is_brief(culprit) && *culprit != Culprit::Older;
        assert_eq!(booked(&own, is_named) > 0, !all_are_brief, "{:?}", own.pairs);
    }
}

/// A CPU remembers 256 stays. More of them pass while a light task waits beside a storm of forks.
#[test]
fn a_wait_that_outlasts_the_stays_of_its_cpu_is_older() {
    let Some(_machine) = crate::machine() else { return };
    let Some([light, _heavy]) = spinners([("light", 0, 1), ("heavy", 0, 100)]) else { return };
    let storm = ForkStorm::start(2).expect("a storm");
    storm.pids().into_iter().for_each(|pid| bind(pid, &[0]));
    let mut books = super::open();
    let mut sums = Blame::default();
    wait::until("a wait that is older and one that is not", || {
        let window = books.window(WINDOW);
        sums.add(&closed(&books, &window));
        let own = of_group(&sums, &light.group);
        let older = booked(&own, |culprit| *culprit == Culprit::Older);
        let named = booked(&own, |culprit| matches!(culprit, Culprit::Task(_)));
        older > 1_000_000 && named > 1_000_000
    });
}

/// Ticks interrupt a spinner while the other one waits.
#[test]
fn interrupts_are_a_culprit_while_they_are_measured() {
    let Some(_machine) = crate::machine() else { return };
    let _spin = Spin::start(2, Some(&[0])).expect("a worker");
    let mut books = super::open();
    let by_interrupts = |blame: &Blame| booked(blame, |c| *c == Culprit::Interrupts);
    let window = books.window(WINDOW);
    assert_eq!(by_interrupts(&closed(&books, &window)), 0, "not measured");
    books.interrupts(true);
    books.find("waits for interrupts", |books, window| {
        (by_interrupts(&closed(books, &window)) > 0).then_some(())
    });
}

/// A sleeper that wakes up on an idle CPU waits until the CPU is awake.
#[test]
fn an_idle_cpu_that_wakes_up_is_a_culprit() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = Group::new("sleepers") else {
        return eprintln!("left out: no control group can be made here");
    };
    let tickers = Tickers::start(20, Duration::from_millis(10)).expect("tickers");
    tickers.pids().into_iter().for_each(|pid| {
        group.take(pid);
    });
    let sleepers = (tickers, group);
    let mut books = open(0);
    let (mut sums, mut idle_ns, mut time_ns) = (Blame::default(), 0, 0);
    for _ in 0..4 {
        let window = books.window(WINDOW);
        sums.add(&closed(&books, &window));
        idle_ns += window.cpus.iter().map(|cpu| cpu.time.idle_ns).sum::<u64>();
        time_ns += window.cpus.iter().map(|cpu| cpu.time.idle_ns + cpu.time.task_ns).sum::<u64>();
    }
    if idle_ns < time_ns / 20 {
        return eprintln!("left out: the machine is busy, {idle_ns} ns of {time_ns} idle");
    }
    let own = of_group(&sums, &sleepers.1);
    assert!(booked(&own, |culprit| *culprit == Culprit::Idle) > 0, "{:?}", own.pairs);
}
