//! Tables of slots and exited groups that are too small lose names, but no time.

use crate::books::{process, Books};
use exactop_model::{Counter, ErrorKind};
use exactop_sources::ledger::Options;
use exactop_workloads::workloads::{ForkStorm, Sleepers};
use std::process::Command;
use std::time::Duration;

#[test]
fn too_few_slots_cost_names_not_time() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options { slots: 64, ..Options::default() });
    let _storm = ForkStorm::start(2).expect("a fork storm");
    let sleepers = Sleepers::start(100).expect("sleepers");
    let window = books.window(Duration::from_millis(300));
    let frame = books.threads(&window);
    assert!(frame.books.unnamed_ns > 0);
    assert!(window.errors.get(ErrorKind::NoSlot) > 0);
    assert!(!frame.exact, "tasks without a name are not exact");
    assert_eq!(frame.books.residual_ns, 0, "{:?}", frame.books);
    // A task without a slot has a row, without the figures that are unknown.
    for pid in sleepers.pids() {
        let row = process(&frame, pid);
        assert_eq!(row.ident.comm.to_string(), row_name(pid), "its name is /proc's");
    }
    let slotless = frame.rows.iter().filter(|row| row.delta.get(Counter::RunNs).is_none());
    assert!(slotless.count() > 36, "100 sleepers and 64 slots");
}

fn row_name(pid: u32) -> String {
    let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("it sleeps");
    comm.trim_end().to_string()
}

#[test]
fn too_few_groups_cost_names_not_time() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options { groups: 1, ..Options::default() });
    let _storm = ForkStorm::start(2).expect("a fork storm");
    let (mut unnamed, mut seen) = (0, 0);
    for _ in 0..5 {
        let window = books.window(Duration::from_millis(200));
        let frame = books.threads(&window);
        assert_eq!(frame.books.residual_ns, 0, "{:?}", frame.books);
        let lost = window.errors.get(ErrorKind::NoGroup);
        assert!(lost == 0 || !frame.exact, "a window that lost names is not exact");
        let grouped: u64 = window.exited.iter().map(|e| e.processes).sum();
        let died = frame.died.expect("exits are seen");
        assert!(died >= grouped && (lost == 0 || died > grouped), "{died} {grouped} {lost}");
        unnamed += frame.books.unnamed_ns;
        seen += lost;
    }
    assert!(unnamed > 0 && seen > 0);
}

#[test]
fn groups_are_reused() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options { groups: 64, ..Options::default() });
    // More than twice the table's size. Exits of other processes also need groups, and may
    // sometimes leave none for ours.
    const NAMES: u64 = 160;
    let mut grouped = 0;
    for n in 0..NAMES {
        // Another name gives another group.
        let name = format!("ex{n}");
        let script = format!("printf {name} > /proc/$$/comm; exit 0");
        assert!(Command::new("/bin/sh").args(["-c", &script]).status().expect("sh").success());
        std::thread::sleep(Duration::from_millis(5));
        let window = books.close().expect("a window is open");
        let ours = window.exited.iter().filter(|e| e.sample.comm.bytes().starts_with(b"ex"));
        grouped += ours.map(|e| e.processes).sum::<u64>();
    }
    let window = books.close().expect("a window is open");
    let ours = window.exited.iter().filter(|e| e.sample.comm.bytes().starts_with(b"ex"));
    grouped += ours.map(|e| e.processes).sum::<u64>();
    let without = window.end.errors.get(ErrorKind::NoGroup);
    println!("{grouped} of {NAMES} in groups, {without} of everyone's without");
    assert!(grouped > NAMES / 2, "64 groups served {grouped} of {NAMES} names");
}
