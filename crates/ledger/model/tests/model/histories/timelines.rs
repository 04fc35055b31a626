//! Corner cases, one drawing each. Every window also passes the checks of random ones.

use super::check::{Books, Closed};
use super::drawn::{windows, COLUMN};
use super::machine::{Machine, INIT};
use exactop_model::{AccountId, Comm, Counter, MicroState, Row, RowKind};

/// The row of a process.
fn row(closed: &Closed, pid: u32) -> &Row {
    let found = closed.processes.rows.iter().find(|r| r.key.tgid == pid);
    found.unwrap_or_else(|| panic!("no row for {pid}"))
}

/// A figure in columns of the drawing.
fn columns(row: &Row, counter: Counter) -> u64 {
    row.delta.get(counter).expect("known") / COLUMN
}

/// Exited rows: ancestor, name, processes, tasks, columns of CPU time.
fn exited(rows: &[Row]) -> Vec<(u32, String, u64, u64, u64)> {
    let all = rows.iter().map(|r| {
        let run = columns(r, Counter::RunNs);
        (r.ident.ppid, r.ident.comm.to_string(), r.exited_processes, r.exited_tasks, run)
    });
    all.collect()
}

fn children(row: &Row) -> u64 {
    row.children.and_then(|c| c.get(Counter::RunNs)).expect("known") / COLUMN
}

#[test]
fn still_tasks_are_in_one_state_all_the_time() {
    let windows = windows(
        "
            |         |         |         |
7<1 sleeper ss0sssssssssssssssssssssssssssss
8<1 stopped .s0sTTTTTTTTTTTTTTTTTTTTTTTTTTTT
9<1 waiter  .s0llllllllllllllllllllllllllll
",
    );
    let first = &windows[0];
    assert_eq!(columns(row(first, 8), Counter::StopNs), 6);
    for closed in &windows[1..] {
        assert!(closed.window.tasks.is_empty(), "nothing happened to anyone");
        for (pid, counter, letter) in
            [(7, Counter::SleepNs, 'S'), (8, Counter::StopNs, 'T'), (9, Counter::LatNs, 'R')]
        {
            let row = row(closed, pid);
            assert_eq!((columns(row, counter), row.life_ns / COLUMN), (10, 10), "{pid}");
            assert_eq!((row.letter, columns(row, Counter::RunNs)), (letter, 0));
        }
    }
    assert_eq!(windows[2].threads.processes.stopped, 1);
}

#[test]
fn a_runner_without_events_is_charged_by_the_flush() {
    let windows = windows(
        "
            |         |         |
7<1 busy    0000000000000000000000
",
    );
    for closed in &windows {
        assert_eq!(columns(row(closed, 7), Counter::RunNs), 10);
        assert_eq!(closed.processes.books.idle_ns / COLUMN, 10);
    }
}

#[test]
fn an_exit_goes_to_the_nearest_living_ancestor() {
    let windows = windows(
        "
            |         |         |
7<1 make    sssssssssssssssssssssss
8<7 sh      .s1sssss...............
9<8 cc      ..s000s.................
6<7 cc      ...........s00s.........
",
    );
    // sh exited too, so its child counts under make, beside sh itself.
    let all = [(7, "cc".into(), 1, 1, 3), (7, "sh".into(), 1, 1, 1)];
    assert_eq!(exited(&windows[0].processes.exited), all);
    assert_eq!(children(row(&windows[0], 7)), 4);
    assert_eq!(windows[0].processes.died, Some(2));
    assert_eq!(exited(&windows[1].processes.exited), [(7, "cc".into(), 1, 1, 2)]);
    assert_eq!(children(row(&windows[1], 7)), 2, "only what died in this window");
    assert_eq!(children(row(&windows[1], INIT)), 0);
}

#[test]
fn without_a_living_parent_it_goes_to_init() {
    let windows = windows(
        "
            |         |
7<1 sh      .s1s........
8<7 orphan  ..ssss00s...
",
    );
    let all = [(1, "orphan".into(), 1, 1, 2), (1, "sh".into(), 1, 1, 1)];
    assert_eq!(exited(&windows[0].processes.exited), all);
    assert_eq!(children(row(&windows[0], INIT)), 3);
}

#[test]
fn a_thread_that_ends_stays_part_of_its_process() {
    let windows = windows(
        "
            |         |         |
7<1 server  sssssssssssssssssssss
8@7         .s00s................
9@7         ...........s1s.......
",
    );
    for (at, run, life) in [(0, 2, 10 + 4), (1, 1, 10 + 3)] {
        let closed = &windows[at];
        let server = row(closed, 7);
        assert_eq!(columns(server, Counter::RunNs), run);
        assert_eq!((server.exited_tasks, server.life_ns / COLUMN), (1, life));
        assert!(closed.processes.exited.is_empty() && closed.processes.died == Some(0));
        assert_eq!(children(server), 0, "it is no child");
        // In the threads view it has a row below its process.
        assert_eq!(exited(&closed.threads.exited), [(7, "server".into(), 0, 1, run)]);
    }
}

#[test]
fn a_number_is_used_again() {
    let windows = windows(
        "
            |         |         |
7<1 first   s0000s....ssssssssssss
8<7 child   .....0000..............
7<1 second  ......s1ssssssssssssss
",
    );
    let second = row(&windows[0], 7);
    assert_eq!(second.ident.comm.to_string(), "second");
    assert_eq!((columns(second, Counter::RunNs), second.life_ns / COLUMN), (1, 4));
    // The child of the first process does not belong to the next process with its number.
    assert_eq!(children(second), 0);
    assert_eq!(children(row(&windows[0], INIT)), 8);
}

#[test]
fn a_zombie_takes_no_time_until_it_is_reaped() {
    let windows = windows(
        "
            |         |         |         |
7<1 parent  ssssssssssssssssssssssssssssssss
8<7 child   .s00sZZZZZZZZZZZZZZZZZZ.........
",
    );
    assert_eq!(exited(&windows[0].processes.exited), [(7, "child".into(), 1, 1, 2)]);
    for closed in &windows[..2] {
        let zombie = row(closed, 8);
        assert_eq!((zombie.letter, zombie.life_ns, zombie.kind), ('Z', 0, RowKind::Process));
        assert_eq!(columns(zombie, Counter::RunNs), 0);
        assert_eq!(closed.processes.processes.zombie, 1);
    }
    assert!(windows[1].processes.exited.is_empty(), "it is counted once");
    assert_eq!(children(row(&windows[1], 7)), 0);
    assert!(windows[2].processes.rows.iter().all(|r| r.key.tgid != 8));
    assert_eq!(windows[2].processes.processes.zombie, 0);
}

/// The process has another name by then, so the two have only their exit in common.
#[test]
fn threads_that_ended_before_their_process_count_for_its_ancestor() {
    let (mut machine, mut books) = (Machine::new(), Books::new());
    let leader = machine.fork(INIT, 7, Comm::new(b"before"));
    books.close(&mut machine);
    let thread = machine.clone_thread(7, 8);
    machine.set(thread, MicroState::Run, 0);
    machine.now += 3 * COLUMN;
    machine.end_thread(thread);
    machine.exec(leader, Comm::new(b"after"));
    machine.now += COLUMN;
    machine.end_process(7, false);
    let closed = books.close(&mut machine).expect("a window");
    let all = [(INIT, "after".into(), 1, 1, 0), (INIT, "before".into(), 0, 1, 3)];
    assert_eq!(exited(&closed.processes.exited), all);
    assert_eq!(children(row(&closed, INIT)), 3);
}

/// A thread that is not the leader executes a program: its account continues under the leader's
/// number.
#[test]
fn exec_swaps_numbers_and_keeps_the_account() {
    let (mut machine, mut books) = (Machine::new(), Books::new());
    let leader = machine.fork(INIT, 7, Comm::new(b"before"));
    let thread = machine.clone_thread(7, 8);
    books.close(&mut machine);
    machine.set(thread, MicroState::Run, 0);
    machine.now += 4 * COLUMN;
    machine.exec(thread, Comm::new(b"after"));
    machine.now += 2 * COLUMN;
    let closed = books.close(&mut machine).expect("a window");
    let process = row(&closed, 7);
    assert_eq!(process.account, Some(AccountId(thread)));
    assert_eq!((process.key.tid, process.ident.comm.to_string()), (7, "after".into()));
    // Six columns of the thread, four of the old leader.
    assert_eq!((columns(process, Counter::RunNs), process.life_ns / COLUMN), (6, 10));
    assert_eq!((process.exited_tasks, closed.processes.died), (1, Some(0)));
    assert!(books.changes.task(AccountId(leader)).is_none());
    assert_eq!(closed.threads.rows.iter().filter(|r| r.key.tgid == 7).count(), 1);
}
