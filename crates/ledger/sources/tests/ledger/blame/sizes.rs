//! Histograms of waits: their counts are the dispatches and their sums the waits of every party, in
//! every window, and the kernel counts the same.

use super::{closed, keeping, open, spinners, under_sizes, Blame, BlameOptions, Spinner, WINDOW};
use crate::books::Books;
use exactop_model::blame::rows::KEYS;
use exactop_model::blame::sizes::{end_ns, Sizes, WaitKind, BUCKETS};
use exactop_model::blame::Waits;
use exactop_sources::ledger::{Options, WaitSizesOptions};
use exactop_testkit::wait;
use exactop_workloads::workloads::{ForkStorm, PipePingPong, Spin};
use std::fs;
use std::time::Duration;

fn with_sizes(wait_sizes: WaitSizesOptions) -> Options {
    Options { wait_sizes: Some(wait_sizes), ..keeping(BlameOptions::default()) }
}

/// Holds a window's histograms against its waits: for each party, and as sums under every key.
pub fn close(blame: &Blame) {
    assert_eq!(blame.hist_residual_ns(), 0);
    let mut all = Sizes::default();
    for (party, sizes) in &blame.sizes {
        assert_eq!((sizes.residual_ns(), sizes.missing_dispatches()), (0, 0), "{party:?}");
        all.add(sizes);
        for kind in WaitKind::ALL {
            for (bucket, sized) in sizes.histogram(kind).buckets().iter().enumerate() {
                // A wait without a dispatch adds its time alone.
                let begins = if bucket == 0 { 0 } else { end_ns(bucket - 1).expect("an end") };
                assert!(sized.ns >= sized.count * begins, "{party:?} {bucket} {sized:?}");
                let is_within =
                    sized.max_ns >= begins && end_ns(bucket).is_none_or(|end| sized.max_ns < end);
                assert!(sized.count == 0 || is_within, "{party:?} {bucket} {sized:?}");
            }
        }
    }
    let sum = |of: fn(&Waits) -> i64| blame.waits.values().map(of).sum::<i64>();
    let waits = (all.waits.lat_ns, all.waits.dispatches);
    assert_eq!(waits, (sum(|waits| waits.lat_ns), sum(|waits| waits.dispatches)));
    for by in KEYS {
        let mut under = Sizes::default();
        for row in under_sizes(blame, by).rows {
            assert_eq!((row.sizes.residual_ns(), row.sizes.missing_dispatches()), (0, 0), "{by}");
            under.add(&row.sizes);
        }
        assert_eq!(under, all, "{by}");
    }
}

/// The waits of a group's parties.
fn of_group(blame: &Blame, id: u64) -> Sizes {
    let mut sum = Sizes::default();
    let mine = |party: &exactop_model::blame::Party| party.cgroup_id == id;
    for (_, sizes) in blame.sizes.iter().filter(|(party, _)| party.as_ref().is_some_and(mine)) {
        sum.add(sizes);
    }
    sum
}

#[test]
fn histograms_are_all_waits_under_a_storm_of_forks_and_wake_ups() {
    let Some(_machine) = crate::machine() else { return };
    let _spin = Spin::start(2, None).expect("a worker");
    let _pairs = PipePingPong::start(2).expect("pairs");
    let _storm = ForkStorm::start(1).expect("a storm");
    let mut books = open();
    let mut all = Sizes::default();
    wait::until("many waits of both kinds", || {
        let window = books.window(WINDOW);
        let blame = closed(&books, &window);
        blame.sizes.values().for_each(|sizes| all.add(sizes));
        let of = |kind| all.histogram(kind).count();
        of(WaitKind::Woken) > 10_000 && of(WaitKind::Preempted) > 1_000
    });
}

/// What the kernel counted of threads: switches, waits that ended, ns, and times on a CPU.
fn counted(tids: &[(u32, u32)]) -> [u64; 3] {
    let mut sums = [0; 3];
    for (pid, tid) in tids {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}")).expect("a thread")
        };
        let status = read("status");
        let switches = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        sums[0] += switches.map(|(_, n)| n.trim().parse::<u64>().expect("a number")).sum::<u64>();
        let schedstat: Vec<u64> =
            read("schedstat").split_whitespace().map(|n| n.parse().expect("a number")).collect();
        sums[1] += schedstat[1];
        sums[2] += schedstat[2];
    }
    sums
}

/// Workers in a group of their own: the kernel's counts of their switches and of their waits, from
/// just before and just after both ends of the window, enclose the histograms.
#[test]
fn the_kernel_counts_the_same_dispatches_and_waits() {
    let Some(_machine) = crate::machine() else { return };
    let Some([first, second]) = spinners([("first", 0, 100), ("second", 0, 100)]) else { return };
    let pairs = PipePingPong::start(1).expect("a pair");
    first.group.take(pairs.pid());
    let tids: Vec<(u32, u32)> = [first.spin.pid(), pairs.pid()]
        .iter()
        .flat_map(|pid| {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
            tasks
                .map(|task| task.expect("a thread").file_name().to_string_lossy().parse())
                .map(|tid| (*pid, tid.expect("a number")))
        })
        .collect();
    let mut books = open();
    let (window, looks) = books.between(WINDOW * 4, || counted(&tids));
    let blame = closed(&books, &window);
    let sizes = of_group(&blame, first.group.id());
    let [counts, ns] = [
        WaitKind::ALL.map(|kind| sizes.histogram(kind).count()).iter().sum::<u64>(),
        WaitKind::ALL.map(|kind| sizes.histogram(kind).ns()).iter().sum::<u64>(),
    ];
    let within =
        |at: usize| (looks.ending[at] - looks.begun[at], looks.after[at] - looks.before[at]);
    println!("{counts} dispatches of {tids:?}, {ns} ns; by the kernel {:?}", [0, 1, 2].map(within));
    let threads = tids.len() as u64;
    // A thread on a CPU has one dispatch more than switches.
    let (least, most) = within(0);
    assert!(counts + threads >= least && counts <= most + threads, "{counts}: {least} to {most}");
    let (least, most) = within(2);
    assert!(counts >= least && counts <= most, "{counts}: {least} to {most}");
    drop((second, pairs));
    if crate::left_out("its CPUs take a millisecond to queue a task that another one wakes") {
        return;
    }
    // Their clocks are read at other instants of a switch.
    let (least, most) = within(1);
    let apart = 1_000_000 + most / 20 + counts * 1_000;
    assert!(ns + apart >= least && ns <= most + apart, "{ns}: {least} to {most}");
}

/// Each wait is one count of its whole size, although the task changes its CPU while it waits.
#[test]
fn a_wait_on_two_cpus_is_one() {
    let Some(_machine) = crate::machine() else { return };
    if std::thread::available_parallelism().expect("CPUs").get() < 2 {
        return eprintln!("left out: one CPU");
    }
    let Some([mover, _first, _second]) =
        spinners([("mover", 0, 2), ("first", 0, 100), ("second", 1, 100)])
    else {
        return;
    };
    let mut books = open();
    let (mut moves, mut sum) = (0u64, Sizes::default());
    wait::until("waits with moves", || {
        let dispatches = sum.waits.dispatches as u64;
        moves += move_often(&mover);
        let window = books.window(Duration::from_millis(1));
        let sizes = of_group(&closed(&books, &window), mover.group.id());
        // It ends in no other way.
        for kind in WaitKind::ALL {
            for bucket in 0..BUCKETS - 1 {
                let sized = sizes.histogram(kind).buckets()[bucket];
                let most = sized.count * end_ns(bucket).expect("an end");
                assert!(sized.ns == 0 || sized.ns < most, "{bucket} {sized:?}");
            }
        }
        sum.add(&sizes);
        dispatches > 20 && moves > 2 * dispatches
    });
}

/// Moves a spinner between two CPUs; returns how often.
fn move_often(mover: &Spinner) -> u64 {
    let tid = rustix::thread::Pid::from_raw(mover.tid() as i32);
    for at in 0..50 {
        let mut set = rustix::thread::CpuSet::new();
        set.set(at % 2);
        rustix::thread::sched_setaffinity(tid, &set).expect("allowed");
        std::thread::sleep(Duration::from_millis(1));
    }
    50
}

#[test]
fn a_missing_wait_is_a_residual_of_its_own() {
    let Some(_machine) = crate::machine() else { return };
    let _spin = Spin::start(3, Some(&[0])).expect("a worker");
    let broken = WaitSizesOptions { unsized_one_in: 3, ..WaitSizesOptions::default() };
    let mut books = Books::open(&with_sizes(broken));
    books.find("a residual", |_, window| {
        let blame = window.blame.expect("a book");
        assert_eq!(blame.residual_ns(), 0, "the book itself closes");
        let missing: i64 = blame.sizes.values().map(Sizes::missing_dispatches).sum();
        (blame.hist_residual_ns() > 0 && missing > 0).then_some(())
    });
}

/// Full tables: waits without a place are those of nobody, which has them all.
#[test]
fn waits_without_a_place_are_those_of_nobody() {
    let Some(_machine) = crate::machine() else { return };
    let _spin = Spin::start(2, Some(&[0])).expect("a worker");
    let _storm = ForkStorm::start(1).expect("a storm");
    let small = WaitSizesOptions { places: 2, ..WaitSizesOptions::default() };
    let mut books = Books::open(&with_sizes(small));
    books.find("waits without a place", |books, window| {
        let blame = closed(books, &window);
        let nobody = blame.sizes.get(&None)?;
        (nobody.waits.lat_ns > 0 && nobody.waits.dispatches > 0).then_some(())
    });
}
