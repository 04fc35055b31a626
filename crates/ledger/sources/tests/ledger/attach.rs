//! Tests of the start: programs are attached one after the other under load, and the first window
//! must still close.

use crate::books::Books;
use crate::until;
use exactop_model::ledger::window::Window;
use exactop_model::{Counter, ErrorKind, TaskSample};
use exactop_sources::ledger::{LateEnd, Options};
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_testkit::wait;
use exactop_workloads::herd::Wake;
use exactop_workloads::workloads::{ForkStorm, Herd, PipePingPong, Spin};
use std::time::Duration;

#[test]
fn first_windows_close_under_load() {
    let Some(_machine) = crate::machine() else { return };
    let _storm = ForkStorm::start(1).expect("a fork storm");
    let _pipes = PipePingPong::start(40).expect("ping-pong");
    // Only for this process, after the loads inherited the old value.
    let _ = rustix::process::setpriority_process(None, -19);
    let times = if crate::emulated() { 2 } else { 8 };
    let mut faults = Vec::new();
    for time in 0..times {
        let mut books = Books::open(&Options::default());
        for n in 0..3 {
            let window = books.window(Duration::from_millis(10 + n * 15));
            assert!(window.cpus.iter().any(|c| c.time.switches > Some(0)), "nothing happened");
            let wrong = books.faults(&window);
            faults.extend(wrong.into_iter().map(|f| format!("attach {time}, window {n}: {f}")));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Their arrivals on a CPU before that are no unseen ones.
#[test]
fn tasks_that_wait_for_a_cpu_at_the_start_need_no_repair() {
    let Some(_machine) = crate::machine() else { return };
    let spin = Spin::start(40, None).expect("busy threads");
    let tids = spin.threads();
    let _ = rustix::process::setpriority_process(None, -19);
    let mut books = Books::open(&Options::default());
    let mut threads = Vec::new();
    wait::until("a dispatch of each thread", || {
        books.window(Duration::from_millis(20));
        threads = books.book.tasks().filter(|task| tids.contains(&task.key.tid)).collect();
        let is_seen = |task: &TaskSample| task.counters.get(Counter::Dispatches) > Some(0);
        threads.len() == tids.len() && threads.iter().all(is_seen)
    });
    // The kernel may hide a switch of any of them.
    let repaired = threads.iter().filter(|thread| thread.audit.repairs > 0).count();
    assert!(repaired < tids.len() / 4, "{repaired} of {}", tids.len());
}

/// A hypervisor that stops the reader at this moment sometimes makes another end late.
const TRIES: usize = 5;

/// Opens a ledger whose reader was late at the end of one window (0: the beginning of the first
/// one), under a load that is charged at each system call.
fn late_at(window: u32) -> Books {
    let split = SplitOptions { split: MeasurePolicy::Always, ..SplitOptions::default() };
    let late = Some(LateEnd { window, by_ns: 20_000_000 });
    Books::open(&Options { split, late, ..Options::default() })
}

fn next(books: &mut Books) -> Window {
    std::thread::sleep(Duration::from_millis(60));
    books.close().expect("a window is open")
}

#[test]
fn a_late_beginning_is_repeated() {
    let Some(_machine) = crate::machine() else { return };
    let _pipes = PipePingPong::start(40).expect("ping-pong");
    for _ in 0..TRIES {
        let mut books = late_at(0);
        let window = next(&mut books);
        if window.errors.get(ErrorKind::Late) > 0 {
            println!("its end was late, too, or its beginning was not taken anew");
            continue;
        }
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        return;
    }
    panic!("late in each of {TRIES} tries");
}

/// The time that one window has too much is missing in the other.
#[test]
fn a_late_end_marks_both_windows() {
    let Some(_machine) = crate::machine() else { return };
    let _pipes = PipePingPong::start(40).expect("ping-pong");
    for _ in 0..TRIES {
        let mut books = late_at(1);
        let windows = [next(&mut books), next(&mut books), next(&mut books)];
        let residual = |window: &Window| window.cpus.iter().map(|cpu| cpu.residual_ns).sum::<i64>();
        let told = windows.each_ref().map(|w| (w.errors.get(ErrorKind::Late), residual(w)));
        assert!(told[0].0 > 0 && told[0].1 < 0, "{told:?}");
        if told[2].0 > 0 {
            println!("a later end was late without being asked: {told:?}");
            continue;
        }
        assert!(told[1].0 > 0 && told[1].1 == -told[0].1, "{told:?}");
        assert_eq!(told[2], (0, 0), "{told:?}");
        return;
    }
    panic!("late in each of {TRIES} tries");
}

/// A task that was asleep when the ledger started, and stays asleep, has the kind of its sleep.
#[test]
fn sleepers_from_before_are_known_to_wait_for_a_lock() {
    let Some(_machine) = crate::machine() else { return };
    // One connection in ten minutes: after the first one all workers wait.
    let herd = Herd::start(20, Wake::One, 1.0 / 600.0).expect("a herd");
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", herd.pid())).expect("threads");
        tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect::<Vec<u32>>()
    };
    // All for the same word: no worker is still on its way past the lock.
    let workers = wait::find("all workers to wait", || {
        let waits = |tid| until::call(herd.pid(), tid).filter(|(nr, _)| *nr == 202);
        let waiting: Vec<_> =
            threads().into_iter().filter_map(|t| Some((t, waits(t)?.1))).collect();
        let same = waiting.iter().filter(|(_, word)| *word == waiting[0].1).count();
        (same == 20).then(|| waiting.into_iter().map(|(tid, _)| tid).collect::<Vec<u32>>())
    });
    let asleep = |&tid: &u32| until::letter(herd.pid(), tid) == Some('S');
    wait::until("all of them to sleep", || workers.iter().all(asleep));
    let mut books = Books::open(&Options::default());
    let window = books.window(Duration::from_millis(200));
    let frame = books.threads(&window);
    for tid in workers {
        let row = frame.rows.iter().find(|row| row.key.tid == tid).expect("a row");
        assert_eq!(row.delta.get(Counter::LockNs), Some(row.life_ns), "{row:?}");
    }
}

/// CAP_PERFMON and CAP_BPF of include/uapi/linux/capability.h.
const FOR_PROGRAMS: u64 = 1 << 38 | 1 << 39;

#[test]
fn the_thread_that_adds_slots_has_no_rights_but_those_for_maps() {
    let Some(_machine) = crate::machine() else { return };
    let _books = Books::open(&Options::default());
    let effective = || {
        let threads = std::fs::read_dir("/proc/self/task").expect("proc(5)").flatten();
        let mut statuses =
            threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        let status = statuses.find(|status| status.contains("Name:\texactop-growth\n"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"))?;
        u64::from_str_radix(line, 16).ok()
    };
    // The thread drops its rights first, some time after its start.
    wait::until("it to have no more rights", || {
        effective().is_some_and(|caps| caps & !FOR_PROGRAMS == 0)
    });
}

/// Number of this process's programs in the kernel, by its open descriptors.
fn programs_here() -> usize {
    let mut ids = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").expect("/proc").flatten() {
        let Ok(info) = std::fs::read_to_string(entry.path()) else { continue };
        ids.extend(info.lines().find_map(|line| line.strip_prefix("prog_id:").map(String::from)));
    }
    ids.len()
}

/// Number of instructions that the kernel verified for each program of this process: the cost of a
/// start. It exceeds the size of a program, because each path is verified separately.
fn looked_at() -> Vec<u64> {
    let mut programs = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").expect("/proc").flatten() {
        let Ok(info) = std::fs::read_to_string(entry.path()) else { continue };
        let field = |name: &str| -> Option<u64> {
            info.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
        };
        // A link's descriptor names its program, too.
        if let (Some(id), Some(n)) = (field("prog_id:"), field("verified_insns:")) {
            programs.insert(id, n);
        }
    }
    programs.into_values().collect()
}

/// Rare paths are in functions that are verified once. In the program at a switch, a rare path that
/// is not in a function makes the program ten times as expensive.
#[test]
fn a_start_costs_the_kernel_no_more_than_it_must() {
    let Some(_machine) = crate::machine() else { return };
    let _books = Books::open(&Options::default());
    let programs = looked_at();
    assert!(programs.len() > 15, "{programs:?}");
    assert!(programs.iter().all(|&n| n < 36_000), "{programs:?}");
    assert!(programs.iter().sum::<u64>() < 180_000, "{programs:?}");
}

#[test]
fn unneeded_programs_are_not_loaded_and_the_rest_counts_the_same() {
    let Some(_machine) = crate::machine() else { return };
    let with = |split, irq| {
        let split = SplitOptions { split, irq, ..SplitOptions::default() };
        let mut books = Books::open(&Options { split, ..Options::default() });
        let programs = programs_here();
        let window = books.window(Duration::from_millis(100));
        assert!(window.cpus.iter().any(|c| c.time.switches > Some(0)), "no switch was counted");
        assert_eq!(books.faults(&window), Vec::<String>::new());
        programs
    };
    let (all, without_irq) = (
        with(MeasurePolicy::WhileCheap, MeasurePolicy::WhileCheap),
        with(MeasurePolicy::WhileCheap, MeasurePolicy::Never),
    );
    let (without_split, neither) = (
        with(MeasurePolicy::Never, MeasurePolicy::WhileCheap),
        with(MeasurePolicy::Never, MeasurePolicy::Never),
    );
    // sys_enter, sys_exit, and page faults of user mode if the kernel has the tracepoint.
    assert!((2..=3).contains(&(all - without_split)), "{all} programs, {without_split} without");
    // Begin and end of at most seven kinds.
    assert!((1..=14).contains(&(all - without_irq)), "{all} programs, {without_irq} without");
    assert_eq!(all - neither, (all - without_split) + (all - without_irq));
}
