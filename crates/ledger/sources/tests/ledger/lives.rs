//! Births and deaths between two readings, zombies, and programs that execute others.

use crate::books::{process, run_ns, Books};
use crate::until;
use exactop_model::ledger::window::{ExitDelta, Window};
use exactop_model::{Counter, RowKind};
use exactop_sources::ledger::Options;
use exactop_workloads::workloads::ExecThreads;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_task_born_and_dead_inside_a_window_is_counted() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    for _ in 0..10 {
        assert!(Command::new("/bin/true").status().expect("true").success());
    }
    let me = std::process::id();
    let mut processes = 0;
    // Its last switch may come after it was reaped.
    books.find("ten to end", |books, window| {
        let frame = books.processes(&window);
        let exited: Vec<_> = frame.exited.iter().filter(|r| r.ident.ppid == me).collect();
        processes += exited.iter().map(|r| r.exited_processes).sum::<u64>();
        let names: Vec<_> = exited.iter().map(|r| r.ident.comm.to_string()).collect();
        assert!(names.iter().all(|n| n == "true" || n == "busybox"), "{names:?}");
        assert!(exited.iter().all(|r| r.kind == RowKind::Exited && run_ns(r) > 0));
        let children = process(&frame, me).children.and_then(|c| c.get(Counter::RunNs));
        let theirs: u64 = exited.iter().map(|r| run_ns(r)).sum();
        assert_eq!(children.unwrap_or(0), theirs, "CPU+ is theirs");
        assert!(processes <= 10, "{exited:?}");
        (processes == 10).then_some(())
    });
}

/// Also those that a CPU keeps for its next births.
#[test]
fn slots_of_tasks_that_ended_are_used_again() {
    const BIRTHS: u64 = 3_000;
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    books.window(Duration::from_millis(50));
    let before = books.ledger.slots();
    let script = format!("i=0; while [ $i -lt {BIRTHS} ]; do (:); i=$((i+1)); done");
    assert!(Command::new("/bin/sh").args(["-c", &script]).status().expect("sh").success());
    let taken = books.ledger.slots() - before;
    let window = books.close().expect("a window is open");
    let me = std::process::id();
    let ours = |group: &&ExitDelta| group.sample.ancestors.iter().any(|of| of.tgid == me);
    let exited: u64 = window.exited.iter().filter(ours).map(|group| group.processes).sum();
    assert!(exited >= BIRTHS, "{exited} exited");
    // Other processes of the machine take some.
    assert!(taken < BIRTHS / 2, "{taken} slots for {BIRTHS} tasks, one after the other");
}

#[test]
fn exited_grandchildren_go_to_the_nearest_living_ancestor() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let status = Command::new("/bin/sh").args(["-c", "(/bin/true; /bin/true); exit 0"]).status();
    assert!(status.expect("sh").success());
    let me = std::process::id();
    let mut exited = 0;
    books.find("sh and both true to end, perhaps a subshell", |books, window| {
        let frame = books.processes(&window);
        let ours = frame.exited.iter().filter(|r| r.ident.ppid == me);
        exited += ours.map(|r| r.exited_processes).sum::<u64>();
        (exited >= 3).then_some(())
    });
}

#[test]
fn a_zombie_has_a_row_and_uses_no_time() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut child = Command::new("/bin/true").spawn().expect("true");
    until::zombie(child.id());
    let shown = |books: &Books, window: &Window| {
        let rows = books.processes(window).rows;
        rows.into_iter().find(|row| row.key.tgid == child.id() && row.letter == 'Z')
    };
    let row = books.find("a zombie", |books, window| shown(books, &window));
    assert_eq!(row.delta.get(Counter::RunNs), Some(0), "known from its first window on");
    let window = books.window(Duration::from_millis(100));
    let frame = books.processes(&window);
    let row = process(&frame, child.id());
    assert_eq!((row.letter, row.life_ns, run_ns(row)), ('Z', 0, 0));
    let zombies = frame.rows.iter().filter(|row| row.letter == 'Z').count();
    assert_eq!(frame.processes.zombie as usize, zombies, "others may have some, too");
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    let pid = child.id();
    child.wait().expect("reaped");
    // The kernel frees a task when its last user releases it.
    books.find("the zombie to be gone", |books, window| {
        books.processes(&window).rows.iter().all(|r| r.key.tgid != pid).then_some(())
    });
}

/// The same number of zombies, but not the same ones.
#[test]
fn a_zombie_that_replaces_another_is_shown_instead() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut first = Command::new("/bin/true").spawn().expect("true");
    let zombies = |books: &Books, window: Window| -> Vec<u32> {
        let rows = books.processes(&window).rows;
        rows.iter().filter(|row| row.letter == 'Z').map(|row| row.key.tgid).collect()
    };
    books.find("a zombie", |books, window| {
        zombies(books, window).contains(&first.id()).then_some(())
    });
    let window = books.window(Duration::from_millis(200));
    assert!(zombies(&books, window).contains(&first.id()), "nothing happened to it");
    let mut second = Command::new("/bin/true").spawn().expect("true");
    first.wait().expect("reaped");
    // The kernel frees the first one when its last user releases it, and the second one must have
    // exited.
    books.find("the second one in place of the first", |books, window| {
        let now = zombies(books, window);
        (now.contains(&second.id()) && !now.contains(&first.id())).then_some(())
    });
    second.wait().expect("reaped");
}

#[test]
fn exec_keeps_the_account_and_takes_the_new_name() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let script = "read x; exec sleep 1000";
    let mut child =
        Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::piped()).spawn().expect("sh");
    let before = books.window(Duration::from_millis(100));
    let account = process(&books.processes(&before), child.id()).account;
    drop(child.stdin.take());
    books.find("another name", |books, window| {
        let frame = books.processes(&window);
        let row = process(&frame, child.id());
        assert_eq!(row.account, account);
        // Busybox executes itself: the new name differs from the shell's.
        (row.ident.comm.to_string() != "sh").then_some(())
    });
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

#[test]
fn exec_by_another_thread_keeps_the_books() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = ExecThreads::start(2).expect("exec");
    let before = load.execs().expect("execs");
    let mut windows = 0;
    books.find("execs in 20 windows", |books, window| {
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{faults:?}");
        for pid in load.pids() {
            let leaders: Vec<_> = books
                .processes(&window)
                .rows
                .iter()
                .filter(|r| r.key.tgid == pid)
                .map(|r| r.key)
                .collect();
            assert!(leaders.len() <= 1, "one process, one row: {leaders:?}");
        }
        windows += 1;
        (windows >= 20 && load.execs().expect("execs") > before).then_some(())
    });
}
