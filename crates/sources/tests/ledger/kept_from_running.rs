//! Tasks that could run and may not, for another reason than a group's quota: a frozen group, a
//! deadline task's own budget, and who a quota does not bind.

use crate::books::Books;
use exactop_model::{Counter, Row};
use exactop_sources::ledger::Options;
use exactop_workloads::workloads::Spin;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The row of the only thread of a worker in a window of a second.
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

/// A group of cgroup v2, removed when dropped.
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

    fn write(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
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
    group.write("cgroup.freeze", "1");
    std::thread::sleep(Duration::from_millis(100));
    let mut books = Books::open(&Options::default());
    // Seen leaving the CPU for the freezer, not only found there.
    group.write("cgroup.freeze", "0");
    std::thread::sleep(Duration::from_millis(200));
    group.write("cgroup.freeze", "1");
    std::thread::sleep(Duration::from_millis(100));
    books.close();
    let window = books.window(Duration::from_millis(500));
    let tid = spin.threads()[0];
    let frame = books.threads(&window);
    let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
    assert_eq!(share(row, Counter::DataFaultNs), 0.0);
    assert!(share(row, Counter::StopNs) > 0.99, "{:?}", row.delta);
    group.write("cgroup.freeze", "0");
    drop(spin);
    std::thread::sleep(Duration::from_millis(100));
}

/// sched_setattr(2).
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
