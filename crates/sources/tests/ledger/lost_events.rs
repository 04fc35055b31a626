//! The ledger loses events as a kernel does that does not show them, and notices each kind in the
//! window it happened in. The books close all the same: that is why they prove nothing here.

use crate::books::{life_fault, Books};
use exactop_model::window::Window;
use exactop_model::ErrorKind;
use exactop_sources::ledger::{Loss, LostEvent, Options};
use exactop_sources::{SplitOptions, When};
use exactop_workloads::workloads::{ExitingThreads, ForkStorm, PipePingPong};
use std::time::Duration;

/// What came of losing events.
#[derive(Debug, Default)]
struct Seen {
    lost: u64,
    noticed: u64,
    /// Windows in which events were lost for certain, and those of them in which it was noticed.
    windows: u32,
    noticed_in: u32,
    /// All windows.
    taken: u32,
}

/// Until so many windows had losses, and at most so many in all.
const ENOUGH: u32 = 15;
/// An emulated machine takes a minute for each test: there, one of them.
const ON_AN_EMULATED_MACHINE: Loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 1 };
const AT_MOST: u32 = 200;

/// `None` where it is left out.
fn lose(loss: Loss, noticed: impl Fn(&Window) -> u64) -> Option<Seen> {
    if crate::emulated() && loss != ON_AN_EMULATED_MACHINE {
        eprintln!("left out on an emulated machine: {loss:?}");
        return None;
    }
    let split = SplitOptions {
        irq: match loss.event {
            LostEvent::Interrupt => When::Always,
            _ => When::Never,
        },
        ..SplitOptions::default()
    };
    let mut books = Books::open(&Options { lose: Some(loss), split, ..Options::default() });
    // After the programs are attached, which takes the kernel seconds on a busy machine.
    let load = loads();
    let _ = rustix::process::setpriority_process(None, -19);
    let mut seen = Seen::default();
    let begin = books.ledger.lost_on_purpose();
    for _ in 0..AT_MOST {
        let before = books.ledger.lost_on_purpose();
        std::thread::sleep(Duration::from_millis(30));
        // What is lost from here on may show in the next window: a wake-up when the task runs.
        let certain = books.ledger.lost_on_purpose() - before;
        std::thread::sleep(Duration::from_millis(30));
        seen.lost = books.ledger.lost_on_purpose() - begin;
        let window = books.close().expect("a window is open");
        seen.taken += 1;
        let found = noticed(&window);
        seen.noticed += found;
        if certain > 0 {
            seen.windows += 1;
            seen.noticed_in += u32::from(found > 0);
        }
        let frame = books.threads(&window);
        assert_eq!(frame.books.residual_ns, 0, "{loss:?}: the books close whatever is lost");
        assert!(window.cpus.iter().all(|cpu| cpu.residual_ns == 0), "{loss:?}");
        let faults: Vec<_> = window.tasks.iter().filter_map(life_fault).collect();
        assert!(faults.is_empty(), "{loss:?}: {faults:?}");
        if seen.windows >= ENOUGH {
            break;
        }
    }
    println!("{loss:?}: {seen:?}");
    assert!(seen.lost > 0 && seen.windows > 0, "{loss:?}: nothing was lost");
    drop(load);
    Some(seen)
}

fn kind(kind: ErrorKind) -> impl Fn(&Window) -> u64 {
    move |window| window.errors.get(kind)
}

fn of_cpus(window: &Window) -> u64 {
    let missed = |cpu: &exactop_model::window::CpuDelta| cpu.time.missed_switches;
    window.cpus.iter().map(|cpu| missed(cpu).expect("this kernel has the witness")).sum()
}

fn loads() -> impl Sized {
    (
        ForkStorm::start(1).expect("a fork storm"),
        PipePingPong::start(40).expect("ping-pong"),
        ExitingThreads::start(1).expect("exits"),
    )
}

/// Each is noticed in its window, and all of them are counted.
fn switches_are_missed(one_in: u32, in_a_row: u32) {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in, in_a_row };
    let Some(seen) = lose(loss, of_cpus) else { return };
    assert_eq!(seen.noticed_in, seen.windows, "{seen:?}");
    assert!(seen.noticed >= seen.lost, "{seen:?}");
    if crate::emulated() {
        return; // between the count and the window's end lie many more
    }
    // The kernel hides some of its own, and some are lost between the count and the end.
    assert!(seen.noticed <= seen.lost + seen.lost / 4 + 20 * u64::from(seen.taken), "{seen:?}");
}

#[test]
fn one_switch_in_ten() {
    switches_are_missed(10, 1);
}

#[test]
fn one_switch_in_ten_thousand() {
    switches_are_missed(10_000, 1);
}

#[test]
fn a_pair_of_switches_in_twenty() {
    switches_are_missed(20, 2);
}

#[test]
fn a_pair_of_switches_in_ten_thousand() {
    switches_are_missed(10_000, 2);
}

fn events_are_missed(event: LostEvent, told_as: ErrorKind, rates: [u32; 2]) {
    let Some(_machine) = crate::machine() else { return };
    for one_in in rates {
        let loss = Loss { event, one_in, in_a_row: 1 };
        let Some(seen) = lose(loss, kind(told_as)) else { continue };
        // What is lost in the last moments of a window shows when the task runs next.
        assert!(seen.noticed_in + 1 >= seen.windows, "{event:?}: {seen:?}");
    }
}

#[test]
fn wakeups() {
    events_are_missed(LostEvent::Wakeup, ErrorKind::LostWakeup, [10, 10_000]);
}

#[test]
fn births() {
    events_are_missed(LostEvent::Birth, ErrorKind::UnseenBirth, [10, 100]);
}

#[test]
fn exits() {
    events_are_missed(LostEvent::Exit, ErrorKind::UnseenExit, [10, 100]);
}

#[test]
fn interrupts() {
    events_are_missed(LostEvent::Interrupt, ErrorKind::UnseenIrq, [10, 100]);
}

/// A lost switch is somebody's: the tasks' own counts tell whose.
#[test]
fn tasks_know_which_switches_were_missed() {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 1 };
    let of_tasks = |window: &Window| -> u64 {
        use exactop_model::Counter::MissedSwitches;
        let live = window.tasks.iter().filter_map(|t| t.delta.get(MissedSwitches));
        live.chain(window.exited.iter().filter_map(|e| e.delta.get(MissedSwitches))).sum()
    };
    let Some(seen) = lose(loss, of_tasks) else { return };
    assert_eq!(seen.noticed_in, seen.windows, "{seen:?}");
    // Idle's are nobody's.
    assert!(seen.noticed * 4 > seen.lost, "{seen:?}");
}
