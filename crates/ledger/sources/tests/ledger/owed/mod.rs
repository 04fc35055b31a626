//! Waits beside idle CPUs: their sum against the kernel's run_delay, and their causes by tasks that
//! may not run on an idle CPU.

mod histories;

use crate::moves::bind;
use crate::until;
use exactop_model::on_demand::owed::{Cause, OwedWindow};
use exactop_sources::on_demand::owed::Owed;
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use exactop_workloads::workloads::Spin;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::Duration;

fn open(pids: &[u32], hide_one_in: u32) -> Owed {
    Owed::open_with(pids, hide_one_in)
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

/// Waits of a process, by a choice of causes, ns.
fn ns(window: &OwedWindow, pid: u32, is_one: impl Fn(Cause) -> bool) -> u64 {
    let rows = window.rows.iter().filter(|row| row.who.tgid == pid && is_one(row.wait.cause));
    rows.map(|row| row.wait.ns).sum()
}

fn is_owed(cause: Cause) -> bool {
    cause.is_owed()
}

/// Waits of these threads of this process that the kernel counted, ns.
fn run_delay(tids: &[u32]) -> u64 {
    let of = |tid: &u32| {
        let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).expect("a file");
        text.split(' ').nth(1).and_then(|ns| ns.parse::<u64>().ok()).expect("a number")
    };
    tids.iter().map(of).sum()
}

fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// A worker on CPU 0: it rests until it is to run, and rests again until it is to end.
fn worker(phase: &AtomicU32, tids: &Sender<u32>) {
    bind(0, &[0]);
    tids.send(own_tid()).expect("sent");
    while phase.load(Ordering::SeqCst) != END {
        match phase.load(Ordering::SeqCst) {
            RUN => std::hint::spin_loop(),
            _ => thread::park(),
        }
    }
}

const REST: u32 = 0;
const RUN: u32 = 1;
const END: u32 = 2;

/// A window in which three threads waited for one CPU, and rested at both ends. Also the wait of
/// this process that the kernel counted, at least and at most.
fn contended(hide_one_in: u32) -> (OwedWindow, u64, [u64; 2]) {
    let (phase, (tell, told)) = (Arc::new(AtomicU32::new(REST)), channel());
    let workers = [(); 3].map(|()| {
        let (phase, tell) = (Arc::clone(&phase), tell.clone());
        thread::spawn(move || worker(&phase, &tell))
    });
    let set = |to| {
        phase.store(to, Ordering::SeqCst);
        workers.iter().for_each(|worker| worker.thread().unpark());
    };
    let tids: Vec<u32> = told.iter().take(3).collect();
    let rest = || tids.iter().for_each(|tid| until::asleep(*tid));
    // This thread, which reads, waits too, and at no known time.
    let own = || run_delay(&[own_tid()]);
    rest();
    let mut source = open(&[std::process::id()], hide_one_in);
    let (early, before) = (own(), run_delay(&tids));
    source.window().expect("a window");
    let begin = own();
    set(RUN);
    wait::until("waits", || run_delay(&tids) > before + 300_000_000);
    set(REST);
    rest();
    let end = own();
    let window = source.window().expect("a window");
    let workers_waited = run_delay(&tids) - before;
    let waited = [end - begin, own() - early].map(|own| workers_waited + own);
    set(END);
    workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
    let ours = ns(&window, std::process::id(), |_| true);
    println!("{ours} ns here, {waited:?} ns in schedstat");
    (window, ours, waited)
}

#[test]
fn waits_sum_to_the_kernels_run_delay() {
    let Some(_machine) = crate::machine() else { return };
    // A kernel may hide a switch, which the window then reports.
    let (window, ours, [least, most]) = wait::find("a window without a loss", || {
        Some(contended(0)).filter(|(window, ..)| window.losses.unseen + window.losses.lost == 0)
    });
    let fits = ours > least / 100 * 95 && ours < most / 100 * 105;
    assert!(fits, "{ours} ns here, {least} to {most} ns in schedstat: {window:?}");
}

#[test]
fn bookings_that_are_left_out_are_missing_from_the_sum_and_reported() {
    let Some(_machine) = crate::machine() else { return };
    // All of them: of few long waits, a part by chance may be none.
    let (window, ours, [least, _]) = contended(1);
    assert!(ours < least / 100 * 90, "{ours} ns here, {least} ns in schedstat: {window:?}");
    assert!(window.losses.unseen > 0, "{window:?}");
}

/// A window with some idle time; `None`: there are other tasks for every CPU here.
fn with_idle_time(source: &mut Owed, mut act: impl FnMut()) -> Option<OwedWindow> {
    for _ in 0..20 {
        source.window().expect("a window");
        act();
        sleep(Duration::from_millis(50));
        let window = source.window().expect("a window");
        if window.idle_ns > 5_000_000 {
            println!("{window:?}");
            return Some(window);
        }
    }
    eprintln!("left out: no CPU is idle");
    None
}

/// Two workers on CPU 0 wait for this cause as long as another CPU is idle, and nothing is owed.
fn wait_only_for(cause: Cause, spin: &Spin) {
    let mut source = open(&[spin.pid()], 0);
    let Some(window) = with_idle_time(&mut source, || ()) else { return };
    let waited = ns(&window, spin.pid(), |of| of == cause);
    let threads = window.idle_ns * 2;
    assert!(waited > window.idle_ns / 2 && waited <= threads, "{waited}: {window:?}");
    let others = |of: Cause| ![cause, Cause::Busy].contains(&of);
    assert_eq!((window.owed_ns, ns(&window, spin.pid(), others)), (0, 0), "{window:?}");
}

#[test]
fn tasks_bound_to_one_cpu_wait_for_their_affinity() {
    let Some(_machine) = crate::machine() else { return };
    let spin = Spin::start(2, Some(&[0])).expect("two busy threads");
    wait_only_for(Cause::Affinity, &spin);
}

/// A group with the cpuset controller; removed on drop.
struct Cpuset(PathBuf);

impl Cpuset {
    /// A group that may run on CPU 0 alone; `None`: none can be made here.
    fn of_one_cpu() -> Option<Cpuset> {
        let (v1, v2) = (Path::new("/sys/fs/cgroup/cpuset"), Path::new("/sys/fs/cgroup"));
        let root = if v1.join("cpuset.cpus").exists() { v1 } else { v2 };
        // Of version 2; it may be on already.
        let _ = fs::write(root.join("cgroup.subtree_control"), "+cpuset");
        let group = Cpuset(root.join(format!("exactop-owed-test-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("cpuset.mems"), "0").ok()?;
        fs::write(group.0.join("cpuset.cpus"), "0").ok()?;
        Some(group)
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        until::removed(&self.0);
    }
}

#[test]
fn tasks_in_a_cpuset_wait_for_their_cpuset() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = Cpuset::of_one_cpu() else {
        eprintln!("left out: no cpuset can be made here");
        return;
    };
    let spin = Spin::start(2, None).expect("two busy threads");
    fs::write(group.0.join("cgroup.procs"), spin.pid().to_string()).expect("moved");
    wait_only_for(Cause::Cpuset, &spin);
}

#[test]
fn a_task_that_may_run_on_the_idle_cpu_is_owed_until_it_is_moved() {
    let Some(_machine) = crate::machine() else { return };
    let spin = Spin::start(2, Some(&[0])).expect("two busy threads");
    let threads = spin.threads();
    let mut source = open(&[spin.pid()], 0);
    let mut owed = 0;
    let bind_all = |cpus: &[usize]| threads.iter().for_each(|tid| bind(*tid, cpus));
    while owed == 0 {
        bind_all(&[0]);
        let Some(window) = with_idle_time(&mut source, || bind_all(&[0, 1])) else { return };
        owed = ns(&window, spin.pid(), is_owed);
        assert!(window.owed_ns <= owed && window.owed_ns <= window.idle_ns, "{window:?}");
    }
}

#[test]
fn one_busy_thread_is_owed_little_and_owed_time_is_idle_time_and_waiting_time() {
    let Some(_machine) = crate::machine() else { return };
    let spin = Spin::start(1, None).expect("a busy thread");
    let cpus = fs::read_dir("/sys/devices/system/cpu/").expect("CPUs");
    let cpus =
        cpus.filter(|cpu| cpu.as_ref().is_ok_and(|cpu| cpu.path().join("topology").exists()));
    let (cpus, mut source) = (cpus.count() as u64, open(&[], 0));
    source.window().expect("a window");
    for _ in 0..5 {
        sleep(Duration::from_millis(200));
        let window = source.window().expect("a window");
        let length = window.t1_ns - window.t0_ns;
        assert!(window.idle_ns <= cpus * length, "{window:?}");
        assert!(window.owed_ns <= window.idle_ns, "{window:?}");
        let waited: u64 =
            window.rows.iter().filter(|row| row.wait.cause.is_owed()).map(|row| row.wait.ns).sum();
        assert!(window.owed_ns <= waited || window.losses.unseen > 0, "{window:?}");
        assert!(ns(&window, spin.pid(), is_owed) < length / 4, "{window:?}");
    }
}
