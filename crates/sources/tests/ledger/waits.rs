//! What threads wait for, against threads that know.

use exactop_model::on_demand::waits::{WaitKind, WaitRow, WaitWindow};
use exactop_model::CallNr;
use exactop_sources::on_demand::waits::WaitTimes;
use exactop_workloads::workloads::{PipePingPong, Spin};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Duration;

fn open(pids: &[u32]) -> WaitTimes {
    WaitTimes::open(pids)
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

fn of(window: &WaitWindow, tid: u32) -> &WaitRow {
    window.rows.iter().find(|r| r.who.tid == Some(tid)).expect("its row")
}

fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

#[test]
fn sleeps_know_their_system_call() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = open(&[std::process::id()]);
    let (tell, told) = mpsc::channel();
    let sleeper = thread::spawn(move || {
        tell.send(tid()).expect("told");
        sleep(Duration::from_millis(200));
        let (_keep, read) =
            rustix::pipe::pipe().map(|(read, write)| (write, read)).expect("a pipe");
        let mut fds = [rustix::event::PollFd::new(&read, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(
            &mut fds,
            Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 }),
        );
        thread::park_timeout(Duration::from_secs(600));
    });
    let tid = told.recv().expect("a tid");
    sleep(Duration::from_millis(600));
    let window = source.window().expect("a window");
    let row = of(&window, tid);
    println!("{:?}", row.sleeps);
    let slept = |row: &WaitRow, kind, name: &str| {
        let nr = CallNr::named(name).expect("a call");
        row.sleeps.iter().find(|s| s.kind == kind && s.nr == nr).map_or(0, |s| s.ns)
    };
    let nap = slept(row, WaitKind::Sleep, "clock_nanosleep");
    assert!((200_000_000..400_000_000).contains(&nap), "{nap}");
    let poll = slept(row, WaitKind::Sleep, "ppoll") + slept(row, WaitKind::Sleep, "poll");
    assert!((100_000_000..300_000_000).contains(&poll), "{poll}");
    let park = slept(row, WaitKind::Lock, "futex");
    assert!(park > 100_000_000, "a wait that goes on counts: {park}");

    // The rest of the wait that went on, and not again what was counted.
    sleep(Duration::from_millis(100));
    sleeper.thread().unpark();
    sleeper.join().expect("joined");
    let next = source.window().expect("a window");
    let park = slept(of(&next, tid), WaitKind::Lock, "futex");
    let length = next.t1_ns - next.t0_ns;
    assert!(park > 50_000_000 && park <= length, "{park} of {length}");
}

#[test]
fn the_hog_is_who_ran_instead() {
    let Some(_machine) = crate::machine() else { return };
    // Two on one CPU: each waits while the other runs.
    let hog = Spin::start(1, Some(&[0])).expect("a hog");
    let victim = Spin::start(1, Some(&[0])).expect("a victim");
    sleep(Duration::from_millis(300));
    let thread = victim.threads()[0];
    let tgid = victim.pid();
    let path = |t: u32| format!("/proc/{tgid}/task/{t}/schedstat");
    let delay = |t: u32| {
        let text = std::fs::read_to_string(path(t)).expect("schedstat");
        text.split_whitespace().nth(1).expect("run_delay").parse::<u64>().expect("a number")
    };
    let mut source = open(&[tgid]);
    source.window().expect("a window");
    let before = delay(thread);
    sleep(Duration::from_secs(2));
    let window = source.window().expect("a window");
    let waited = delay(thread) - before;
    let row = of(&window, thread);
    let ours = row.preempted.ns + row.woken.ns;
    println!("waited {ours} ns, by schedstat {waited} ns; {:?}", row.ran_instead);
    // Both count a wait when it is over; the two windows differ by one wait at each end.
    let longest = row.preempted.max_ns.max(row.woken.max_ns).expect("it waited");
    assert!(ours.abs_diff(waited) <= 2 * longest + waited / 50, "{ours} {waited} {longest}");
    let instead: u64 = row.ran_instead.iter().map(|o| o.amount).sum();
    // The two tables are read one after the other: a wait at each end may be in one of them only.
    assert!(instead <= ours + longest, "{instead} of {ours}, {longest}");
    assert!(instead + longest >= ours - ours / 10, "{instead} of {ours} has a name, {longest}");
    let by_hog: u64 =
        row.ran_instead.iter().filter(|o| o.who.tgid == hog.pid()).map(|o| o.amount).sum();
    // Others may want that CPU too; nobody else is made to.
    assert!(by_hog * 10 > ours, "the hog had {by_hog} of {ours}");
    assert_eq!(row.preempted.buckets.iter().sum::<u64>(), row.preempted.count);
    assert!(row.preempted.quantile_ns(0.99) <= row.preempted.max_ns);
}

#[test]
fn partners_wake_each_other() {
    let Some(_machine) = crate::machine() else { return };
    let pipes = PipePingPong::start(2).expect("ping-pong");
    let mut source = open(&[pipes.pid()]);
    sleep(Duration::from_millis(500));
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
