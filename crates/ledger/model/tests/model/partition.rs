//! Rows partition the accounts of tasks: their CPU time sums to the books', even if some figures
//! are unknown.

use exactop_model::frame::{Frame, FrameOptions, IdleRows};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    Book, Counter, Counters, ExitSample, Ident, MicroState, Row, Snapshot, SourceKind, TaskKey,
    TaskSample,
};
use exactop_testkit::samples;

const SECOND: u64 = 1_000_000_000;

/// A thread of process 7; its account has the number of the thread.
fn thread(tid: u32, run_ns: u64) -> TaskSample {
    let key = TaskKey { tgid: 7, tid, start_ns: 1 };
    let mut task = samples::task(tid.into(), key, Ident::default());
    task.counters.set(Counter::RunNs, run_ns);
    task
}

fn at(seconds: u64, tasks: Vec<TaskSample>) -> Snapshot {
    let complete = seconds == 1;
    Snapshot { tasks, complete, ..samples::snapshot(SourceKind::Ledger, seconds * SECOND) }
}

fn run_ns(rows: &[Row]) -> u64 {
    rows.iter().filter_map(|row| row.delta.get(Counter::RunNs)).sum()
}

/// The frame of the window between two snapshots; building it checks the rows against the books.
fn frame(first: Snapshot, second: Snapshot, threads: bool) -> Frame {
    let mut book = Book::new();
    book.advance(first);
    let window = book.advance(second).expect("a window");
    let options = FrameOptions { threads, still: IdleRows::All, ..FrameOptions::default() };
    let frame = Frame::new(&window, &book, &options);
    let rows = run_ns(&frame.rows) + run_ns(&frame.exited);
    assert_eq!(rows, frame.books.tasks_ns + frame.books.exited_ns, "threads: {threads}");
    frame
}

/// A thread that was born before the window and is new to the source.
#[test]
fn a_row_has_the_known_part_beside_an_unknown_thread() {
    for threads in [false, true] {
        let now = vec![thread(7, 15_849), thread(8, 99)];
        let frame = frame(at(1, vec![thread(7, 0)]), at(2, now), threads);
        assert_eq!(run_ns(&frame.rows), 15_849);
    }
}

/// A process that ended, and a new one with its number.
#[test]
fn a_number_with_two_owners_hides_no_time() {
    let mut zombie = thread(7, 0);
    (zombie.account.0, zombie.state, zombie.letter) = (700, MicroState::Zombie, 'Z');
    let mut born = thread(7, 15_849);
    (born.key.start_ns, born.since_ns) = (SECOND + 5, SECOND + 5);
    for tasks in [vec![zombie, born], vec![born, zombie]] {
        assert_eq!(run_ns(&frame(at(1, Vec::new()), at(2, tasks), false).rows), 15_849);
    }
}

#[test]
fn a_task_that_ends_with_its_window_has_a_row() {
    let mut second = at(2, vec![thread(7, 15_849)]);
    second.gone = vec![thread(7, 0).account];
    assert_eq!(run_ns(&frame(at(1, vec![thread(7, 0)]), second, false).rows), 15_849);
}

#[test]
fn a_task_last_seen_running_has_no_time_outside_of_the_accounts() {
    for threads in [false, true] {
        let mut runs = thread(7, 0);
        runs.state = MicroState::Run;
        let frame = frame(at(1, vec![runs]), at(2, Vec::new()), threads);
        assert_eq!(frame.rows[0].delta.get(Counter::RunNs), None);
    }
}

/// Its process is active, is still, or has exited.
#[test]
fn a_thread_that_exited_is_in_one_row() {
    let exited = |run_ns: u64| {
        let of = ProcessRef { tgid: 7, start_ns: 1 };
        let none = samples::exited(70, Default::default(), Default::default());
        let mut counters = Counters::zero();
        counters.set(Counter::RunNs, run_ns);
        ExitSample { of, tasks: u64::from(run_ns > 0), counters, ..none }
    };
    for (before, after) in
        [(vec![thread(7, 0)], vec![thread(7, 3)]), (vec![thread(7, 0)], vec![]), (vec![], vec![])]
    {
        for threads in [false, true] {
            let first = Snapshot { exited: vec![exited(0)], ..at(1, before.clone()) };
            let second = Snapshot { exited: vec![exited(15_849)], ..at(2, after.clone()) };
            let frame = frame(first, second, threads);
            let in_row = !threads && !before.is_empty();
            assert_eq!(frame.exited_in_rows_ns, if in_row { 15_849 } else { 0 });
        }
    }
}
