//! Tasks that may not run for other reasons than a group's quota: a frozen group, and a deadline
//! task's own budget. Also tasks that a quota does not bind.

use crate::books::Books;
use crate::microstates::{ns, QuotaGroup};
use crate::until;
use exactop_model::{Counter, Row};
use exactop_sources::ledger::Options;
use exactop_testkit::wait;
use exactop_workloads::workloads::Spin;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The row of a worker's only thread in a window of one second.
fn row_of(spin: &Spin) -> Row {
    let mut books = Books::open(&Options::default());
    std::thread::sleep(Duration::from_millis(200));
    books.close();
    let window = books.window(Duration::from_secs(1));
    let tid = spin.threads()[0];
    let frame = books.threads(&window);
    frame.rows.into_iter().find(|r| r.key.tid == tid).expect("its row")
}

fn share(row: &Row, counter: Counter) -> f64 {
    row.delta.get(counter).expect("known") as f64 / row.life_ns as f64
}

/// A group of cgroup v2; removed on drop.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Group> {
        let root = PathBuf::from("/sys/fs/cgroup");
        let root = if root.join("cgroup.procs").exists() { root } else { root.join("unified") };
        let group = root.join(format!("exactop-freezer-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = Group(group);
        group.0.join("cgroup.freeze").exists().then_some(group)
    }

    /// Freezes or thaws the group; all its tasks have stopped or continued when this returns.
    fn freeze(&self, on: bool) {
        let (value, state) = if on { ("1", "frozen 1") } else { ("0", "frozen 0") };
        self.write("cgroup.freeze", value);
        wait::until(state, || {
            let events = fs::read_to_string(self.0.join("cgroup.events")).expect("its events");
            events.lines().any(|line| line == state)
        });
    }

    fn write(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        until::removed(&self.0);
    }
}

#[test]
fn a_frozen_group_is_stopped_and_has_no_page_fault() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = Group::new() else {
        eprintln!("left out: no group of cgroup v2 can be made here");
        return;
    };
    let spin = Spin::start(1, None).expect("a worker");
    group.write("cgroup.procs", &spin.pid().to_string());
    group.freeze(true);
    let mut books = Books::open(&Options::default());
    // The second freeze is seen as the task leaves its CPU, not only found afterwards.
    let before = until::cpu_clock_ns(spin.pid());
    group.freeze(false);
    wait::until("it to run", || until::cpu_clock_ns(spin.pid()) > before + 1_000_000);
    group.freeze(true);
    books.close();
    let window = books.window(Duration::from_millis(500));
    let tid = spin.threads()[0];
    let frame = books.threads(&window);
    let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
    assert_eq!(share(row, Counter::DataFaultNs), 0.0);
    assert!(share(row, Counter::StopNs) > 0.99, "{:?}", row.delta);
    group.freeze(false);
}

/// The structure of sched_setattr(2).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Gives a thread `runtime_ns` in each 100 ms.
fn make_deadline(tid: u32, runtime_ns: u64) -> std::io::Result<()> {
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: libc::SCHED_DEADLINE as u32,
        runtime_ns,
        deadline_ns: 100_000_000,
        period_ns: 100_000_000,
        ..SchedAttr::default()
    };
    // SAFETY: the kernel reads `size` bytes of a plain struct.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[test]
fn a_used_up_deadline_budget_is_throttled_time() {
    let Some(_machine) = crate::machine() else { return };
    let spin = Spin::start(1, None).expect("a worker");
    if let Err(error) = make_deadline(spin.threads()[0], 20_000_000) {
        eprintln!("left out: SCHED_DEADLINE is refused here: {error}");
        return;
    }
    let row = row_of(&spin);
    let (run, throttled) = (share(&row, Counter::RunNs), share(&row, Counter::ThrottleNs));
    let lat = share(&row, Counter::LatNs);
    println!("ran {run:.3}, throttled {throttled:.3}, waited {lat:.3}");
    assert!(run < 0.25, "a budget of 0.2: ran {run:.3}");
    assert!(throttled > 0.6 && lat < 0.1, "throttled {throttled:.3}, waited {lat:.3}");
}

/// Makes a thread real-time with SCHED_FIFO; a higher priority is more urgent. tid 0: this thread.
fn make_fifo(tid: u32, priority: i32) -> std::io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: a struct of numbers.
    match unsafe { libc::sched_setscheduler(tid as i32, libc::SCHED_FIFO, &raw const param) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// A thread that wakes every millisecond on CPU 0, with a higher priority than all others there;
/// ends on drop.
struct Urgent(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl Urgent {
    fn start() -> Urgent {
        let over = Arc::new(AtomicBool::new(false));
        let theirs = over.clone();
        let thread = std::thread::spawn(move || {
            // Raise the priority first: with a normal one the thread may wait a second for that
            // CPU.
            make_fifo(0, 2).expect("real-time");
            let mut set = rustix::thread::CpuSet::new();
            set.set(0);
            rustix::thread::sched_setaffinity(None, &set).expect("on one CPU");
            while !theirs.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Urgent(over, Some(thread))
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(std::thread::JoinHandle::join);
    }
}

/// One of two threads of a group is real-time. The other uses up the quota, which the kernel
/// applies to normal tasks only. The group is then throttled while the real-time thread is
/// preempted for moments.
#[test]
fn a_quota_does_not_bind_a_real_time_task() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = QuotaGroup::new() else {
        eprintln!("left out: no cgroup with a CPU quota can be made here");
        return;
    };
    // With group scheduling of real-time tasks, they may not run in a group without this.
    let _ = fs::write(group.0.join("cpu.rt_runtime_us"), "900000");
    let spin = Spin::start(2, Some(&[0])).expect("a worker");
    let real_time = spin.threads()[0];
    group.set_quota(5);
    group.add(spin.pid());
    let mut books = Books::open(&Options::default());
    std::thread::sleep(Duration::from_millis(200));
    if let Err(error) = make_fifo(real_time, 1) {
        eprintln!("left out: SCHED_FIFO is refused here: {error}");
        return;
    }
    let urgent = Urgent::start();
    books.close();
    let before = group.throttled_ns();
    // The normal thread uses its quota up in the gaps that the real-time tasks leave.
    wait::until("a used-up quota", || group.throttled_ns() > before);
    let window = books.window(Duration::from_millis(2500));
    let throttled = group.throttled_ns() - before;
    drop(urgent);
    let frame = books.threads(&window);
    let row = frame.rows.iter().find(|r| r.key.tid == real_time).expect("its row");
    let lost = ns(row, Counter::Icx);
    println!(
        "the group throttled for {throttled} ns; {lost} times it lost its CPU, {:?}",
        row.delta
    );
    // On emulated CPUs the more urgent thread rarely meets the other one on the CPU.
    let enough = if crate::emulated() { 1 } else { 10 };
    assert!(lost >= enough && throttled > 0, "{lost} {throttled}");
    assert_eq!(ns(row, Counter::ThrottleNs), 0);
}
