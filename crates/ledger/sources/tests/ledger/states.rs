//! Tests of states and CPUs: asleep, stopped, running, waiting for a CPU.

use crate::books::{process, run_ns, Books};
use crate::until;
use exactop_model::{Counter, MicroState};
use exactop_sources::ledger::Options;
use exactop_testkit::wait;
use exactop_workloads::workloads::{Sleepers, Spin, StopContinue};
use std::time::Duration;

#[test]
fn an_untouched_sleeper_is_asleep_throughout() {
    let Some(_machine) = crate::machine() else { return };
    let sleepers = Sleepers::start(5).expect("sleepers");
    until::all_asleep(&sleepers.pids());
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
fn many_idle_tasks_are_not_read() {
    let Some(_machine) = crate::machine() else { return };
    let sleepers = Sleepers::start(1000).expect("sleepers");
    let pids = sleepers.pids();
    until::all_asleep(&pids);
    let mut books = Books::open(&Options::default());
    let window = books.window(Duration::from_millis(50));
    println!("{} of {} tasks in the snapshot", window.tasks.len(), books.book.census().total);
    assert!(books.book.census().total > 1000);
    // Other processes may have as many tasks, and active ones.
    assert!(window.tasks.iter().all(|task| !pids.contains(&task.sample.key.tgid)));
}

#[test]
fn stopped_time_counts_as_stopped() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let load = StopContinue::start(2).expect("stops");
    books.close();
    let stops = || load.stops().expect("it counts");
    let before = stops();
    wait::until("some stops", || stops() >= before + 20);
    let window = books.close().expect("a window is open");
    let frame = books.processes(&window);
    for pid in load.pids() {
        let stopped = process(&frame, pid).delta.get(Counter::StopNs).expect("stop_ns");
        assert!(stopped > 0, "process {pid} was never seen stopped");
    }
}

#[test]
fn waiting_for_a_cpu_counts_as_run_queue_wait() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(3, Some(&[0])).expect("three on one CPU");
    books.close();
    until::has_run(spin.pid());
    let window = books.window(Duration::from_secs(1));
    let frame = books.threads(&window);
    let mut on_cpu = 0;
    for tid in spin.threads() {
        let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
        let lat = row.delta.get(Counter::LatNs).expect("lat");
        let share = lat as f64 / row.life_ns as f64;
        assert!(share > 0.4, "{tid} waited {share} of its time");
        // Another task on that CPU makes all of them wait longer, but none does anything else.
        let waits = lat + row.delta.get(Counter::ThrottleNs).unwrap_or(0);
        let others = [Counter::SleepNs, Counter::LockNs, Counter::BlockNs, Counter::StopNs];
        assert!(others.iter().all(|&c| row.delta.get(c) == Some(0)), "{:?}", row.delta);
        assert_eq!(row.last_cpu, Some(0));
        on_cpu += row.life_ns - waits;
    }
    let length = window.length_ns();
    assert!(0 < on_cpu && on_cpu <= length, "one at a time: {on_cpu} of {length}");
}

#[test]
fn the_cpus_a_process_ran_on_are_known_when_it_is_watched() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(1, Some(&[1])).expect("one on CPU 1");
    books.watch(spin.pid());
    books.close();
    until::has_run(spin.pid());
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
fn states_equal_those_in_proc() {
    let Some(_machine) = crate::machine() else { return };
    let sleepers = Sleepers::start(3).expect("sleepers");
    until::all_asleep(&sleepers.pids());
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
