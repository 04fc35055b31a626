//! A process has the name of its main thread, whichever thread was active.

use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::moves::{Cause, MoveRow, MoveSums, MoveWindow};
use exactop_model::on_demand::syscalls::{SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::on_demand::waits::{WaitRow, WaitWindow};
use exactop_model::on_demand::wakeups::{Edge, WakeupWindow};
use exactop_model::on_demand::{Choice, SubjectWindow};
use exactop_model::{Comm, SyscallNr, TaskRef};

/// A worker thread of a process whose main thread did nothing.
fn worker() -> TaskRef {
    TaskRef::thread(1, 68, Comm::new(b"tokio-rt-worker"), Comm::new(b"process_api"))
}

const NAME: &str = "process_api (1)";

#[test]
fn waits_by_process_have_its_name() {
    let (t0_ns, t1_ns, losses) = (0, 1, Losses::default());
    let waits = WaitWindow { t0_ns, t1_ns, rows: vec![WaitRow::new(worker())], losses };
    assert_eq!(waits.by_process()[0].who.to_string(), NAME);
}

#[test]
fn moves_by_process_have_its_name() {
    let sums = MoveSums::default();
    let rows = vec![MoveRow { who: worker(), from: 0, to: 1, cause: Cause::Unknown, sums }];
    let (unknown, missed, losses) = (Vec::new(), 0, Losses::default());
    let moves = MoveWindow { t0_ns: 0, t1_ns: 1, rows, unknown, missed, losses, whole: true };
    assert_eq!(moves.by_process()[0].who.to_string(), NAME);
}

#[test]
fn wakeups_between_processes_have_their_names() {
    let edge = Edge {
        waker: worker(),
        wakee: worker(),
        wakeups: 1,
        chains: 0,
        unproductive: 0,
        unproductive_ns: 0,
        late_ns: 0,
    };
    let (fans, losses) = (Vec::new(), Losses::default());
    let wakeups = WakeupWindow { t0_ns: 0, t1_ns: 1, edges: vec![edge], fans, losses };
    let between = &wakeups.between_processes()[0];
    assert_eq!([between.waker, between.wakee].map(|party| party.to_string()), [NAME, NAME]);
}

#[test]
fn system_calls_by_process_have_its_name() {
    let calls = SubjectWindow::Syscalls(SyscallWindow {
        t0_ns: 0,
        t1_ns: 1,
        by: SyscallsBy::Thread,
        rows: vec![SyscallRow::new(Some(worker()), SyscallNr(0))],
        failures: Vec::new(),
        dispatches: Vec::new(),
        losses: Losses::default(),
    });
    let choice = Choice { by: SyscallsBy::Process, ..Choice::default() };
    let SubjectWindow::Syscalls(told) = calls.visible_to(&choice, &|_| true) else {
        panic!("another kind")
    };
    let who = told.rows[0].who.map(|who| who.to_string());
    assert_eq!(who.as_deref(), Some(NAME));
}

/// A daemon or a recording of an earlier version has no names of processes.
#[test]
fn without_a_process_name_the_threads_name_is_used() {
    let told = r#"{"tgid":7,"tid":8,"comm":[119,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#;
    let who: TaskRef = serde_json::from_str(told).expect("the old format parses");
    assert_eq!(who.process().to_string(), "w (7)");
}
