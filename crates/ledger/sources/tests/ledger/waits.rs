//! Tests of waits against threads that know what they wait for.

use crate::microstates::QuotaGroup;
use crate::moves::bind;
use crate::until;
use exactop_model::on_demand::waits::{WaitKind, WaitRow, WaitWindow};
use exactop_model::{SyscallNr, TaskRef};
use exactop_sources::on_demand::waits::{Options, Waits};
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use exactop_workloads::workloads::{PipePingPong, Spin};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

fn open(pids: &[u32]) -> Waits {
    Waits::open_with(pids, &Options::default())
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

fn of(window: &WaitWindow, tid: u32) -> &WaitRow {
    window.rows.iter().find(|r| r.who.tid == Some(tid)).expect("its row")
}

fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Of two threads on one CPU, one runs at the end of the window and has no open wait.
#[test]
fn each_row_of_the_first_window_has_a_name() {
    let Some(_machine) = crate::machine() else { return };
    let spin = Spin::start(2, Some(&[0])).expect("busy threads");
    let mut source = open(&[spin.pid()]);
    let waits = |tid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{tid}/schedstat")).expect("it runs");
        text.split(' ').nth(2).and_then(|n| n.trim().parse::<u64>().ok()).expect("a number")
    };
    let before: Vec<u64> = spin.threads().iter().map(waits).collect();
    wait::until("waits of both", || {
        spin.threads().iter().zip(&before).all(|(tid, before)| waits(tid) > before + 1)
    });
    let window = source.window().expect("a window");
    let name = std::fs::read_to_string(format!("/proc/{}/comm", spin.pid())).expect("it runs");
    for row in spin.threads().iter().map(|tid| of(&window, *tid)) {
        assert!(row.preempted.count > 0, "{row:?}");
        assert_eq!(row.who.process().comm.to_string(), name.trim_end(), "{row:?}");
    }
}

#[test]
fn sleeps_know_their_system_call() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = open(&[std::process::id()]);
    let (tell, told) = mpsc::channel();
    let sleeper = thread::spawn(move || {
        let took = |began: Instant| began.elapsed().as_nanos() as u64;
        let began = Instant::now();
        sleep(Duration::from_millis(200));
        let napped = took(began);
        let (_keep, read) =
            rustix::pipe::pipe().map(|(read, write)| (write, read)).expect("a pipe");
        let began = Instant::now();
        let mut fds = [rustix::event::PollFd::new(&read, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(
            &mut fds,
            Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 }),
        );
        tell.send((tid(), napped, took(began))).expect("told");
        thread::park_timeout(Duration::from_secs(600));
    });
    let (tid, napped, polled) = told.recv().expect("told");
    until::in_call(std::process::id(), tid, "futex");
    sleep(Duration::from_millis(150));
    let window = source.window().expect("a window");
    let row = of(&window, tid);
    // By the thread's own clock, a wait is sleep except for the time that the thread ran and waited
    // for a CPU.
    let ran =
        std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).expect("it waits");
    let ran: u64 = ran.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number");
    let awake = ran + row.woken.ns + row.preempted.ns;
    println!("{:?}, napped {napped}, polled {polled}, {awake} awake", row.sleeps);
    let slept = |row: &WaitRow, kind, name: &str| {
        let nr = SyscallNr::named(name).expect("a call");
        row.sleeps.iter().find(|s| s.kind == kind && s.nr == nr).map_or(0, |s| s.ns)
    };
    let nap = slept(row, WaitKind::Sleep, "clock_nanosleep");
    assert!(nap <= napped && nap + awake >= napped - napped / 100, "{nap} {napped} {awake}");
    let poll = slept(row, WaitKind::Sleep, "ppoll") + slept(row, WaitKind::Sleep, "poll");
    assert!(poll <= polled && poll + awake >= polled - polled / 100, "{poll} {polled} {awake}");
    let park = slept(row, WaitKind::Lock, "futex");
    assert!(park > 100_000_000, "a wait that goes on counts: {park}");

    // The rest of the open wait, without the part that was counted before.
    sleep(Duration::from_millis(100));
    sleeper.thread().unpark();
    sleeper.join().expect("joined");
    let next = source.window().expect("a window");
    let park = slept(of(&next, tid), WaitKind::Lock, "futex");
    let length = next.t1_ns - next.t0_ns;
    assert!(park > 50_000_000 && park <= length, "{park} of {length}");
}

#[test]
fn the_hog_is_the_task_that_ran_instead() {
    let Some(_machine) = crate::machine() else { return };
    // Two threads on one CPU: each waits while the other runs.
    let hog = Spin::start(1, Some(&[0])).expect("a hog");
    let victim = Spin::start(1, Some(&[0])).expect("a victim");
    sleep(Duration::from_millis(300));
    let thread = victim.threads()[0];
    let tgid = victim.pid();
    let schedstat = |pid: u32, thread: u32| {
        let path = format!("/proc/{pid}/task/{thread}/schedstat");
        let text = std::fs::read_to_string(path).expect("schedstat");
        let mut figures = text.split_whitespace().map(|f| f.parse::<u64>().expect("a number"));
        (figures.next().expect("run time"), figures.next().expect("run_delay"))
    };
    let looks = || (schedstat(tgid, thread).1, schedstat(hog.pid(), hog.threads()[0]).0);
    let mut source = open(&[tgid]);
    // Other tasks may have the CPU between a reading and the window's end, so there is one reading
    // before and one after each end.
    let outer = looks();
    let began = Instant::now();
    source.window().expect("a window");
    let mut reading_ns = began.elapsed().as_nanos() as u64;
    let inner = looks();
    wait::until("the victim to wait for a second", || looks().0 >= inner.0 + 1_000_000_000);
    let inner_end = looks();
    let began = Instant::now();
    let window = source.window().expect("a window");
    reading_ns += began.elapsed().as_nanos() as u64;
    let outer_end = looks();
    let waited = inner_end.0 - inner.0..=outer_end.0 - outer.0;
    let row = of(&window, thread);
    let ours = row.preempted.ns + row.woken.ns;
    println!("waited {ours} ns, by schedstat {waited:?} ns; {:?}", row.ran_instead);
    // Both count a wait when it is over; the two windows differ by one wait at each end.
    let longest = row.preempted.max_ns.max(row.woken.max_ns).expect("it waited");
    let beside = 2 * longest + ours / 50;
    assert!(ours + beside >= *waited.start(), "{ours} {waited:?} {longest}");
    assert!(ours <= waited.end() + beside, "{ours} {waited:?} {longest}");
    let instead: u64 = row.ran_instead.iter().map(|o| o.amount).sum();
    // The two tables are read one after the other: waits that end meanwhile, and a wait at each
    // end, may be in one of them only.
    assert!(instead.abs_diff(ours) <= 2 * longest + reading_ns, "{instead} of {ours}, {longest}");
    let by = |is: &dyn Fn(&TaskRef) -> bool| -> u64 {
        row.ran_instead.iter().filter(|o| is(&o.who)).map(|o| o.amount).sum()
    };
    let by_hog = by(&|who| who.tgid == hog.pid());
    let earlier = by(&|who| *who == TaskRef::EARLIER);
    // Other tasks may want that CPU too, but whenever the hog ran the victim waited.
    let ran = inner_end.1 - inner.1..=outer_end.1 - outer.1;
    let at_most = by_hog + earlier;
    assert!(at_most + ran.start() / 5 + longest >= *ran.start(), "{at_most} of {ran:?}, {longest}");
    assert!(by_hog <= ran.end() + longest, "{by_hog} of {ran:?}, {longest}");
    assert_eq!(row.preempted.buckets.iter().sum::<u64>(), row.preempted.count);
    assert!(row.preempted.quantile_ns(0.99) <= row.preempted.max_ns);
}

/// No task runs instead of one whose group has used up its quota, and it queues behind no task.
#[test]
fn a_used_up_quota_is_not_a_wait_for_a_cpu() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = QuotaGroup::new() else {
        eprintln!("left out: no cgroup with a CPU quota can be made here");
        return;
    };
    let spin = Spin::start(1, Some(&[0])).expect("a worker");
    group.set_quota(5);
    group.add(spin.pid());
    wait::until("the quota is used up", || group.throttled_ns() > 0);
    let mut source = open(&[spin.pid()]);
    source.window().expect("a window");
    let before = group.throttled_ns();
    // A task that others keep from the CPU uses up no quota, so the machine decides how long it is.
    wait::until("a second of throttling", || group.throttled_ns() >= before + 1_000_000_000);
    let throttled = group.throttled_ns() - before;
    let began = Instant::now();
    let window = source.window().expect("a window");
    let reading_ns = began.elapsed().as_nanos() as u64;
    let row = of(&window, spin.threads()[0]);
    let quota: Vec<_> = row.sleeps.iter().filter(|s| s.kind == WaitKind::Throttle).collect();
    let ours: u64 = quota.iter().map(|s| s.ns).sum();
    let queued = row.woken.ns + row.preempted.ns;
    let behind_idle = row.ran_instead.iter().filter(|o| o.who == TaskRef::IDLE);
    let idle: u64 = behind_idle.map(|o| o.amount).sum();
    println!("throttled {ours} ns, by cpu.stat {throttled} ns; queued {queued} ns, idle {idle} ns");
    assert!(throttled > 0 && quota.iter().any(|s| s.count > 0), "5 % were allowed: {row:?}");
    // The group's count begins when its CPU throttles it, the ledger's when the task leaves its
    // CPU. Until then, a task that others keep from the CPU counts as queued. A period is 100 ms.
    assert!(
        ours + queued + throttled / 4 + 200_000_000 >= throttled,
        "{ours}, {queued} queued, of {throttled}"
    );
    assert!(idle <= ours / 4, "nobody waits behind idle for a quota: {idle} ns, {row:?}");
    // A wait for the CPU counts when it is over: one may have begun before the window, and the
    // tables are read after its end.
    let longest = row.woken.max_ns.max(row.preempted.max_ns).unwrap_or(0);
    let length = window.t1_ns - window.t0_ns;
    assert!(ours + queued <= length + longest + reading_ns, "{length}, {reading_ns}: {row:?}");
    // A new quota wakes nobody: else each throttled stretch would have an unseen begin or end. This
    // kernel hides one now and then.
    let stretches: u64 = quota.iter().map(|s| s.count).sum();
    let unseen = window.losses.unseen;
    assert!(unseen <= 1 + stretches / 4, "{unseen} unseen of {stretches}");
}

/// Waits until a byte has made this number of round trips.
pub fn turns(pipes: &PipePingPong, more: u64) {
    let rounds = || pipes.rounds().expect("it counts");
    let before = rounds();
    wait::until("round trips of bytes", || rounds() >= before + more);
}

#[test]
fn partners_wake_each_other() {
    let Some(_machine) = crate::machine() else { return };
    let pipes = PipePingPong::start(2).expect("ping-pong");
    let mut source = open(&[pipes.pid()]);
    turns(&pipes, 100);
    let window = source.window().expect("a window");
    let both: Vec<_> = window.rows.iter().filter(|r| !r.woken_by.is_empty()).collect();
    assert!(both.len() >= 2, "{:?}", window.rows);
    for row in &both {
        let most = row.woken_by.first().expect("someone");
        println!("{} woken by {} {} times", row.who, most.who, most.amount);
    }
    let partner = both.iter().any(|r| r.woken_by[0].who.tgid == pipes.pid());
    assert!(partner, "{both:?}");
}

#[test]
fn a_sleep_with_a_hidden_wakeup_counts_and_is_reported() {
    let Some(_machine) = crate::machine() else { return };
    let pipes = PipePingPong::start(2).expect("ping-pong");
    let options = Options { hide_one_in: 10, ..Options::default() };
    let mut source = Waits::open_with(&[pipes.pid()], &options).expect("the waits' programs");
    // Each turn has four sleeps. The number is large enough that the hidden share is no accident.
    turns(&pipes, 2_000);
    // The tables are read one after the other, so no task may sleep meanwhile.
    drop(pipes);
    let window = source.window().expect("a window");
    let slept: u64 = window.rows.iter().flat_map(|row| &row.sleeps).map(|s| s.count).sum();
    let queued: u64 = window.rows.iter().map(|row| row.woken.count).sum();
    let unseen = window.losses.unseen;
    println!("{slept} sleeps, {queued} queued after them, {unseen} wake-ups unseen");
    // Every sleep either queued or is unseen. Four threads were killed between the two.
    assert!(slept <= queued + unseen + 8, "{slept} {queued} {unseen}");
    // A tenth of the wake-ups is hidden, and of the rest a tenth of the switches after them.
    assert!((slept * 3 / 4..=slept * 7 / 8).contains(&queued), "{queued} of {slept} queued");
    // Switches away are hidden, too, and switches to threads that did not sleep.
    assert!((slept / 8..=slept).contains(&unseen), "{unseen} of {slept}");
}

/// Number of switches of this thread, by the kernel's count (proc_pid_status(5)).
fn switches_so_far() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("the thread runs");
    let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    counts.map(|(_, number)| number.trim().parse::<u64>().expect("a number")).sum()
}

/// The switch from a task whose events a kernel hides to the waiting thread is hidden, too.
#[test]
fn a_wait_whose_begin_or_end_is_hidden_is_unseen() {
    let Some(_machine) = crate::machine() else { return };
    let options = Options { hide_one_in: 4, ..Options::default() };
    let mut source = Waits::open_with(&[std::process::id()], &options).expect("the programs");
    let sleeper = thread::spawn(|| {
        let before = switches_so_far();
        (0..400).for_each(|_| sleep(Duration::from_millis(2)));
        (tid(), switches_so_far() - before)
    });
    let (tid, switches) = sleeper.join().expect("joined");
    let window = source.window().expect("a window");
    let row = of(&window, tid);
    let waits = row.woken.count + row.preempted.count;
    let unseen = window.losses.unseen;
    println!("{switches} switches, {waits} waits for a CPU, {unseen} unseen");
    // One wait in 16 leaves no event: neither the switch away nor the one back is shown.
    assert!(waits + unseen >= switches - switches / 8, "{switches}: {waits} and {unseen} unseen");
    assert!(waits <= switches, "{waits} of {switches}");
    assert!(unseen > switches / 8, "{unseen} of {switches}");
}

/// Many tasks may have the CPU in one wait: more than the programs keep.
#[test]
fn the_part_of_a_wait_before_the_kept_tasks_is_of_earlier_ones() {
    let Some(_machine) = crate::machine() else { return };
    let victim = Spin::start(1, Some(&[0])).expect("a victim");
    let pipes = PipePingPong::start(2).expect("ping-pong");
    for task in std::fs::read_dir(format!("/proc/{}/task", pipes.pid())).expect("its threads") {
        let tid = task.expect("a thread").file_name().to_string_lossy().parse().expect("a number");
        bind(tid, &[0]);
    }
    let mut source = open(&[victim.pid()]);
    wait::until("a wait behind many turns of a byte", || {
        let window = source.window().expect("a window");
        let mut parts = window.rows.iter().flat_map(|row| &row.ran_instead);
        parts.any(|part| part.who == TaskRef::EARLIER && part.amount > 0)
    });
}
