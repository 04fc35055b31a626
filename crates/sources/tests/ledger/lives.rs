//! Births and deaths between two looks, zombies, and programs that become others.

use crate::books::{process, run_ns, Books};
use exactop_model::{Counter, RowKind};
use exactop_sources::ledger::Options;
use exactop_workloads::workloads::ExecThreads;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn born_inside_dead_inside() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    for _ in 0..10 {
        assert!(Command::new("/bin/true").status().expect("true").success());
    }
    let window = books.window(Duration::from_millis(50));
    let frame = books.processes(&window);
    let me = std::process::id();
    let exited: Vec<_> = frame.exited.iter().filter(|r| r.ident.ppid == me).collect();
    assert_eq!(exited.iter().map(|r| r.exited_processes).sum::<u64>(), 10, "{exited:?}");
    let names: Vec<_> = exited.iter().map(|r| r.ident.comm.to_string()).collect();
    assert!(names.iter().all(|n| n == "true" || n == "busybox"), "{names:?}");
    assert!(exited.iter().all(|r| r.kind == RowKind::Exited && run_ns(r) > 0));
    let children = process(&frame, me).children.and_then(|c| c.get(Counter::RunNs));
    assert_eq!(children, Some(exited.iter().map(|r| run_ns(r)).sum()), "CPU+ is theirs");
}

#[test]
fn grandchildren_of_the_dead_go_to_the_nearest_living_ancestor() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let status = Command::new("/bin/sh").args(["-c", "(/bin/true; /bin/true); exit 0"]).status();
    assert!(status.expect("sh").success());
    let window = books.window(Duration::from_millis(50));
    let frame = books.processes(&window);
    let me = std::process::id();
    let exited: u64 =
        frame.exited.iter().filter(|r| r.ident.ppid == me).map(|r| r.exited_processes).sum();
    assert!(exited >= 3, "sh and both true, perhaps a subshell: {:?}", frame.exited);
}

#[test]
fn a_zombie_is_shown_and_takes_no_time() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut child = Command::new("/bin/true").spawn().expect("true");
    books.window(Duration::from_millis(200));
    let window = books.window(Duration::from_millis(100));
    let frame = books.processes(&window);
    let row = process(&frame, child.id());
    assert_eq!((row.letter, row.life_ns, run_ns(row)), ('Z', 0, 0));
    let zombies = frame.rows.iter().filter(|row| row.letter == 'Z').count();
    assert_eq!(frame.processes.zombie as usize, zombies, "others may have some, too");
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    child.wait().expect("reaped");
    std::thread::sleep(Duration::from_millis(300));
    let window = books.window(Duration::from_millis(100));
    assert!(books.processes(&window).rows.iter().all(|r| r.key.tgid != child.id()));
}

/// As many as before are not the same as before.
#[test]
fn a_zombie_that_takes_the_place_of_another_is_the_one_that_is_shown() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut first = Command::new("/bin/true").spawn().expect("true");
    let zombies = |books: &mut Books| -> Vec<u32> {
        let window = books.window(Duration::from_millis(200));
        let rows = books.processes(&window).rows;
        rows.iter().filter(|row| row.letter == 'Z').map(|row| row.key.tgid).collect()
    };
    while !zombies(&mut books).contains(&first.id()) {}
    assert!(zombies(&mut books).contains(&first.id()), "nothing happened to it");
    let mut second = Command::new("/bin/true").spawn().expect("true");
    first.wait().expect("reaped");
    // The kernel frees it when nobody looks at it any more, and the other must have ended.
    let changed = (0..100).any(|_| {
        let now = zombies(&mut books);
        now.contains(&second.id()) && !now.contains(&first.id())
    });
    second.wait().expect("reaped");
    assert!(changed, "{} is still shown, or {} is not", first.id(), second.id());
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
    let after = books.window(Duration::from_millis(200));
    let frame = books.processes(&after);
    let row = process(&frame, child.id());
    assert_eq!(row.account, account);
    // Busybox executes itself: there the new name is another, but not the shell's.
    assert_ne!(row.ident.comm.to_string(), "sh", "{row:?}");
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

#[test]
fn exec_by_another_thread_keeps_the_books() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = ExecThreads::start(2).expect("exec");
    let before = load.execs().expect("execs");
    for _ in 0..20 {
        let window = books.window(Duration::from_millis(50));
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
    }
    assert!(load.execs().expect("execs") > before, "nobody exec'ed");
}
