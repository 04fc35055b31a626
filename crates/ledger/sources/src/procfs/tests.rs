//! Tests of the source on a /proc of ordinary files, and on the machine's own.

use super::fake::{FakeProc, FakeTask};
use super::*;
use exactop_model::{Book, Frame, FrameOptions};
use exactop_testkit::wait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Tick 100 of the fake machine, the start time of its tasks, is before every window.
const T0_NS: u64 = 10_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A source on a fake root, and its clock.
fn fake() -> (FakeProc, Procfs, Arc<AtomicU64>) {
    let proc = FakeProc::new();
    let mut source = Procfs::open(proc.root()).unwrap();
    let clock = Arc::new(AtomicU64::new(T0_NS));
    let hand = clock.clone();
    source.cpus.clock = Box::new(move || ClockSample {
        monotonic_ns: hand.load(Ordering::Relaxed),
        suspended_ns: 0,
    });
    (proc, source, clock)
}

fn look(source: &mut Procfs, needs: Needs) -> Snapshot {
    source.snapshot(&Request { needs, ..Request::default() }).unwrap()
}

fn ms(ticks: u64) -> u64 {
    ticks * Ticks::of_this_system().tick_ns() / 1_000_000
}

#[test]
fn a_process_is_one_row_with_all_fields_of_its_line() {
    let (proc, mut source, _) = fake();
    proc.process(FakeTask {
        comm: b"a ) R (b",
        utime: 30,
        stime: 12,
        threads: 3,
        cpu: 1,
        flags: 0x0020_0000,
        ..FakeTask::new(77)
    });
    proc.write("self-made/stat", "not a process");
    let snapshot = look(&mut source, Needs::NONE);
    assert_eq!((snapshot.at_ns, snapshot.complete, snapshot.born), (T0_NS, true, Some(42)));
    assert_eq!(snapshot.tasks.len(), 1);
    let task = snapshot.tasks[0];
    let start_ns = ms(100) * 1_000_000;
    assert_eq!(task.key, exactop_model::TaskKey { tgid: 77, tid: 77, start_ns });
    assert_eq!(task.ident.comm.bytes(), b"a ) R (b");
    assert_eq!(task.ident.uid, rustix::process::geteuid().as_raw());
    assert_eq!((task.ident.ppid, task.ident.prio, task.ident.kthread), (1, 120, true));
    assert_eq!((task.letter, task.threads, task.last_cpu), ('S', Some(3), Some(1)));
    assert_eq!(task.counters.get(Counter::RunNs), Some(ms(42) * 1_000_000));
    assert_eq!(task.counters.get(Counter::StimeNs), Some(ms(12) * 1_000_000));
    assert_eq!(task.counters.get(Counter::SleepNs), None);
}

#[test]
fn only_requested_files_are_read() {
    let (proc, mut source, _) = fake();
    proc.process(FakeTask::new(7));
    proc.write("7/schedstat", "1 5000 2\n");
    proc.write("7/status", "Uid:\t1\t4711\t1\t1\nvoluntary_ctxt_switches:\t3\n");
    let counters = |s: &Snapshot| {
        let c = s.tasks[0].counters;
        (c.get(Counter::LatNs), c.get(Counter::Vcx), c.get(Counter::Icx))
    };
    assert_eq!(counters(&look(&mut source, Needs::NONE)), (None, None, None));
    let all = look(&mut source, Needs::SCHEDSTAT | Needs::STATUS);
    assert_eq!((counters(&all), all.tasks[0].ident.uid), ((Some(5000), Some(3), None), 4711));
}

#[test]
fn threads_have_rows_of_their_own() {
    let (proc, mut source, _) = fake();
    proc.process(FakeTask { utime: 50, threads: 2, ..FakeTask::new(7) });
    proc.thread(7, FakeTask { utime: 20, threads: 2, ..FakeTask::new(7) });
    proc.thread(7, FakeTask { utime: 5, threads: 2, start: 120, ..FakeTask::new(9) });
    let mut run: Vec<_> = look(&mut source, Needs::THREADS)
        .tasks
        .iter()
        .map(|t| (t.key.tid, t.threads, t.counters.get(Counter::RunNs).unwrap() / 1_000_000))
        .collect();
    run.sort_unstable();
    assert_eq!(run, [(7, None, ms(20)), (9, None, ms(5))]);
}

#[test]
fn changing_to_threads_and_back_runs_nothing_backwards() {
    let (proc, mut source, clock) = fake();
    proc.process(FakeTask { utime: 50, ..FakeTask::new(7) });
    proc.thread(7, FakeTask { utime: 20, ..FakeTask::new(7) });
    let mut book = Book::new();
    for needs in [Needs::NONE, Needs::THREADS, Needs::NONE] {
        clock.fetch_add(SECOND_NS, Ordering::Relaxed);
        if let Some(window) = book.advance(look(&mut source, needs)) {
            assert_eq!(window.errors.get(ErrorKind::Backwards), 0);
            assert_eq!(window.tasks[0].delta.get(Counter::RunNs), None);
        }
    }
}

/// Watching one process keeps the time of all others.
#[test]
fn watching_one_process_leaves_all_other_rows_as_they_are() {
    let (proc, mut source, clock) = fake();
    let mut book = Book::new();
    let mut known = Vec::new();
    for (n, watch) in [None, Some(7), Some(7), Some(8), None].into_iter().enumerate() {
        for pid in [7, 8, 9] {
            let task = FakeTask { utime: 50 + 3 * n as u64, ..FakeTask::new(pid) };
            proc.process(FakeTask { ..task });
            proc.thread(pid, task);
        }
        clock.fetch_add(SECOND_NS, Ordering::Relaxed);
        let needs = if watch.is_some() { Needs::THREADS } else { Needs::NONE };
        let snapshot = source.snapshot(&Request { needs, watch, ..Request::default() }).unwrap();
        if let Some(window) = book.advance(snapshot) {
            let has = |t: &&exactop_model::ledger::window::TaskDelta| {
                t.delta.get(Counter::RunNs).is_some()
            };
            let mut pids: Vec<u32> =
                window.tasks.iter().filter(has).map(|t| t.sample.key.tgid).collect();
            pids.sort_unstable();
            known.push(pids);
        }
    }
    assert_eq!(known, [vec![8, 9], vec![7, 8, 9], vec![9], vec![7, 9]]);
}

#[test]
fn a_task_that_vanishes_is_absent_and_no_error() {
    let (proc, mut source, _) = fake();
    for pid in [7, 8, 9] {
        proc.process(FakeTask::new(pid));
    }
    assert_eq!(look(&mut source, Needs::NONE).tasks.len(), 3);
    proc.exit(8);
    // Still listed, but its files are gone, as when it exits meanwhile.
    std::fs::create_dir(proc.root().join("10")).unwrap();
    for needs in [Needs::NONE, Needs::THREADS] {
        let snapshot = look(&mut source, needs);
        assert_eq!((snapshot.tasks.len(), snapshot.errors.inexact()), (2, 0));
    }
}

#[test]
fn a_damaged_line_is_counted_and_its_row_left_out() {
    let (proc, mut source, _) = fake();
    proc.process(FakeTask::new(7));
    let line = FakeTask::new(8).line();
    proc.write("8/stat", &line[..60]);
    let snapshot = look(&mut source, Needs::NONE);
    assert_eq!((snapshot.tasks.len(), snapshot.errors.get(ErrorKind::Torn)), (1, 1));
}

#[test]
fn a_reused_pid_is_a_new_account() {
    let (proc, mut source, clock) = fake();
    proc.process(FakeTask { utime: 500, ..FakeTask::new(7) });
    let mut book = Book::new();
    book.advance(look(&mut source, Needs::NONE));
    clock.fetch_add(SECOND_NS, Ordering::Relaxed);
    let start = (T0_NS + SECOND_NS / 2) / Ticks::of_this_system().tick_ns();
    proc.process(FakeTask { utime: 3, start, ..FakeTask::new(7) });
    let window = book.advance(look(&mut source, Needs::NONE)).unwrap();
    assert_eq!(window.tasks.len(), 1);
    assert_eq!(window.tasks[0].delta.get(Counter::RunNs), Some(ms(3) * 1_000_000));
    assert_eq!(window.errors.inexact(), 0);
}

#[test]
fn a_task_born_in_the_window_is_charged_all_and_a_hidden_one_nothing() {
    let (proc, mut source, clock) = fake();
    let mut book = Book::new();
    book.advance(look(&mut source, Needs::NONE));
    clock.fetch_add(SECOND_NS, Ordering::Relaxed);
    // The tick in which the window began: the start is rounded down to the window's start.
    let start = T0_NS / Ticks::of_this_system().tick_ns();
    proc.process(FakeTask { utime: 4, start, ..FakeTask::new(7) });
    proc.process(FakeTask { utime: 4, start: start - 5, ..FakeTask::new(8) });
    let window = book.advance(look(&mut source, Needs::NONE)).unwrap();
    let mut run: Vec<_> =
        window.tasks.iter().map(|t| (t.sample.key.tgid, t.delta.get(Counter::RunNs))).collect();
    run.sort_unstable();
    assert_eq!(run, [(7, Some(ms(4) * 1_000_000)), (8, None)]);
}

#[test]
fn the_books_close_with_the_rest_unnamed() {
    let (proc, mut source, clock) = fake();
    let ticks_in_s = SECOND_NS / Ticks::of_this_system().tick_ns();
    let mut book = Book::new();
    proc.cpus(&[[5; 8], [9; 8]]);
    proc.process(FakeTask::new(7));
    book.advance(look(&mut source, Needs::NONE));
    clock.fetch_add(SECOND_NS, Ordering::Relaxed);
    let rest = ticks_in_s - 60;
    // cpu0: 40 ticks of tasks, 15 of interrupts, 5 stolen; cpu1 idle, part of it for I/O.
    proc.cpus(&[
        [5 + 25, 5 + 5, 5 + 10, 5 + rest, 5, 5 + 5, 5 + 10, 5 + 5],
        [9, 9, 9, 9 + rest, 9 + 60, 9, 9, 9],
    ]);
    proc.process(FakeTask { utime: 20, stime: 10, ..FakeTask::new(7) });
    let window = book.advance(look(&mut source, Needs::NONE)).unwrap();
    let books = Frame::new(&window, &book, &FrameOptions::default()).books;
    let ticks = |ns: u64| ns * ticks_in_s / SECOND_NS;
    assert_eq!(books.total_ns, 2 * SECOND_NS);
    assert_eq!((ticks(books.tasks_ns), ticks(books.unnamed_ns)), (30, 10));
    assert_eq!((books.irq_ns.map(ticks), books.steal_ns.map(ticks)), (Some(15), Some(5)));
    assert_eq!(ticks(books.idle_ns), rest + ticks_in_s);
    assert_eq!(books.residual_ns, 0);
}

#[test]
fn more_named_than_busy_shows_as_a_residual() {
    let (proc, mut source, clock) = fake();
    let tick_ns = Ticks::of_this_system().tick_ns();
    let mut book = Book::new();
    proc.process(FakeTask::new(7));
    book.advance(look(&mut source, Needs::NONE));
    clock.fetch_add(10 * tick_ns, Ordering::Relaxed);
    proc.cpus(&[[8, 0, 0, 2, 0, 0, 0, 0]]);
    proc.process(FakeTask { utime: 9, ..FakeTask::new(7) });
    let window = book.advance(look(&mut source, Needs::NONE)).unwrap();
    let books = Frame::new(&window, &book, &FrameOptions::default()).books;
    assert_eq!((books.unnamed_ns, books.residual_ns), (0, -(tick_ns as i64)));
}

#[test]
fn steps_back_of_the_cpus_are_counted_once_each() {
    let (proc, mut source, clock) = fake();
    let mut book = Book::new();
    let mut errors = Vec::new();
    for idle in [100, 99, 101, 100, 200] {
        proc.cpus(&[[0, 0, 0, idle, 0, 0, 0, 0]]);
        clock.fetch_add(SECOND_NS, Ordering::Relaxed);
        let window = book.advance(look(&mut source, Needs::NONE));
        errors.extend(window.map(|w| w.errors.get(ErrorKind::Backwards)));
    }
    assert_eq!(errors, [1, 0, 1, 0]);
}

#[test]
fn a_root_that_is_no_proc_is_refused_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let error = Procfs::open(dir.path()).err().unwrap().to_string();
    assert!(error.contains("/stat"), "{error}");
    let (proc, mut source, _) = fake();
    proc.write("stat", "nonsense\n");
    let error = source.snapshot(&Request::default()).unwrap_err().to_string();
    assert!(error.contains("cannot parse") && error.contains("nonsense"), "{error}");
}

#[test]
fn files_beyond_the_budget_are_opened_each_time() {
    let (proc, mut source, _) = fake();
    source.tasks = TaskTable::new(Budget::new(2));
    for pid in 1..=5 {
        proc.process(FakeTask::new(pid));
    }
    for _ in 0..2 {
        assert_eq!(look(&mut source, Needs::NONE).tasks.len(), 5);
        assert_eq!(source.tasks.kept(), 2);
    }
    (1..=5).for_each(|pid| proc.exit(pid));
    look(&mut source, Needs::NONE);
    assert_eq!(source.tasks.kept(), 0);
}

/// A shell that starts one short program after the other, ended with the test.
struct Busy(std::process::Child);

impl Busy {
    fn start() -> Busy {
        let script = "while :; do /bin/true; done";
        Busy(std::process::Command::new("sh").args(["-c", script]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_busy_child_gains_time_and_vanished_tasks_are_no_errors() {
    let busy = Busy::start();
    let mut source = Procfs::open(Path::new("/proc")).unwrap();
    for needs in [Needs::NONE, Needs::THREADS | Needs::SCHEDSTAT | Needs::STATUS] {
        let mut run_ns = || {
            let snapshot = look(&mut source, needs);
            assert_eq!(snapshot.errors.get(ErrorKind::Torn), 0);
            let tasks = snapshot.tasks;
            let task = tasks.iter().find(|t| t.key.tgid == busy.0.id()).copied().unwrap();
            assert_eq!(task.ident.ppid, std::process::id());
            assert_eq!(task.ident.uid, rustix::process::geteuid().as_raw());
            task.counters.get(Counter::RunNs).unwrap()
        };
        let before = run_ns();
        wait::until("more time", || run_ns() > before);
    }
}
