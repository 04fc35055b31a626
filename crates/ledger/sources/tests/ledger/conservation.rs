//! Tests of identities 1, 2 and 3 in each of 60 windows, under loads that try to break them.

use crate::books::Books;
use exactop_model::ledger::window::TaskDelta;
use exactop_model::Counter;
use exactop_sources::ledger::Options;
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_workloads::herd::Wake;
use exactop_workloads::workloads::{
    ExecThreads, ExitingThreads, ForkStorm, Herd, PipePingPong, SignalStorm, StopContinue,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const WINDOWS: usize = 60;

/// Number of threads; fewer on an emulated machine, which schedules a thousand runnable threads in
/// minutes.
fn threads(wanted: usize) -> usize {
    if crate::emulated() {
        wanted.min(200)
    } else {
        wanted
    }
}

/// Checks 60 windows of different lengths while `load` runs.
fn holds_under<Load>(name: &str, load: impl FnOnce() -> Load) {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = load();
    // Only for this process, after the load inherited the old value: among a thousand runnable
    // threads the reader would wait a second in each window.
    let _ = rustix::process::setpriority_process(None, -19);
    let mut faults = Vec::new();
    let (mut dispatches, mut exited, mut unnamed, mut total) = (0, 0, 0, 0);
    for n in 0..WINDOWS {
        let window = books.window(Duration::from_millis(10 + (n as u64 * 7) % 60));
        faults.extend(books.faults(&window).into_iter().map(|f| format!("window {n}: {f}")));
        dispatches += window.cpus.iter().filter_map(|c| c.time.switches).sum::<u64>();
        exited += window.exited.iter().map(|e| e.tasks).sum::<u64>();
        let frame = books.threads(&window);
        unnamed += frame.books.unnamed_ns;
        total += frame.books.total_ns;
    }
    drop(load);
    let repaired: Vec<_> =
        books.close().map(|w| w.end.errors.nonzero().collect()).unwrap_or_default();
    println!(
        "{name}: {dispatches} switches, {exited} exits, unnamed {unnamed} of {total} ns, \
         since the start {repaired:?}"
    );
    assert!(dispatches > 0, "nothing happened in {WINDOWS} windows");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn idle() {
    holds_under("idle", || ());
}

#[test]
fn two_shells_loop_over_true() {
    holds_under("fork storm", || ForkStorm::start(2).expect("a fork storm"));
}

#[test]
fn two_thousand_threads_over_pipes() {
    holds_under("pipes", || PipePingPong::start(threads(2000)).expect("ping-pong"));
}

#[test]
fn threads_exec_and_exit() {
    holds_under("exec", || {
        (ExecThreads::start(2).expect("exec"), ExitingThreads::start(2).expect("exits"))
    });
}

#[test]
fn stopped_and_continued() {
    holds_under("stop", || StopContinue::start(4).expect("stops"));
}

#[test]
fn signals_in_sleeps_and_locks() {
    holds_under("signals", || SignalStorm::start(8).expect("signals"));
}

#[test]
fn all_loads_at_once() {
    holds_under("all", || {
        (
            ForkStorm::start(1).expect("a fork storm"),
            PipePingPong::start(200).expect("ping-pong"),
            ExecThreads::start(1).expect("exec"),
            StopContinue::start(2).expect("stops"),
            SignalStorm::start(4).expect("signals"),
        )
    });
}

/// Checks microstates with everything measured: user and system time, and interrupts.
fn states_hold_under<Load>(name: &str, load: impl FnOnce() -> Load) {
    let Some(_machine) = crate::machine() else { return };
    let split = SplitOptions {
        split: MeasurePolicy::Always,
        irq: MeasurePolicy::Always,
        ..SplitOptions::default()
    };
    let mut books = Books::open(&Options { split, ..Options::default() });
    let load = load();
    let _ = rustix::process::setpriority_process(None, -19);
    let mut faults = Vec::new();
    let (mut rows, mut calls) = (0, 0);
    for n in 0..WINDOWS / 3 {
        let window = books.window(Duration::from_millis(10 + (n as u64 * 7) % 60));
        faults.extend(books.faults(&window).into_iter().map(|f| format!("window {n}: {f}")));
        rows += window.tasks.len();
        let of = |t: &TaskDelta| t.delta.get(Counter::Syscalls).unwrap_or(0);
        calls += window.tasks.iter().map(of).sum::<u64>();
    }
    drop(load);
    println!("{name}: {rows} rows, {calls} system calls");
    assert!(rows > 0 && calls > 0, "nothing happened");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn states_of_a_herd() {
    let rate = if crate::emulated() { 5.0 } else { 100.0 };
    states_hold_under("herd", || Herd::start(threads(1000), Wake::All, rate).expect("a herd"));
}

#[test]
fn states_of_threads_that_lock_write_and_stop() {
    states_hold_under("all states", || {
        (
            Threads::start(&[futex_ping, futex_pong, write_and_sync]),
            StopContinue::start(2).expect("stops"),
            PipePingPong::start(6).expect("a chain of pipes"),
            ExecThreads::start(1).expect("exec"),
        )
    });
}

/// Threads of this process, until dropped.
struct Threads {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    fn start(roles: &[fn(&AtomicBool)]) -> Threads {
        let over = Arc::new(AtomicBool::new(false));
        let run = |role: &fn(&AtomicBool)| {
            let (role, over) = (*role, over.clone());
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    role(&over);
                }
            })
        };
        let threads = roles.iter().map(run).collect();
        Threads { over, threads }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The thread whose turn it is.
static TURN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn take_turns(mine: bool) {
    let turn = TURN.0.lock().expect("a lock");
    let patience = Duration::from_millis(50);
    let theirs = |turn: &mut bool| *turn != mine;
    let (mut turn, late) = TURN.1.wait_timeout_while(turn, patience, theirs).expect("a lock");
    if !late.timed_out() {
        *turn = !mine;
        TURN.1.notify_one();
    }
}

fn futex_ping(_: &AtomicBool) {
    take_turns(true);
}

fn futex_pong(_: &AtomicBool) {
    take_turns(false);
}

fn write_and_sync(_: &AtomicBool) {
    let file = tempfile::tempfile().expect("a file");
    let _ = std::io::Write::write_all(&mut &file, &[0; 64 * 1024]);
    let _ = file.sync_all();
}
