//! Compares the sources on the same busy machine. The CPU time of a process agrees within the
//! coarser resolution, and time that a source cannot see is where the source says.

use crate::{machine, until};
use exactop_model::{Book, Counter, Frame, FrameOptions, IdleRows, Row, Window};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, Source, SplitOptions};
use exactop_testkit::wait;
use exactop_workloads::procs::group_members;
use exactop_workloads::workloads;
use std::collections::HashSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

const ALL: [Choice; 4] = [Choice::Ledger, Choice::Snapshot, Choice::Taskstats, Choice::Procfs];

/// A source with its book.
struct Reader {
    choice: Choice,
    source: Box<dyn Source>,
    book: Book,
}

impl Reader {
    fn open(choice: Choice) -> Reader {
        let source = session::source(choice, SplitOptions::default())
            .unwrap_or_else(|error| panic!("{choice:?}: {error}"));
        Reader { choice, source, book: Book::new() }
    }

    fn close(&mut self) -> Option<Window> {
        let snapshot = self.source.snapshot(&Request::default()).expect("a snapshot");
        self.book.advance(snapshot)
    }

    fn processes(&self, window: &Window) -> Frame {
        let options =
            FrameOptions { threads: false, still: IdleRows::All, ..FrameOptions::default() };
        Frame::new(window, &self.book, &options)
    }
}

fn of(frame: &Frame, pid: u32) -> &Row {
    frame.rows.iter().find(|row| row.key.tgid == pid).expect("its row")
}

/// Largest error of a source's CPU time of one process at each end of a window, ns: a tick of the
/// scheduler (4 ms at 250 Hz, 10 at 100) or of /proc, and the duration of the read.
fn resolution_ns(choice: Choice) -> u64 {
    match choice {
        Choice::Auto | Choice::Ledger => 3_000_000,
        Choice::Snapshot => 6_000_000,
        Choice::Taskstats => 25_000_000,
        Choice::Procfs => 35_000_000,
    }
}

#[test]
fn a_busy_process_has_the_same_time_in_every_source() {
    let Some(_machine) = machine() else { return };
    let mut readers: Vec<Reader> = ALL.into_iter().map(Reader::open).collect();
    let busy = workloads::Spin::start(1, None).expect("a worker");
    sleep(Duration::from_millis(200));
    // A window's ends are instants; a task's figures are from some time during the read.
    let timed = |reader: &mut Reader| {
        let begun = Instant::now();
        (reader.close(), begun.elapsed())
    };
    let openings: Vec<(Option<Window>, Duration)> = readers.iter_mut().map(timed).collect();
    assert!(openings.iter().all(|(window, _)| window.is_none()));
    let begun = Instant::now();
    sleep(Duration::from_secs(2));
    let window = |reader: &mut Reader, (_, opening): &(_, Duration)| {
        let (window, look) = timed(reader);
        (window.expect("a window"), look + *opening)
    };
    let windows: Vec<(Window, Duration)> = readers
        .iter_mut()
        .zip(&openings)
        .map(|(reader, opening)| window(reader, opening))
        .collect();
    println!("{:?} in all", begun.elapsed());
    let run = |reader: &Reader, window: &Window| {
        let frame = reader.processes(window);
        of(&frame, busy.pid()).delta.get(Counter::RunNs).expect("known")
    };
    let exact_window = &windows[0].0;
    let exact = run(&readers[0], exact_window);
    for (reader, (window, look)) in readers.iter().zip(&windows) {
        let run = run(reader, window);
        // Each source has a window of its own, a little later. In a time that lies in only one of
        // them, the thread may have run or waited.
        let [t0_apart, t1_apart] =
            [window.t0_ns.abs_diff(exact_window.t0_ns), window.t1_ns.abs_diff(exact_window.t1_ns)];
        let look_ns = look.as_nanos() as u64;
        let resolution = (2 * resolution_ns(reader.choice)).max(2 * look_ns);
        let allowed = resolution + t0_apart + t1_apart + exact / 50;
        println!("{:?}: {run} ns, by the ledger {exact} +- {allowed}", reader.choice);
        assert!(run.abs_diff(exact) <= allowed, "{:?}: {run}, {exact}", reader.choice);
    }
}

#[test]
fn short_lived_tasks_are_named_unnamed_or_childrens_as_each_source_says() {
    let Some(_machine) = machine() else { return };
    let mut readers: Vec<Reader> = ALL.into_iter().map(Reader::open).collect();
    readers.iter_mut().for_each(|reader| assert!(reader.close().is_none()));
    let script = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done; exec sleep 1000";
    let mut shell = Command::new("sh").args(["-c", script]).spawn().expect("sh");
    let pid = shell.id();
    let comm = format!("/proc/{pid}/comm");
    let sleeps = || std::fs::read_to_string(&comm).is_ok_and(|comm| comm == "sleep\n");
    wait::until("the shell's last program", sleeps);
    for reader in &mut readers {
        let window = reader.close().expect("a window");
        let frame = reader.processes(&window);
        let row = of(&frame, pid);
        let children = row.children_split_ns();
        // Children of other processes end meanwhile, too.
        let its = |row: &&Row| row.ident.ppid == pid;
        let exited: u64 = frame.exited.iter().filter(its).map(|row| row.exited_processes).sum();
        println!("{:?}: children {children:?}, {exited} exited", reader.choice);
        let sees = window.end.provenance.source.sees_exits();
        assert_eq!(row.children.is_some(), sees, "{:?}", reader.choice);
        assert_eq!(frame.died.is_some(), sees, "{:?}", reader.choice);
        match sees {
            // On a machine that hides switches, a few have no name.
            true => assert!((490..=500).contains(&exited), "{:?}: {exited}", reader.choice),
            false => assert!(frame.exited.is_empty(), "{:?}", reader.choice),
        }
        if sees {
            let run = row.children.and_then(|c| c.get(Counter::RunNs)).expect("known");
            assert!(run > 500 * 50_000, "{:?}: {run} ns for 500 processes", reader.choice);
        }
    }
    shell.kill().expect("killed");
    shell.wait().expect("an end");
}

#[test]
fn the_snapshot_has_births_exits_and_only_active_tasks() {
    let Some(_machine) = machine() else { return };
    let mut reader = Reader::open(Choice::Snapshot);
    assert!(reader.close().is_none());
    let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let pid = sleeper.id();
    until::in_call(pid, pid, "clock_nanosleep");
    let window = reader.close().expect("a window");
    assert!(window.tasks.iter().any(|task| task.sample.key.tgid == pid), "it was born");
    assert!(of(&reader.processes(&window), pid).delta.get(Counter::RunNs) > Some(0));
    sleep(Duration::from_millis(300));
    let window = reader.close().expect("a window");
    assert!(!window.tasks.iter().any(|task| task.sample.key.tgid == pid), "it did nothing");
    assert_eq!(of(&reader.processes(&window), pid).delta.get(Counter::RunNs), Some(0));
    // Far fewer than exist: the kernel side leaves out inactive tasks.
    let there = reader.book.census().total;
    assert!((window.tasks.len() as u32) < there, "{} of {there}", window.tasks.len());
    sleeper.kill().expect("killed");
    sleeper.wait().expect("an end");
    let window = reader.close().expect("a window");
    let frame = reader.processes(&window);
    assert!(!frame.rows.iter().any(|row| row.key.tgid == pid), "it went");
    assert_eq!(window.errors.get(exactop_model::ErrorKind::Backwards), 0);
}

#[test]
fn the_snapshots_time_lies_between_two_readings_of_the_clock() {
    let Some(_machine) = machine() else { return };
    let mut reader = Reader::open(Choice::Snapshot);
    let busy = workloads::Spin::start(1, None).expect("a worker");
    sleep(Duration::from_millis(200));
    reader.close();
    for _ in 0..20 {
        // The process's clock counts up to now; the snapshot adds the time since the last tick.
        let ran = || until::cpu_clock_ns(busy.pid());
        let before = ran();
        reader.close();
        sleep(Duration::from_millis(15));
        let after = ran();
        let tasks = reader.book.process(busy.pid()).expect("it is there").tasks.clone();
        let ours: u64 = tasks
            .iter()
            .filter_map(|&task| reader.book.task(task)?.counters.get(Counter::RunNs))
            .sum();
        assert!((before..=after).contains(&ours), "{before} {ours} {after}");
    }
}

/// Run time of one of our threads by schedstat(5), ns.
fn schedstat_ns(tid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat"));
    let text = text.expect("a thread of ours");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number")
}

/// Threads that sleep up to two seconds between short runs, and then for good.
fn rare_runners(stop: &Arc<AtomicBool>) -> Vec<u32> {
    let (tell, told) = std::sync::mpsc::channel();
    for i in 1..=40u64 {
        let (stop, tell) = (stop.clone(), tell.clone());
        std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("heard");
            for turn in 1.. {
                sleep(Duration::from_millis(i * turn * 37 % 2_000));
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let until = Instant::now() + Duration::from_micros(i * turn * 53 % 400);
                while Instant::now() < until {}
            }
            loop {
                std::thread::park();
            }
        });
    }
    told.iter().take(40).collect()
}

#[test]
fn a_long_sleeper_with_short_runs_is_in_every_snapshot() {
    let Some(_machine) = machine() else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let threads = rare_runners(&stop);
    let mut reader = Reader::open(Choice::Snapshot);
    let said_ns = |reader: &Reader, tid: u32| {
        let process = reader.book.process(std::process::id()).expect("ourselves");
        let mut tasks = process.tasks.iter().filter_map(|&task| reader.book.task(task));
        let task = tasks.find(|task| task.key.tid == tid).expect("the thread");
        task.counters.get(Counter::RunNs).expect("known")
    };
    for round in 0..16 {
        sleep(Duration::from_millis(250));
        let before: Vec<u64> = threads.iter().map(|&tid| schedstat_ns(tid)).collect();
        reader.close();
        for (&tid, before) in threads.iter().zip(before) {
            let (said, after) = (said_ns(&reader, tid), schedstat_ns(tid));
            // A running task has time that the kernel counts only at the next tick, which may be
            // late on an emulated machine.
            let between = before.saturating_sub(1_000_000)..=after + 50_000_000;
            assert!(between.contains(&said), "round {round}, {tid}: {said}, not {between:?}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    threads.iter().for_each(|&tid| until::in_call(std::process::id(), tid, "futex"));
    reader.close();
    for tid in threads {
        assert_eq!(said_ns(&reader, tid), schedstat_ns(tid), "{tid}, asleep for good");
    }
}

#[test]
fn more_tasks_than_one_walk_holds_are_reported_once_each() {
    let Some(_machine) = machine() else { return };
    let sleepers = workloads::Sleepers::start(1_500).expect("sleepers");
    until::all_asleep(&sleepers.pids());
    let mut source = session::source(Choice::Snapshot, SplitOptions::default()).expect("it opens");
    let snapshot = source.snapshot(&Request::default()).expect("a snapshot");
    let accounts: HashSet<_> = snapshot.tasks.iter().map(|task| task.account).collect();
    assert_eq!(accounts.len(), snapshot.tasks.len(), "some are there twice");
    let ours = group_members(sleepers.pid());
    let told: HashSet<u32> = snapshot.tasks.iter().map(|task| task.key.tid).collect();
    assert!(ours.len() >= 1_500 && ours.iter().all(|pid| told.contains(pid)), "{}", ours.len());
    let next = source.snapshot(&Request::default()).expect("a snapshot");
    // There may be many other tasks, and active ones.
    let again = next.tasks.iter().filter(|task| ours.contains(&task.key.tgid)).count();
    assert!(again < 500, "{again} of {} did something", ours.len());
}
