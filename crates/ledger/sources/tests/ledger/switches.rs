//! Tests of context switches by reason, against threads that know why they left their CPU and
//! against the kernel's counts.

use crate::until;
use exactop_model::on_demand::switches::{SwitchRow, SwitchWindow};
use exactop_sources::on_demand::switches::Switches;
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const YIELDS: u64 = 500;
const SLEEPS: u64 = 20;
const PREEMPTED: u64 = 5;

fn open(pids: &[u32], hide_one_in: u32) -> Switches {
    Switches::open_with(pids, hide_one_in)
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

/// A figure of /proc/PID/task/TID/sched.
fn of_kernel(pid: u32, tid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/sched")).expect("its switches");
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
    line.and_then(|line| line.split_whitespace().last()?.parse().ok()).expect("a number")
}

fn row(window: &SwitchWindow, tid: u32) -> Option<&SwitchRow> {
    window.rows.iter().find(|row| row.who.tid == Some(tid))
}

/// Makes the thread of a pair real-time with SCHED_FIFO on CPU 0, so that neither preempts the
/// other.
fn make_fifo() {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: a struct of numbers.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
    assert_eq!(refused, 0, "real-time: {}", std::io::Error::last_os_error());
}

/// The shared state of two threads.
struct Pair {
    tids: [AtomicU64; 2],
    /// Number of rests of each thread.
    rests: [AtomicU64; 2],
    /// Number of threads that were preempted often enough.
    preempted: AtomicU64,
    together: Barrier,
    /// Number of times each thread began to run.
    came: [AtomicU64; 2],
}

impl Pair {
    /// Runs one of two threads on CPU 0: it is preempted, then sleeps, then gives the CPU to the
    /// other by sched_yield(2). Returns how often it gave the CPU.
    fn run(&self, of: usize) -> u64 {
        let mut set = rustix::thread::CpuSet::new();
        set.set(0);
        rustix::thread::sched_setaffinity(None, &set).expect("CPU 0");
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        self.tids[of].store(tid.into(), Ordering::SeqCst);
        self.rest(of);
        be_preempted(tid, &self.preempted);
        make_fifo();
        (0..SLEEPS).for_each(|_| thread::sleep(Duration::from_millis(2)));
        self.together.wait();
        let gave = give(&self.came[of], &self.came[1 - of]);
        self.rest(of);
        gave
    }

    fn rest(&self, of: usize) {
        self.rests[of].fetch_add(1, Ordering::SeqCst);
        thread::park();
    }

    /// Waits until a thread rests for the n-th time; returns its tid.
    fn resting(&self, of: usize, n: u64) -> u32 {
        wait::until("it rests", || self.rests[of].load(Ordering::SeqCst) == n);
        let tid = self.tids[of].load(Ordering::SeqCst) as u32;
        until::in_call(std::process::id(), tid, "futex");
        tid
    }
}

/// Spins until both threads were preempted by another task.
fn be_preempted(tid: u32, both: &AtomicU64) {
    let count = || of_kernel(std::process::id(), tid, "nr_involuntary_switches");
    let enough = count() + PREEMPTED;
    while count() < enough {}
    both.fetch_add(1, Ordering::SeqCst);
    while both.load(Ordering::SeqCst) < 2 {}
}

/// Yields, and returns how often the other thread ran meanwhile.
fn give(own: &AtomicU64, other: &AtomicU64) -> u64 {
    let mut gave = 0;
    for _ in 0..YIELDS {
        own.fetch_add(1, Ordering::SeqCst);
        let before = other.load(Ordering::SeqCst);
        thread::yield_now();
        gave += u64::from(other.load(Ordering::SeqCst) != before);
    }
    own.fetch_add(1, Ordering::SeqCst);
    gave
}

/// A thread's row, the kernel's count, and how often it gave its CPU to the other.
type PairRow = (SwitchRow, u64, u64);

/// The same window for both threads: each rests when it begins and when it ends.
fn of_a_pair(hide_one_in: u32) -> [PairRow; 2] {
    let none = || [0, 0].map(AtomicU64::new);
    let (tids, rests, came) = (none(), none(), none());
    let (preempted, together) = (AtomicU64::new(0), Barrier::new(2));
    let pair = Arc::new(Pair { tids, rests, preempted, together, came });
    let threads = [0, 1].map(|of| {
        let pair = Arc::clone(&pair);
        thread::spawn(move || pair.run(of))
    });
    let pid = std::process::id();
    let tids = [0, 1].map(|of| pair.resting(of, 1));
    let mut source = open(&[pid], hide_one_in);
    source.window().expect("a window");
    let before = tids.map(|tid| of_kernel(pid, tid, "nr_switches"));
    threads.iter().for_each(|thread| thread.thread().unpark());
    for of in [0, 1] {
        pair.resting(of, 2);
    }
    let window = source.window().expect("a window");
    assert_eq!(window.losses.lost, 0);
    let rows = tids.map(|tid| *row(&window, tid).expect("its row"));
    let after = tids.map(|tid| of_kernel(pid, tid, "nr_switches"));
    let gave = threads.map(|thread| {
        thread.thread().unpark();
        thread.join().expect("no panic")
    });
    tids.iter().for_each(|&tid| until::gone(tid));
    let ended = source.window().expect("a window");
    let exited = |tid| row(&ended, tid).map(|row| row.exited);
    assert!(hide_one_in > 0 || tids.map(exited) == [Some(1); 2], "{ended:?}");
    [0, 1].map(|of| (rows[of], after[of] - before[of], gave[of]))
}

#[test]
fn each_reason_is_counted_and_the_sum_is_the_kernels_count() {
    let Some(_machine) = crate::machine() else { return };
    for (row, counted, gave) in of_a_pair(0) {
        println!("{row:?}, {counted} by the kernel, gave its CPU {gave} times");
        // The kernel may hide one from programs.
        let told = row.switches();
        assert!(
            told <= counted && counted - told <= 1 + counted / 1000,
            "{counted} by the kernel: {row:?}"
        );
        assert!(row.preempted >= PREEMPTED && row.blocked >= SLEEPS, "{row:?}");
        // A more urgent task may come just as the thread yields without effect.
        assert!(gave > YIELDS / 2 && (gave..=gave + gave / 20).contains(&row.yielded), "{row:?}");
        assert_eq!(row.exited, 0);
    }
}

#[test]
fn hidden_switches_are_missing_in_the_sum() {
    let Some(_machine) = crate::machine() else { return };
    for (row, counted, _) in of_a_pair(3) {
        let told = row.switches();
        assert!((counted / 2..counted * 5 / 6).contains(&told), "{told} of {counted}");
    }
}

#[test]
fn the_last_switch_of_a_process_counts_as_its_exit() {
    let Some(_machine) = crate::machine() else { return };
    let mut child = Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn();
    let child = child.as_mut().expect("a shell");
    let pid = child.id();
    until::in_call(pid, pid, "read");
    let mut source = open(&[pid], 0);
    let before = of_kernel(pid, pid, "nr_switches");
    let mut all = source.window().expect("a window");
    drop(child.stdin.take());
    wait::until("it ends", || {
        all.then(source.window().expect("a window"));
        row(&all, pid).is_some_and(|row| row.exited == 1)
    });
    assert_eq!(
        row(&all, pid).expect("its row").switches(),
        of_kernel(pid, pid, "nr_switches") - before
    );
    child.wait().expect("it ended");
}
