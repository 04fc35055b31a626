//! Tests of a window's exactness, alone and over several windows.

use exactop_model::ledger::audit::TaskAudit;
use exactop_model::ledger::exactness::WindowState::{self, Exact, Inexact, Repaired};
use exactop_model::ledger::exactness::{RepairedTasks, Repairs};
use exactop_model::ledger::joined::Joined;
use exactop_model::ledger::snapshot::{GroupMove, MicroState};
use exactop_model::{
    Book, Counter, Counters, ErrorKind, Frame, FrameOptions, Snapshot, SourceKind, Window,
};
use exactop_testkit::{snapshot, window};

/// The state of a ledger's window after `change`, by itself and on the screen.
fn state(change: impl Fn(&mut Window)) -> WindowState {
    let (mut window, book) = window(SourceKind::Ledger, 1, None);
    change(&mut window);
    let frame = Frame::new(&window, &book, &FrameOptions::default());
    assert_eq!((window.state(), frame.exact), (frame.state, frame.state != Inexact));
    frame.state
}

#[test]
fn exact_is_without_residual_without_misses_and_without_repairs() {
    let after = |kind: ErrorKind| state(|window| window.errors.add(kind, 1));
    let missed = |n: Option<u64>| {
        state(|window| window.cpus.iter_mut().for_each(|cpu| cpu.time.missed_switches = n))
    };
    assert_eq!(state(|_| ()), Exact);
    assert_eq!(missed(None), Exact, "as far as it can be known");
    assert_eq!(after(ErrorKind::FreeList), Exact);
    assert_eq!(missed(Some(1)), Repaired);
    assert_eq!(after(ErrorKind::LostWakeup), Repaired);
    assert_eq!(after(ErrorKind::MissedSwitch), Inexact);
    assert_eq!(after(ErrorKind::NoSlot), Inexact);
    assert_eq!(state(|window| window.cpus[0].residual_ns = 1), Inexact);
    assert_eq!(window(SourceKind::Procfs, 1, None).0.state(), Inexact, "it keeps no books");
    assert!(Exact < Repaired && Repaired < Inexact, "the worst of several is the largest");
}

#[test]
fn a_window_with_a_repaired_task_is_not_exact() {
    // The event was counted with the window before: it came between the window's end and the
    // reading.
    assert_eq!(state(|window| window.repaired_tasks = Some(1)), Repaired);
    assert_eq!(state(|window| window.repaired_tasks = None), Exact, "as far as it can be known");
}

#[test]
fn a_source_without_events_has_no_number_of_repairs() {
    let of = |source| Repairs::from_window(&window(source, 1, None).0);
    assert_eq!(of(SourceKind::Ledger), Repairs::nothing());
    for source in [SourceKind::Procfs, SourceKind::Snapshot, SourceKind::Taskstats] {
        assert_eq!(of(source).events, None, "{source:?}");
    }
}

/// A recording of a version that did not count repairs has none, not zero.
#[test]
fn rows_of_a_window_without_a_count_of_repairs_have_none() {
    let (mut window, book) = window(SourceKind::Ledger, 1, None);
    for tasks in [window.repaired_tasks, None] {
        window.repaired_tasks = tasks;
        let frame = Frame::new(&window, &book, &FrameOptions::default());
        let mut rows = frame.rows.iter().chain(&frame.exited);
        assert!(rows.all(|row| row.repairs.is_some() == tasks.is_some()), "{tasks:?}");
        assert!(!frame.exited.is_empty());
    }
}

/// The state that a task is in goes on, although the task has no event.
#[test]
fn tasks_without_an_event_are_as_of_the_last_snapshot() {
    let [first, mut second] = [1, 2].map(|n| snapshot(SourceKind::Ledger, n, None));
    (second.tasks, second.complete) = (Vec::new(), false);
    let length = second.at_ns - first.at_ns;
    let mut book = Book::new();
    let mut asleep = |snapshot| {
        book.advance(snapshot);
        let asleep = book.tasks().filter(|task| task.state == MicroState::Sleep);
        asleep.filter_map(|task| task.counters.get(Counter::SleepNs)).collect::<Vec<_>>()
    };
    let (before, after) = (asleep(first), asleep(second));
    assert!(!before.is_empty());
    assert_eq!(after, before.iter().map(|ns| ns + length).collect::<Vec<_>>());
}

/// In every window the third task and two exited tasks are repaired, in the first window the fourth
/// task too.
fn repaired(beat: u64) -> Snapshot {
    let mut snapshot = snapshot(SourceKind::Ledger, beat, None);
    let audit = |repairs| TaskAudit { repairs, ..TaskAudit::default() };
    snapshot.tasks[2].audit = audit(beat);
    snapshot.tasks[3].audit = audit(beat.min(1));
    snapshot.exited[0].audit.repaired = 2 * beat;
    snapshot
}

#[test]
fn a_task_repaired_in_every_window_counts_once() {
    let (mut book, mut joined) = (Book::new(), Joined::default());
    let (mut tasks, mut repairs) = (RepairedTasks::default(), Repairs::nothing());
    for (beat, of_window) in (0..4).zip([None, Some(4), Some(3), Some(3)]) {
        joined.before(&repaired(beat), &book);
        let window = book.advance(repaired(beat));
        assert_eq!(window.as_ref().and_then(|window| window.repaired_tasks), of_window);
        let Some(window) = window else { continue };
        tasks.add(&window);
        repairs.add(&Repairs::from_window(&window), &tasks);
        joined.add(window, &book);
    }
    assert_eq!(repairs.tasks, Some(2 + 6), "the ended cannot be told from each other");
    let window = joined.window().expect("three windows");
    assert_eq!((window.repaired_tasks, window.state()), (Some(8), Repaired));
}

/// Interrupts measured in one window only are part of run time in the sum, also of what moved.
#[test]
fn a_move_joined_with_an_unmeasured_window_keeps_its_time() {
    let (mut measured, book) = window(SourceKind::Ledger, 1, None);
    measured.cpus.iter_mut().for_each(|cpu| cpu.time.irq_ns = Some(0));
    let mut used = Counters::unknown();
    used.set(Counter::RunNs, 10);
    used.set(Counter::IrqNs, 2);
    measured.moves = vec![GroupMove { from: 1, to: 2, used }];
    let mut unmeasured = Window { moves: Vec::new(), ..measured.clone() };
    unmeasured.cpus.iter_mut().for_each(|cpu| cpu.time.irq_ns = None);
    for windows in [[&measured, &unmeasured, &measured], [&unmeasured, &measured, &unmeasured]] {
        let mut joined = Joined::default();
        windows.iter().for_each(|window| joined.add((*window).clone(), &book));
        let moves = joined.window().expect("three windows").moves;
        let times = windows.iter().filter(|window| !window.moves.is_empty()).count() as u64;
        let [moved] = &moves[..] else { panic!("{moves:?}") };
        assert_eq!(moved.used.get(Counter::RunNs), Some(12 * times));
        assert_eq!(moved.used.get(Counter::IrqNs), None);
    }
}

#[test]
fn the_number_of_tasks_is_unknown_if_it_is_in_one_window() {
    let (mut known, mut tasks) = (RepairedTasks::default(), RepairedTasks::default());
    let (window, _) = window(SourceKind::Ledger, 1, None);
    known.add(&window);
    tasks.add(&window);
    tasks.add(&Window { repaired_tasks: None, ..window });
    assert_eq!((known.count(), tasks.count()), (Some(0), None));
}

#[test]
fn the_document_has_the_effect_of_each_kind() {
    let page = include_str!("../../../../../../docs/explanation/accuracy.md");
    for &kind in ErrorKind::ALL {
        let name = format!("`{}`", kind.id());
        let of_kind = |row: &&str| row.split('|').nth(1).is_some_and(|cell| cell.contains(&name));
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| `")).filter(of_kind).collect();
        let [row] = rows[..] else { panic!("{name} has {} rows", rows.len()) };
        let leaves = match (kind.inexact(), kind.repaired()) {
            (true, _) => "inexact",
            (false, true) => "repaired",
            (false, false) => "exact",
        };
        let cell = |n| row.split('|').nth(n).map_or("", str::trim);
        assert!(cell(2).split(", ").any(|word| word == kind.short()), "{row}");
        assert_eq!(cell(3), leaves, "{row}");
    }
}
