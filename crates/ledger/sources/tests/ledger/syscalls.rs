//! Tests of system calls against a thread that knows its calls.

use crate::until;
use exactop_model::on_demand::syscalls::{SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::on_demand::Choice;
use exactop_model::SyscallNr;
use exactop_sources::on_demand::syscalls::Syscalls;
use exactop_sources::on_demand::Counts;
use std::thread;
use std::time::Duration;

const LOOPS: u64 = 10_000;
const FAILURES: u64 = 300;

fn nr(name: &str) -> SyscallNr {
    SyscallNr::named(name).expect("a system call")
}

fn open(by: SyscallsBy, calls: &[&str]) -> Syscalls {
    open_hiding(by, calls, 0)
}

fn open_hiding(by: SyscallsBy, calls: &[&str], hide_one_in: u32) -> Syscalls {
    let pids = vec![std::process::id()];
    let calls = calls.iter().map(|name| nr(name)).collect();
    Syscalls::open_with(&Choice { by, pids, calls }, hide_one_in)
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

fn row<'a>(window: &'a SyscallWindow, name: &str, tid: Option<u32>) -> Option<&'a SyscallRow> {
    window.rows.iter().find(|r| r.nr == nr(name) && r.who.and_then(|w| w.tid) == tid)
}

/// Runs a thread that makes calls, some of which fail; returns its tid.
fn work() -> u32 {
    let worker = thread::spawn(|| {
        for _ in 0..LOOPS {
            let _ = rustix::process::getppid();
        }
        for _ in 0..FAILURES {
            let _ = std::fs::metadata("/no/such/file");
        }
        thread::sleep(Duration::from_millis(30));
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    });
    let tid = worker.join().expect("joined");
    // A join may return before the thread has ended: the kernel wakes the joiner during the exit.
    until::gone(tid);
    tid
}

#[test]
fn calls_of_a_thread_are_counted_and_timed_exactly() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = open(SyscallsBy::Thread, &[]);
    source.window().expect("a window");
    let tid = work();
    let window = source.window().expect("a window");
    assert_eq!(window.losses.lost, 0);
    let calls = row(&window, "getppid", Some(tid)).expect("its row");
    assert_eq!((calls.calls, calls.errors, calls.untimed, calls.in_flight), (LOOPS, 0, 0, 0));
    assert!(calls.total_ns > 0 && calls.max_ns >= calls.mean_ns());
    assert_eq!(calls.who.map(|w| w.tgid), Some(std::process::id()));
    let statx = row(&window, "statx", Some(tid)).expect("its row");
    assert_eq!((statx.calls, statx.errors), (FAILURES, FAILURES));
    let rows = window.longest_first();
    let failed = rows.iter().find(|call| call.row == *statx).map(|call| &call.failures);
    let failed: Vec<_> = failed.expect("its row").iter().map(|f| (f.name(), f.count)).collect();
    assert_eq!(failed, [("ENOENT".to_string(), FAILURES)]);
    // A running thread may have a failure between the reading of rows and of errors.
    for call in rows.iter().filter(|call| call.row.who.and_then(|who| who.tid) == Some(tid)) {
        let by_error: u64 = call.failures.iter().map(|f| f.count).sum();
        assert_eq!(by_error, call.row.errors, "{call:?}");
    }
    let sleep = row(&window, "clock_nanosleep", Some(tid)).expect("its row");
    assert!(sleep.max_ns >= Some(30_000_000), "{sleep:?}");
    // exit() does not return, but counts.
    assert_eq!(row(&window, "exit", Some(tid)).map(|r| r.calls), Some(1));
    // It slept once, so it has two dispatches; but a kernel may hide a switch
    // (docs/explanation/accuracy.md).
    let dispatches = rows.iter().find(|call| call.row == *calls).and_then(|call| call.dispatches);
    assert!(dispatches >= Some(1), "{:?}", window.dispatches);

    let next = source.window().expect("a window");
    assert_eq!(row(&next, "getppid", Some(tid)), None, "nothing is counted twice");
}

#[test]
fn sums_over_threads_and_chosen_calls() {
    let Some(_machine) = crate::machine() else { return };
    for by in [SyscallsBy::Call, SyscallsBy::Process] {
        let mut source = open(by, &["getppid"]);
        let (one, two) = (thread::spawn(work), thread::spawn(work));
        one.join().expect("joined");
        two.join().expect("joined");
        let window = source.window().expect("a window");
        assert_eq!(window.rows.len(), 1, "{:?}", window.rows);
        assert_eq!(window.rows[0].calls, 2 * LOOPS);
        assert_eq!(window.rows[0].who.is_some(), by == SyscallsBy::Process);
        let dispatched: u64 = window.dispatches.iter().map(|d| d.count).sum();
        assert_eq!(dispatched > 0, by == SyscallsBy::Process);
    }
}

#[test]
fn calls_in_flight_differ_by_a_begin_before_or_after_the_attach() {
    let Some(_machine) = crate::machine() else { return };
    let sleeper = || {
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("told");
            thread::park_timeout(Duration::from_secs(600));
        });
        let tid = told.recv().expect("a tid");
        until::in_call(std::process::id(), tid, "futex");
        (thread, tid)
    };
    let (old, old_tid) = sleeper();
    let mut source = open(SyscallsBy::Thread, &[]);
    let (new, new_tid) = sleeper();
    thread::sleep(Duration::from_millis(50));
    let window = source.window().expect("a window");
    let old_row = row(&window, "futex", Some(old_tid)).expect("its row");
    assert_eq!((old_row.calls, old_row.in_flight, old_row.oldest_ns), (0, 1, None));
    let new_row = row(&window, "futex", Some(new_tid)).expect("its row");
    assert_eq!(new_row.in_flight, 1);
    assert!(new_row.oldest_ns >= Some(40_000_000), "{new_row:?}");
    old.thread().unpark();
    new.thread().unpark();
    old.join().expect("joined");
    new.join().expect("joined");
    let window = source.window().expect("a window");
    let old_row = row(&window, "futex", Some(old_tid)).expect("its row");
    assert_eq!((old_row.untimed, old_row.max_ns), (1, None), "its begin is unknown");
}

#[test]
fn calls_with_a_hidden_entry_or_return_count_and_are_reported() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = open_hiding(SyscallsBy::Thread, &["getppid"], 10);
    source.window().expect("a window");
    let tid = work();
    let window = source.window().expect("a window");
    let calls = row(&window, "getppid", Some(tid)).expect("its row");
    let unseen = window.losses.unseen;
    println!("{calls:?}, {unseen} returns unseen");
    assert_eq!(calls.errors, 0, "what failed was another call");
    // For a tenth the entry was hidden, for a tenth the return, for a hundredth both.
    assert!(calls.calls <= LOOPS && calls.calls + LOOPS / 25 >= LOOPS, "{calls:?}");
    assert!((LOOPS / 20..=LOOPS / 5).contains(&unseen), "{unseen}");
    let entries = calls.untimed - unseen;
    assert!((LOOPS / 20..=LOOPS / 5).contains(&entries), "{entries}");
}
