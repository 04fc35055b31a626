//! A user without rights makes very many tasks. All other tasks still have a row, with the right
//! figures.

use crate::books::{process, run_ns, Books};
use crate::until;
use exactop_model::ledger::window::Window;
use exactop_model::{ErrorKind, Frame};
use exactop_sources::ledger::Options;
use exactop_testkit::wait;
use exactop_workloads::workloads::{Crowd, CrowdOf, Spin};
use std::time::Duration;

/// Number of tasks: as many as the machine permits besides the existing ones, at most 30,000, and
/// fewer on an emulated machine.
fn crowd() -> usize {
    let read = |path| std::fs::read_to_string(path).ok()?.trim().parse::<usize>().ok();
    let most = read("/proc/sys/kernel/pid_max").expect("proc_sys_kernel(5)");
    if crate::emulated() {
        return 3_000;
    }
    most.saturating_sub(2_500).min(30_000)
}

/// Checks that no slot, group or name was lost in the window, and that its books close.
fn nothing_lost(books: &Books, window: &Window) {
    let faults = books.faults(window);
    assert!(faults.is_empty(), "{faults:?}");
    for kind in [ErrorKind::NoSlot, ErrorKind::NoStorage, ErrorKind::NoGroup, ErrorKind::NoLine] {
        assert_eq!(window.errors.get(kind), 0, "{kind:?}");
    }
}

/// Compares the load's row with the kernel's clock of its process. The row has at least the time
/// between two readings inside the window, and at most that between two readings around it.
fn row_is_right(books: &mut Books, spin: &Spin) -> Frame {
    let clock = || until::cpu_clock_ns(spin.pid());
    let (window, looks) = books.between(Duration::from_millis(300), clock);
    nothing_lost(books, &window);
    let frame = books.processes(&window);
    let row = run_ns(process(&frame, spin.pid()));
    let (least, most) = (looks.at_least(), looks.at_most());
    // The row includes interrupts; the kernel's clock may not.
    assert!(row + 1_000_000 >= least, "the row has {row} ns, the kernel {least} ns at least");
    assert!(
        row <= most + most / 50 + 1_000_000,
        "the row has {row} ns, the kernel {most} ns at most"
    );
    assert!(row <= window.length_ns(), "one thread: {row} ns of {}", window.length_ns());
    frame
}

/// The test uses nearly all process numbers, so no other test could fork beside it.
mod alone {
    use super::*;

    #[test]
    fn a_task_born_among_thirty_thousand_has_a_correct_row() {
        let Some(_machine) = crate::machine() else { return };
        let mut books = Books::open(&Options::default());
        let crowd = Crowd::start(CrowdOf::Living, crowd()).expect("a crowd");
        let spin = Spin::start(1, None).expect("a load");
        let frame = row_is_right(&mut books, &spin);
        let rows = frame.rows.iter().filter(|row| row.ident.ppid == crowd.pid()).count();
        assert_eq!(rows, crowd.pids().len(), "each of them has a row");
    }
}

#[test]
fn zombies_hold_no_slots_and_each_has_a_row() {
    let Some(_machine) = crate::machine() else { return };
    // Room for living tasks, other processes' included, but not for the dead.
    let mut books = Books::open(&Options { slots: 6_000, ..Options::default() });
    let crowd = Crowd::start(CrowdOf::Zombies, crowd().min(10_000)).expect("a crowd");
    let spin = Spin::start(1, None).expect("a load");
    wait::until("all of them to end", || {
        crowd.pids().iter().all(|&pid| until::letter(pid, pid) == Some('Z'))
    });
    row_is_right(&mut books, &spin);
    let ended = |row: &&exactop_model::Row| row.ident.ppid == crowd.pid() && row.letter == 'Z';
    // Some wait for a CPU between their exit and their last switch.
    books.find("each of them to have a row", |books, window| {
        nothing_lost(books, &window);
        let rows = books.processes(&window).rows;
        (rows.iter().filter(ended).count() == crowd.pids().len()).then_some(())
    });
}

#[test]
fn twenty_thousand_names_are_twenty_thousand_groups() {
    let Some(_machine) = crate::machine() else { return };
    let names = match std::env::var("EXACTOP_TEST_NAMES") {
        Ok(count) => count.parse().expect("a number"),
        Err(_) if crate::emulated() => 2_000,
        Err(_) => 20_000,
    };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(1, None).expect("a load");
    let crowd = Crowd::start(CrowdOf::Names, names).expect("a crowd");
    let (mut named, mut groups, mut lost) = (0, 0, 0);
    while named < names as u64 {
        named = crowd.named().expect("it lives");
        let window = books.window(Duration::from_millis(500));
        nothing_lost(&books, &window);
        let of_crowd = |e: &&exactop_model::ledger::window::ExitDelta| {
            e.sample.ancestors.iter().any(|a| a.tgid == crowd.pid())
        };
        let no_name = window.cpus.iter().map(|cpu| cpu.time.no_name_processes);
        lost += no_name.sum::<u64>();
        groups += window.exited.iter().filter(of_crowd).map(|e| e.processes).sum::<u64>();
        let frame = books.processes(&window);
        assert!(run_ns(process(&frame, spin.pid())) > 0);
    }
    println!("{groups} exits in groups, {lost} without");
    assert!(groups + lost >= names as u64, "each exit is counted: {groups} and {lost}");
    assert!(lost * 1_000 < names as u64, "and nearly each is in a group: {lost} are not");
}
