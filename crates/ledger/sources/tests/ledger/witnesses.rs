//! Independent witnesses: the worker's own clock, /proc/PID/schedstat, /proc/stat.

use crate::books::{process, run_ns, Books};
use exactop_model::ledger::window::{ExitDelta, TaskDelta, Window};
use exactop_model::{Counter, SourceKind};
use exactop_sources::ledger::Options;
use exactop_sources::Source;
use exactop_testkit::wait;
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

/// Readings in this order: witness, ledger, witness, busy time, witness, ledger, witness. The
/// ledger's figure lies between the inner and the outer reading of the witness. The ledger includes
/// interrupts and the witness does not, hence the margin.
#[test]
fn a_busy_worker_agrees_with_its_own_clock_and_schedstat() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(2, None).expect("a worker");
    let tids = spin.threads();
    // The thread's own clock, and its wait by schedstat.
    let look = || {
        [0, 1]
            .map(|i: usize| (spin.cpu_ns(i).expect("its clock"), schedstat(spin.pid(), tids[i]).1))
    };
    // A wait that is open at a reading is in one of the counts only.
    let both_run = || {
        let seen = look().map(|(ran, _)| ran);
        wait::until("both to run", || look().iter().zip(seen).all(|((ran, _), seen)| *ran > seen));
    };
    let before = look();
    books.close();
    both_run();
    let begun = look();
    let mut ending = begun;
    let mut ours = [0u64; 2];
    let mut wait = [0u64; 2];
    let mut bias = [0i64; 2];
    let mut run_bias = [0i64; 2];
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(500));
        ending = look();
        let window = books.close().expect("a window is open");
        let frame = books.threads(&window);
        for (i, tid) in tids.iter().enumerate() {
            let row = frame.rows.iter().find(|r| r.key.tid == *tid).expect("its row");
            ours[i] += run_ns(row);
            wait[i] += row.delta.get(Counter::LatNs).expect("lat_ns");
            // A thread that waited throughout, as on a very busy machine, has no audit.
            let task = window.tasks.iter().find(|t| t.sample.key.tid == *tid);
            let audit = task.map(|task| task.audit.as_ref().expect("of the ledger"));
            bias[i] += audit.map_or(0, |audit| audit.lat.bias_ns);
            run_bias[i] += audit.map_or(0, |audit| audit.run.bias_ns);
            assert_eq!(row.delta.states_ns(), Some(row.life_ns));
        }
    }
    both_run();
    let after = look();
    for i in 0..2 {
        let [ran, waited] = [|of: (u64, u64)| of.0, |of: (u64, u64)| of.1].map(|figure| {
            [figure(ending[i]) - figure(begun[i]), figure(after[i]) - figure(before[i])]
        });
        // The time between the two stamps of an event is known; it is long on CPUs that a
        // hypervisor stops.
        let our_wait = wait[i].checked_add_signed(-bias[i]).expect("no less than its bias");
        let our_run = ours[i].checked_add_signed(-run_bias[i]).expect("no less than its bias");
        println!(
            "thread {i}: ours {our_run} ns beside a bias of {} ns, own clock {ran:?} ns; wait ours {our_wait} ns \
             beside a bias of {} ns, schedstat {waited:?} ns",
            run_bias[i], bias[i],
        );
        assert!(
            run_bias[i].unsigned_abs() < ours[i] / 20,
            "thread {i}: the stamps differ by {} ns",
            run_bias[i]
        );
        // On an emulated machine our own reading takes milliseconds.
        let margin = ran[1] / if crate::emulated() { 20 } else { 500 } + 5_000_000;
        assert!(
            our_run + margin >= ran[0] && our_run <= ran[1] + margin,
            "thread {i}: time on a CPU"
        );
        let margin = waited[1] / if crate::emulated() { 10 } else { 50 } + 10_000_000;
        let is_near = our_wait + margin >= waited[0] && our_wait <= waited[1] + margin;
        assert!(is_near, "thread {i}: run-queue wait");
    }
}

#[test]
fn children_without_a_wait_are_not_lost() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    // Other processes may run the same load; descendants of this process have its tree.
    books.ledger.follow_children();
    let load = AutoReaped::start(2, Duration::from_millis(3)).expect("children");
    let (mut ours_ns, mut processes) = (0, 0);
    // A child's time is in its own row while it lives, and in its exited group in the window of its
    // exit.
    let mut add = |window: &Window| {
        let is_ours =
            |e: &&ExitDelta| e.sample.tree != 0 && e.sample.comm.bytes().starts_with(b"lab-");
        let exited = window.exited.iter().filter(is_ours);
        ours_ns += exited.clone().filter_map(|e| e.delta.get(Counter::RunNs)).sum::<u64>();
        processes += exited.map(|e| e.processes).sum::<u64>();
        let child = |t: &&TaskDelta| {
            let named = t.sample.ident.comm.bytes().starts_with(b"lab-");
            t.sample.tree != 0 && named && t.sample.key.tgid != load.pid()
        };
        let living = window.tasks.iter().filter(child);
        ours_ns += living.filter_map(|t| t.delta.get(Counter::RunNs)).sum::<u64>();
    };
    // All windows count, late or not: time that one of them lacks is in the next.
    wait::until("some children", || {
        std::thread::sleep(Duration::from_millis(100));
        add(&books.close().expect("a window is open"));
        load.totals().expect("totals").children > 100
    });
    let totals = load.stop().expect("totals");
    // All have left the process group; one may still have its last switch ahead.
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(50));
        add(&books.close().expect("a window is open"));
    }
    println!("ours: {processes} processes {ours_ns} ns; they say {totals:?}");
    assert!(totals.children > 20, "the load did something: {totals:?}");
    assert!(processes >= totals.children);
    // Each child reads its clock just before it exits; fork and teardown are extra. On an emulated
    // machine they take longer than the work itself.
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
    // utime and stime of proc_pid_stat(5) include exited threads, and count from the process's
    // start, which was in our first window.
    let stat = || {
        let field = |n| exactop_workloads::procs::stat_field(load.pid(), n).expect("it runs");
        (field(14) + field(15)) * 10_000_000
    };
    let mut least = 0;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        least = stat();
        let window = books.close().expect("a window is open");
        let frame = books.processes(&window);
        ours += run_ns(process(&frame, load.pid()));
    }
    let most = stat();
    println!("ours {ours} ns, /proc/PID/stat {least} to {most} ns, {:?}", load.totals());
    // Two figures in ticks.
    let margin = most / 20 + 20_000_000;
    assert!(ours + margin >= least && ours <= most + margin, "{ours} {least} {most}");
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
    let steal = || stat_line("cpu ").get(7).copied().expect("steal") * 10_000_000;
    let (window, looks) = books.between(Duration::from_secs(3), steal);
    let Some(ours) = window.cpus.iter().map(|c| c.time.steal_ns).sum::<Option<u64>>() else {
        println!("this kernel does not tell steal");
        return;
    };
    let (least, most) = (looks.at_least(), looks.at_most());
    println!("ours {ours} ns, /proc/stat {least} to {most} ns");
    // One tick of rounding for each CPU on either side.
    let ticks = 2 * window.cpus.len() as u64 + 1;
    let margin = ticks * 10_000_000 + most / 20;
    assert!(ours + margin >= least && ours <= most + margin, "{ours} {least} {most}");
}
