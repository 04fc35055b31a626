//! Causes that need a special machine: NUMA nodes, a scheduler in BPF, an idle CPU. They run only
//! on emulated machines (`rare_moves_on` of scripts/test-kernels.sh).

use super::*;
use libbpf_rs::{MapCore, ObjectBuilder};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// True if the machine has what a cause needs; else prints what is missing.
fn has(is_there: bool, what: &str) -> bool {
    let has = crate::emulated() && is_there;
    if !has {
        eprintln!("left out: only in an emulated machine with {what}");
    }
    has
}

/// The numbers in a kernel's file such as `0-1,4`.
fn cpus_in(file: &str) -> Vec<usize> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[test]
fn a_running_task_is_pushed_to_an_idle_cpu() {
    let Some(_machine) = crate::machine() else { return };
    // Real-time kernels balance in a thread, which runs so rarely beside this load that a minute
    // may have no balancing.
    if !has(
        has_two() && !fs::exists("/sys/kernel/realtime").unwrap_or(false),
        "two CPUs, and no realtime kernel",
    ) {
        return;
    }
    // The waiting task may not move and is on the CPU only for moments, so load balancing finds no
    // task to take.
    let stays = Spin::start(1, Some(&[0])).expect("a busy thread");
    // SAFETY: a system call with numbers.
    let nice = unsafe { libc::setpriority(libc::PRIO_PROCESS, stays.threads()[0], 19) };
    assert_eq!(nice, 0, "its niceness");
    let runs = Spin::start(1, Some(&[0])).expect("another");
    let tid = runs.threads()[0];
    let mut source = open(&[runs.pid()], &Options::default());
    let act = || {
        bind(tid, &[0]);
        sleep(Duration::from_millis(50));
        bind(tid, &[0, 1]);
        sleep(Duration::from_millis(1500));
    };
    until(&mut source, act, |window| moves(window, Cause::Active, |_, thread| thread == tid) > 0);
}

#[test]
fn a_task_far_from_its_memory_moves_to_it() {
    let Some(_machine) = crate::machine() else { return };
    const SWITCH: &str = "/proc/sys/kernel/numa_balancing";
    let [near, far] = [0, 1].map(|n| cpus_in(&format!("/sys/devices/system/node/node{n}/cpulist")));
    if !has(!near.is_empty() && !far.is_empty() && fs::exists(SWITCH).unwrap_or(false), "two nodes")
    {
        return;
    }
    fs::write(SWITCH, "1").expect("balancing between nodes");
    look_often();
    let (tid, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| reads_what_stays(&near, &tid, &is_over));
        let over = Over(&is_over);
        while tid.load(Ordering::Acquire) == 0 {
            sleep(Duration::from_millis(1));
        }
        let tid = tid.load(Ordering::Acquire);
        let mut source = open(&[std::process::id()], &Options::default());
        let act = || {
            bind(tid, &far);
            sleep(Duration::from_secs(2));
            bind(tid, &[near.clone(), far.clone()].concat());
            sleep(Duration::from_secs(2));
        };
        let is_near = |cpu: u32| near.contains(&(cpu as usize));
        until(&mut source, act, |window| {
            let home = window.rows.iter().filter(|row| row.cause == Cause::Numa);
            home.filter(|row| !is_near(row.from) && is_near(row.to)).count() > 0
        });
        drop(over);
    });
}

/// Ends a thread, even if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Makes the kernel check the placement of memory ten times a second instead of once a minute.
fn look_often() {
    let _ = Command::new("mount").args(["-t", "debugfs", "debugfs", "/sys/kernel/debug"]).status();
    for (name, ms) in [("scan_delay", 100), ("scan_period_min", 100), ("scan_period_max", 200)] {
        let file = format!("/sys/kernel/debug/sched/numa_balancing/{name}_ms");
        if let Err(e) = fs::write(&file, ms.to_string()) {
            eprintln!("{file}: {e}: it will take longer");
        }
    }
}

/// Reads memory of the first node repeatedly. The memory is bound, so it cannot follow the thread.
fn reads_what_stays(node: &[usize], tid: &AtomicU32, is_over: &AtomicBool) {
    const PAGE: usize = 4096;
    const MPOL_F_NUMA_BALANCING: i32 = 1 << 13;
    bind(0, node);
    // Without this flag bound memory is left out of balancing.
    let (policy, first) = (libc::MPOL_BIND | MPOL_F_NUMA_BALANCING, 1u64);
    // SAFETY: a system call that reads one word.
    let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, policy, &first, 64) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    let memory = vec![1u8; 1024 * PAGE];
    tid.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::Release);
    while !is_over.load(Ordering::Acquire) {
        memory.chunks(PAGE).for_each(|page| {
            std::hint::black_box(page[0]);
        });
    }
}

#[test]
fn a_scheduler_in_bpf_moves_tasks() {
    let Some(_machine) = crate::machine() else { return };
    let object = std::env::var("EXACTOP_TEST_EXT_SCHEDULER").ok();
    let is_there = object.is_some() && fs::exists("/sys/kernel/sched_ext").unwrap_or(false);
    if !has(is_there, "sched_ext (6.12 and later) and a scheduler to load") {
        return;
    }
    let object = ObjectBuilder::default().open_file(object.unwrap_or_default());
    let mut object = object.and_then(|object| object.load()).expect("a scheduler");
    let mut maps = object.maps_mut();
    let mut ops = maps.find(|map| map.name() == "ops").expect("its operations");
    let _scheduler = ops.attach_struct_ops().expect("it schedules");
    // All tasks wait in one queue, from which any CPU takes the next one.
    let crowd = Spin::start(9, None).expect("a crowd");
    let mut source = open(&[crowd.pid()], &Options::default());
    let none = || sleep(Duration::from_millis(300));
    until(&mut source, none, |window| {
        let of = |cause| moves(window, cause, |tgid, _| tgid == crowd.pid());
        let all: u64 = Cause::ALL.iter().copied().map(of).sum();
        assert!(of(Cause::Unknown) * 20 <= all.max(20), "{}", text(window));
        of(Cause::Ext) > 0
    });
}
