//! Outside witnesses: the worker's own clock, /proc/PID/schedstat, /proc/stat.

use crate::books::{process, run_ns, Books};
use exactop_model::window::{TaskDelta, Window};
use exactop_model::{Counter, SourceKind};
use exactop_sources::ledger::Options;
use exactop_sources::Source;
use exactop_workloads::workloads::{AutoReaped, ExitingThreads, ForkStorm, Spin};
use std::fs;
use std::time::Duration;

/// CPU time (field 1) and run-queue wait (field 2) of a thread, ns
/// (Documentation/scheduler/sched-stats.rst).
fn schedstat(tgid: u32, tid: u32) -> (u64, u64) {
    let path = format!("/proc/{tgid}/task/{tid}/schedstat");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut fields = text.split_whitespace().map(|f| f.parse().expect("a number"));
    (fields.next().expect("run"), fields.next().expect("wait"))
}

fn stat_line(label: &str) -> Vec<u64> {
    let stat = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = stat.lines().find(|l| l.starts_with(label)).expect("the line");
    line.split_whitespace().skip(1).map(|f| f.parse().expect("a number")).collect()
}

/// Sandwich: witness, ours, busy time, ours, witness. Ours lies between the inner and the outer
/// reading of the witness; interrupts are part of ours and not of the witness, hence the margin.
#[test]
fn a_busy_worker_agrees_with_its_own_clock_and_schedstat() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(2, None).expect("a worker");
    let tids = spin.threads();
    std::thread::sleep(Duration::from_millis(200));
    let read = |i: usize| (spin.cpu_ns(i).expect("its clock"), schedstat(spin.pid(), tids[i]).0);
    let outer: Vec<_> = (0..2).map(read).collect();
    books.close();
    let inner: Vec<_> = (0..2).map(read).collect();
    let mut ours = [0u64; 2];
    let mut wait = [0u64; 2];
    let mut bias = [0i64; 2];
    let mut last_t1_ns = 0;
    let waited: Vec<_> = tids.iter().map(|&t| schedstat(spin.pid(), t).1).collect();
    for _ in 0..20 {
        let window = books.window(Duration::from_millis(500));
        let frame = books.threads(&window);
        last_t1_ns = window.t1_ns;
        for (i, tid) in tids.iter().enumerate() {
            let row = frame.rows.iter().find(|r| r.key.tid == *tid).expect("its row");
            ours[i] += run_ns(row);
            wait[i] += row.delta.get(Counter::LatNs).expect("lat_ns");
            let task = window.tasks.iter().find(|t| t.sample.key.tid == *tid).expect("it runs");
            bias[i] += task.audit.as_ref().expect("of the ledger").lat.bias_ns;
            assert_eq!(row.delta.states_ns(), Some(row.life_ns));
        }
    }
    let read_at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let after: Vec<_> = (0..2).map(read).collect();
    let waited_after: Vec<_> = tids.iter().map(|&t| schedstat(spin.pid(), t).1).collect();
    for i in 0..2 {
        let longest = after[i].0 - outer[i].0;
        let shortest = after[i].0 - inner[i].0;
        println!(
            "thread {i}: ours {} ns, own clock {shortest}..{longest} ns, schedstat {} ns; \
             wait ours {} ns, of which bias {} ns, schedstat {} ns",
            ours[i],
            after[i].1 - outer[i].1,
            wait[i],
            bias[i],
            waited_after[i] - waited[i],
        );
        // The last reading came after our last window: that gap is in theirs and not in ours.
        let read_ns = read_at.tv_sec as u64 * 1_000_000_000 + read_at.tv_nsec as u64;
        let gap = 10_000_000 + 2 * (read_ns - last_t1_ns);
        // Emulated, our own reading takes milliseconds.
        let margin = longest / if crate::emulated() { 20 } else { 1000 } + gap;
        assert!(ours[i].abs_diff(longest) < margin + (longest - shortest), "thread {i}");
        let schedstat_wait = waited_after[i] - waited[i];
        let wait_margin = schedstat_wait / if crate::emulated() { 10 } else { 100 } + 20_000_000;
        // What lies between the kernel's stamps of an event and ours is known, and long where CPUs stand still.
        let ours = wait[i].checked_add_signed(-bias[i]).expect("no less than its bias");
        assert!(ours.abs_diff(schedstat_wait) < wait_margin, "thread {i}: run-queue wait");
    }
}

#[test]
fn children_that_nobody_waits_for_are_not_lost() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = AutoReaped::start(2, Duration::from_millis(3)).expect("children");
    let (mut ours_ns, mut processes) = (0, 0);
    // A child's time is its own while it lives, its group's in the window it dies in.
    let mut add = |window: &Window| {
        let exited = window.exited.iter().filter(|e| e.sample.comm.bytes().starts_with(b"lab-"));
        ours_ns += exited.clone().filter_map(|e| e.delta.get(Counter::RunNs)).sum::<u64>();
        processes += exited.map(|e| e.processes).sum::<u64>();
        let child = |t: &&TaskDelta| {
            t.sample.ident.comm.bytes().starts_with(b"lab-") && t.sample.key.tgid != load.pid()
        };
        let living = window.tasks.iter().filter(child);
        ours_ns += living.filter_map(|t| t.delta.get(Counter::RunNs)).sum::<u64>();
    };
    for _ in 0..20 {
        add(&books.window(Duration::from_millis(100)));
    }
    let totals = load.stop().expect("totals");
    add(&books.window(Duration::from_millis(200)));
    println!("ours: {processes} processes {ours_ns} ns; they say {totals:?}");
    assert!(totals.children > 20, "the load did something: {totals:?}");
    assert!(processes >= totals.children);
    // Each child reads its clock just before it exits: fork and teardown come on top. Emulated, they
    // take longer than the work itself.
    let most = if crate::emulated() { 5.0 } else { 1.5 };
    let known_ns = totals.cpu_ns;
    assert!(ours_ns >= known_ns * 999 / 1000, "{ours_ns} < {known_ns}");
    assert!(ours_ns as f64 <= known_ns as f64 * most, "{ours_ns} is much more than {known_ns}");
}

#[test]
fn threads_that_exit_stay_part_of_their_process() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = ExitingThreads::start(2).expect("threads");
    let mut ours = 0;
    for _ in 0..20 {
        let window = books.window(Duration::from_millis(100));
        let frame = books.processes(&window);
        ours += run_ns(process(&frame, load.pid()));
    }
    let stat = exactop_workloads::procs::stat_field(load.pid(), 14).expect("utime")
        + exactop_workloads::procs::stat_field(load.pid(), 15).expect("stime");
    // utime and stime of proc_pid_stat(5) include exited threads; they count from the process's
    // start, a little before our first window and after our last.
    let theirs = stat * 10_000_000;
    println!("ours {ours} ns, /proc/PID/stat {theirs} ns, {:?}", load.totals());
    assert!(ours.abs_diff(theirs) < theirs / 20 + 100_000_000);
}

#[test]
fn a_fork_storm_has_names() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = ForkStorm::start(2).expect("a fork storm");
    std::thread::sleep(Duration::from_millis(300));
    books.close();
    let (mut named, mut busy, mut of_children, mut exited) = (0, 0, 0, 0);
    for _ in 0..10 {
        let window = books.window(Duration::from_millis(300));
        let frame = books.processes(&window);
        let b = frame.books;
        named += b.tasks_ns + b.exited_ns;
        busy += b.tasks_ns + b.exited_ns + b.unnamed_ns;
        for &shell in &load.pids() {
            let row = process(&frame, shell);
            of_children += row.children.and_then(|c| c.get(Counter::RunNs)).expect("children");
            let theirs = frame.exited.iter().filter(|e| e.ident.ppid == shell);
            exited += theirs.map(run_ns).sum::<u64>();
        }
    }
    println!("named {named} of {busy} ns; the shells' children {of_children} ns");
    assert!(named as f64 >= busy as f64 * 0.999);
    assert!(of_children > 0, "the exited children go to their shells");
    assert_eq!(of_children, exited, "CPU+ and the rows say the same");
}

#[test]
fn steal_agrees_with_proc_stat() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    assert_eq!(books.ledger.provenance().source, SourceKind::Ledger);
    let _spin = Spin::start(2, None).expect("a worker");
    books.close();
    let steal = |v: &[u64]| v.get(7).copied().expect("steal");
    let before = steal(&stat_line("cpu "));
    let window = books.window(Duration::from_secs(3));
    let after = steal(&stat_line("cpu "));
    let Some(ours) = window.cpus.iter().map(|c| c.time.steal_ns).sum::<Option<u64>>() else {
        println!("this kernel does not tell steal");
        return;
    };
    let theirs = (after - before) * 10_000_000;
    println!("ours {ours} ns, /proc/stat {theirs} ns");
    // One tick of rounding on each CPU on either side.
    let ticks = 2 * window.cpus.len() as u64 + 1;
    assert!(ours.abs_diff(theirs) <= ticks * 10_000_000 + theirs / 20);
}
