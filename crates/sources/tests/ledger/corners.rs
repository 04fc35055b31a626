//! The corners that decide whether it is exact.

use crate::books::{process, run_ns, Books};
use exactop_model::{Counter, ErrorKind, MicroState, RowKind};
use exactop_sources::ledger::Options;
use exactop_workloads::workloads::{ExecThreads, ForkStorm, Sleepers, Spin, StopContinue};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_sleeper_that_nothing_touches_reads_all_asleep() {
    let Some(_machine) = crate::machine() else { return };
    let sleepers = Sleepers::start(5).expect("sleepers");
    std::thread::sleep(Duration::from_millis(100));
    let mut books = Books::open(&Options::default());
    for _ in 0..3 {
        let window = books.window(Duration::from_millis(50));
        let frame = books.processes(&window);
        for pid in sleepers.pids() {
            let row = process(&frame, pid);
            assert_eq!(row.delta.get(Counter::SleepNs), Some(window.length_ns()));
            assert_eq!((row.letter, row.life_ns), ('S', window.length_ns()));
        }
    }
}

#[test]
fn many_idle_tasks_are_not_looked_at() {
    let Some(_machine) = crate::machine() else { return };
    let _sleepers = Sleepers::start(1000).expect("sleepers");
    std::thread::sleep(Duration::from_millis(300));
    let mut books = Books::open(&Options::default());
    let window = books.window(Duration::from_millis(50));
    println!("{} of {} tasks in the snapshot", window.tasks.len(), books.book.census().total);
    assert!(books.book.census().total > 1000);
    assert!(window.tasks.len() < 500);
}

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

#[test]
fn stopped_time_is_stopped() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = StopContinue::start(2).expect("stops");
    books.close();
    let window = books.window(Duration::from_millis(500));
    let frame = books.processes(&window);
    for pid in load.pids() {
        let stopped = process(&frame, pid).delta.get(Counter::StopNs).expect("stop_ns");
        assert!(stopped > 0, "process {pid} was never seen stopped");
    }
}

#[test]
fn waiting_for_a_cpu_is_run_queue_wait() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(3, Some(&[0])).expect("three on one CPU");
    books.close();
    let window = books.window(Duration::from_secs(1));
    let frame = books.threads(&window);
    for tid in spin.threads() {
        let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
        let lat = row.delta.get(Counter::LatNs).expect("lat") as f64 / row.life_ns as f64;
        assert!((0.4..0.95).contains(&lat), "{tid} waited {lat} of its time");
        assert_eq!(row.delta.get(Counter::SleepNs), Some(0));
        assert_eq!(row.last_cpu, Some(0));
    }
}

#[test]
fn the_cpus_a_process_ran_on_are_known_when_it_is_watched() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(1, Some(&[1])).expect("one on CPU 1");
    books.watch(spin.pid());
    books.close();
    let window = books.window(Duration::from_millis(300));
    let on = |cpu: u32| {
        let account = window.cpus.iter().find(|c| c.time.cpu == cpu).expect("the CPU");
        account.time.watched_ns.expect("watched")
    };
    let row = run_ns(process(&books.processes(&window), spin.pid()));
    let total: u64 = window.cpus.iter().filter_map(|c| c.time.watched_ns).sum();
    assert_eq!(total, row, "the shares are the whole");
    assert!(on(1) > 0 && on(0) == 0);
}

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
    // Who has no slot is shown all the same, without figures that nobody has.
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
fn groups_are_given_back() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options { groups: 64, ..Options::default() });
    for n in 0..100 {
        // Another name, another group.
        let name = format!("ex{n}");
        let script = format!("printf {name} > /proc/self/comm; exit 0");
        assert!(Command::new("/bin/sh").args(["-c", &script]).status().expect("sh").success());
        let window = books.window(Duration::from_millis(5));
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{faults:?}");
    }
    let window = books.close().expect("a window");
    assert_eq!(window.end.errors.get(ErrorKind::NoGroup), 0, "64 groups served 100 names");
}

#[test]
fn states_are_those_of_proc() {
    let Some(_machine) = crate::machine() else { return };
    let sleepers = Sleepers::start(3).expect("sleepers");
    let mut books = Books::open(&Options::default());
    let window = books.window(Duration::from_millis(50));
    for pid in sleepers.pids() {
        let account = process(&books.processes(&window), pid).account.expect("an account");
        let task = books.book.task(account).expect("known");
        assert_eq!(task.state, MicroState::Sleep);
        assert_eq!(task.key.tgid, pid);
        let start = exactop_workloads::procs::stat_field(pid, 22).expect("start");
        assert_eq!(task.key.start_ns / 10_000_000, start, "start time in ticks");
        assert_eq!(
            u64::from(task.ident.ppid),
            exactop_workloads::procs::stat_field(pid, 4).expect("ppid")
        );
    }
}
