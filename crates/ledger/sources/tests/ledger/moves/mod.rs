//! Tests of the causes of moves: one scripted task for each cause, and the kernel's own count.

mod hidden;
mod rare;

use exactop_model::on_demand::moves::{Cause, MoveWindow};
use exactop_sources::on_demand::moves::{Moves, Options};
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use exactop_workloads::workloads::{ForkStorm, Spin};
use rustix::process::{kill_process, Pid, Signal};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::collections::HashSet;
use std::fs;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

fn open(pids: &[u32], options: &Options) -> Moves {
    Moves::open_with(pids, options)
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

/// Opens the source for all processes.
fn open_all() -> Moves {
    open(&[], &Options::default())
}

/// True if there is a second CPU.
fn has_two() -> bool {
    let there = fs::read_to_string("/sys/devices/system/cpu/online").expect("CPUs");
    let two = there.trim() != "0";
    if !two {
        eprintln!("left out: there is one CPU");
    }
    two
}

/// Binds the thread `tid`, or this thread if 0, to these CPUs.
pub fn bind(tid: u32, cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(Pid::from_raw(tid as i32), &set).expect("CPUs 0 and 1 are there");
}

/// Number of moves of these threads for this cause.
fn moves(window: &MoveWindow, cause: Cause, is_theirs: impl Fn(u32, u32) -> bool) -> u64 {
    let of = |w: &&exactop_model::on_demand::moves::MoveRow| {
        w.cause == cause && is_theirs(w.who.tgid, w.who.tid.unwrap_or(0))
    };
    window.rows.iter().filter(of).map(|row| row.sums.moves).sum()
}

fn text(window: &MoveWindow) -> String {
    let counts: Vec<_> = window.by_cause().iter().map(|(c, s)| (c.name(), s.moves)).collect();
    format!("{counts:?} {:?} missed {} {:?}", window.unknown, window.missed, window.losses)
}

/// Takes windows until one meets the condition.
#[track_caller]
fn until(source: &mut Moves, mut act: impl FnMut(), has: impl Fn(&MoveWindow) -> bool) {
    wait::until("such a move", || {
        act();
        let window = source.window().expect("a window");
        println!("{}", text(&window));
        has(&window)
    });
}

#[test]
fn a_task_bound_elsewhere_moves_for_its_affinity() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    // A running task is moved by a migration thread, a queued one directly, a sleeping one at its
    // wake-up.
    let spin = Spin::start(1, Some(&[0])).expect("a busy thread");
    let _hog = Spin::start(1, Some(&[0])).expect("another");
    let tid = spin.threads()[0];
    let mut source = open(&[spin.pid(), std::process::id()], &Options::default());
    let sleeper = thread::spawn(|| {
        for n in 0..40 {
            bind(0, &[n % 2]);
            sleep(Duration::from_millis(2));
        }
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    });
    let times = 40;
    for n in 0..times {
        bind(tid, &[(n + 1) % 2]);
        sleep(Duration::from_millis(3));
    }
    let sleeper = sleeper.join().expect("joined");
    let window = source.window().expect("a window");
    println!("{}", text(&window));
    for (who, at_least) in [(tid, 36), (sleeper, 36)] {
        let of = |cause| moves(&window, cause, |_, thread| thread == who);
        assert!(of(Cause::Affinity) + window.missed >= at_least, "{who}: {}", text(&window));
        // Before the first binding a task may move for any cause. Between its new CPUs and the
        // migration thread, load balancing may come first.
        let others = Cause::ALL.iter().copied().map(of).sum::<u64>() - of(Cause::Affinity);
        assert!(others <= times as u64 / 10, "{who} has other reasons: {}", text(&window));
    }
    let bound = window.rows.iter().filter(|row| row.cause == Cause::Affinity);
    assert!(bound.clone().all(|row| row.from != row.to && row.sums.paid + row.sums.unpaid == 0));
    assert!(bound.map(|row| row.sums.ran).sum::<u64>() > 0, "{}", text(&window));
}

#[test]
fn a_fork_or_exec_beside_a_crowd_is_placed_elsewhere() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    let _crowd = Spin::start(3, Some(&[0])).expect("busy threads");
    // The shell starts bound; then the binding ends and it calls exec.
    let mut source = open_all();
    let mut children = HashSet::new();
    let script = "taskset -p 3 $$ >/dev/null; exec sleep 0";
    let by_exec = |children: &mut HashSet<u32>| {
        bind(0, &[0]);
        for _ in 0..5 {
            let mut child = Command::new("sh").args(["-c", script]).spawn().expect("sh");
            children.insert(child.id());
            assert!(child.wait().expect("it ends").success(), "taskset is there");
        }
    };
    let theirs = std::cell::RefCell::new(&mut children);
    let of = |window: &MoveWindow, cause| {
        moves(window, cause, |tgid, _| theirs.borrow().contains(&tgid))
    };
    until(&mut source, || by_exec(&mut theirs.borrow_mut()), |w| of(w, Cause::Exec) > 0);
    // The parent is on CPU 0 at the fork, and both may move.
    let by_fork = |children: &mut HashSet<u32>| {
        for _ in 0..5 {
            bind(0, &[0]);
            bind(0, &[0, 1]);
            let mut child = Command::new("true").spawn().expect("true");
            children.insert(child.id());
            let _ = child.wait();
        }
    };
    until(&mut source, || by_fork(&mut theirs.borrow_mut()), |w| of(w, Cause::Fork) > 0);
}

#[test]
fn a_sleeper_beside_a_crowd_is_woken_elsewhere() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    // Enough threads that the other CPU has less to do, whatever other processes do there.
    let _crowd = Spin::start(8, Some(&[0])).expect("busy threads");
    let mut source = open(&[std::process::id()], &Options::default());
    // Woken from the other CPU.
    let naps = || {
        let napping = thread::spawn(|| {
            for _ in 0..20 {
                bind(0, &[0]);
                bind(0, &[0, 1]);
                thread::park();
            }
        });
        let waking = thread::spawn(move || {
            bind(0, &[1]);
            while !napping.is_finished() {
                sleep(Duration::from_millis(2));
                napping.thread().unpark();
            }
        });
        waking.join().expect("joined");
    };
    until(&mut source, naps, |window| {
        let woken = |row: &&exactop_model::on_demand::moves::MoveRow| {
            row.cause == Cause::Wakeup && (row.from, row.to) == (0, 1)
        };
        window.rows.iter().any(|row| woken(&row) && row.sums.queued == 0)
    });
}

#[test]
fn a_crowd_on_one_cpu_is_spread_by_load_balancing() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    // The other CPU is never idle, so only periodic balancing pulls tasks.
    let _busy = Spin::start(1, Some(&[1])).expect("a busy thread");
    let crowd = Spin::start(5, Some(&[0])).expect("a crowd");
    let mut source = open(&[crowd.pid()], &Options::default());
    let pulled =
        |window: &MoveWindow| moves(window, Cause::Periodic, |tgid, _| tgid == crowd.pid());
    let crowded = || {
        crowd.threads().iter().for_each(|&tid| bind(tid, &[0]));
        crowd.threads().iter().for_each(|&tid| bind(tid, &[0, 1]));
        sleep(Duration::from_millis(300));
    };
    until(&mut source, crowded, |window| pulled(window) > 0);
}

/// If other processes keep a CPU busy, it never becomes idle.
mod alone {
    use super::*;

    #[test]
    fn a_cpu_that_becomes_idle_pulls_a_waiting_task() {
        let Some(_machine) = crate::machine() else { return };
        if !has_two() {
            return;
        }
        let crowd = Spin::start(4, Some(&[0])).expect("a crowd");
        let mut source = open(&[crowd.pid()], &Options::default());
        let idle = |cpu: &str| {
            let stat = fs::read_to_string("/proc/stat").expect("/proc/stat");
            let line = stat.lines().find(|line| line.starts_with(cpu)).expect("a line a CPU");
            line.split_whitespace().nth(4).and_then(|n| n.parse().ok()).unwrap_or(0u64)
        };
        let began = Instant::now();
        let mut idled = 0;
        while began.elapsed() < Duration::from_secs(if crate::emulated() { 40 } else { 8 }) {
            // All threads on one CPU; the other CPU has work for a moment and then none.
            crowd.threads().iter().for_each(|&tid| bind(tid, &[0]));
            sleep(Duration::from_millis(20));
            let before = idle("cpu1 ");
            sleep(Duration::from_millis(50));
            idled += idle("cpu1 ") - before;
            let naps = thread::spawn(|| {
                bind(0, &[1]);
                for _ in 0..30 {
                    sleep(Duration::from_micros(700));
                }
            });
            crowd.threads().iter().for_each(|&tid| bind(tid, &[0, 1]));
            naps.join().expect("joined");
            let window = source.window().expect("a window");
            let pulls = window.rows.iter().filter(|row| row.cause == Cause::NewIdle);
            let (moves, paid) =
                pulls.fold((0, 0), |(m, p), row| (m + row.sums.moves, p + row.sums.paid));
            if moves > 0 {
                println!("{moves} pulled, {paid} of them paid: {}", text(&window));
                return;
            }
        }
        // If other processes keep it busy, it is not idle, or is idle before a task waits.
        assert!(idled < 200, "CPU 1 was idle for {idled} ticks and pulled nobody");
        eprintln!("not measured: CPU 1 was idle for {idled} ticks only");
    }
}

/// The used fields of sched_setattr(2) (include/uapi/linux/sched/types.h); times in ns.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Class {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl Class {
    fn fifo(priority: u32) -> Class {
        Class { size: 48, policy: libc::SCHED_FIFO as u32, priority, ..Class::default() }
    }

    fn deadline(runtime: u64, period: u64) -> Class {
        let policy = libc::SCHED_DEADLINE as u32;
        Class { size: 48, policy, runtime, deadline: period, period, ..Class::default() }
    }
}

/// A shell with its own scheduling class; killed on drop.
struct Scheduled(std::process::Child);

impl Scheduled {
    /// Starts the shell; `None` if the kernel refuses the class, for example without runtime for
    /// this group.
    fn start(class: Class, script: &str) -> Option<Scheduled> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let ask = move || match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &class, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        };
        // SAFETY: one system call on data made before the fork.
        unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, ask) };
        let refused = |e: &std::io::Error| eprintln!("left out: the class is refused: {e}");
        command.spawn().inspect_err(refused).ok().map(Scheduled)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Scheduled {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Checks the causes of these tasks' moves, except wake-ups, which choose a CPU in every class.
fn hold_its_class(source: &mut Moves, pids: &[u32], classes: &[Cause]) {
    let theirs = |tgid| pids.contains(&tgid);
    let none = || sleep(Duration::from_millis(300));
    until(source, none, |window| {
        let of = |cause| moves(window, cause, |tgid, _| theirs(tgid));
        let all: u64 = Cause::ALL.iter().copied().map(of).sum();
        assert!(of(Cause::Unknown) * 20 <= all.max(20), "{}", text(window));
        let balanced = [Cause::NewIdle, Cause::Periodic, Cause::Active].map(of);
        assert_eq!(balanced, [0; 3], "only the fair class is balanced: {}", text(window));
        classes.iter().copied().map(of).sum::<u64>() > 0
    });
}

#[test]
fn a_realtime_task_gives_way_to_a_higher_one() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    // All have pauses: kernels with threaded interrupts need them.
    let now_and_then = |cpus: u32, turns: u32| {
        let work = format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done");
        format!("taskset -p {cpus} $$ >/dev/null; while :; do {work}; sleep 0.02; done")
    };
    let Some(low) = Scheduled::start(Class::fifo(10), &now_and_then(3, 30_000)) else { return };
    let high = [1, 2].map(|cpu| Scheduled::start(Class::fifo(20), &now_and_then(cpu, 3_000)));
    assert!(high.iter().all(Option::is_some), "the low one was not refused");
    let mut source = open(&[low.pid()], &Options::default());
    hold_its_class(&mut source, &[low.pid()], &[Cause::RtPush, Cause::RtPull]);
}

#[test]
fn a_deadline_task_gives_way_to_an_earlier_one() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    // Two for each CPU; deadline tasks cannot be bound. Together they use less than all CPU time.
    let of = |runtime: u64, period: u64| {
        let class = Class::deadline(runtime * 1_000_000, period * 1_000_000);
        Scheduled::start(class, "while :; do :; done")
    };
    let Some(first) = of(24, 60) else { return };
    let cpus = thread::available_parallelism().map_or(2, usize::from) as u64;
    let others = (1..2 * cpus).map(|n| if n % 4 == 0 { of(24, 60) } else { of(3, 6 + n % 4 * 2) });
    let others: Vec<Scheduled> = others.map(|one| one.expect("room for it")).collect();
    let pids: Vec<u32> = others.iter().chain([&first]).map(Scheduled::pid).collect();
    let mut source = open(&pids, &Options::default());
    hold_its_class(&mut source, &pids, &[Cause::DlPush, Cause::DlPull]);
}

/// The kernel's count of a process's migrations.
fn by_kernel(pid: u32) -> Option<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let text = fs::read_to_string(thread.ok()?.path().join("sched")).ok()?;
        let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
        sum += line.rsplit(':').next()?.trim().parse::<u64>().ok()?;
    }
    Some(sum)
}

/// True if all threads of a process are stopped; a thread that waits for a CPU stops only when it
/// has run.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("its threads");
    threads.map(|thread| thread.expect("a thread").path().join("stat")).all(|stat| {
        let text = fs::read_to_string(stat).expect("its state");
        text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    })
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).expect("a number"), signal).expect("it is there");
}

/// Stops a process; none of its threads moves after this returns.
fn stop(pid: u32) {
    signal(pid, Signal::STOP);
    wait::until("it to stop", || is_stopped(pid));
}

/// A window of a process that migrates often, and the kernel's count in it.
fn held_against_the_kernel(options: &Options) -> Option<(MoveWindow, u64)> {
    let crowd = Spin::start(6, Some(&[0])).expect("a crowd");
    stop(crowd.pid());
    let Some(before) = by_kernel(crowd.pid()) else {
        eprintln!("left out: the kernel has no /proc/PID/sched");
        return None;
    };
    let mut source = open(&[crowd.pid()], options);
    assert_eq!(by_kernel(crowd.pid()), Some(before), "a stopped process stays");
    signal(crowd.pid(), Signal::CONT);
    for n in 0..40 {
        crowd.threads().iter().for_each(|&tid| bind(tid, &[n % 2]));
        crowd.threads().iter().for_each(|&tid| bind(tid, &[0, 1]));
        sleep(Duration::from_millis(5));
    }
    stop(crowd.pid());
    let window = source.window().expect("a window");
    let counted = by_kernel(crowd.pid()).expect("as before") - before;
    println!("the kernel counted {counted}: {}", text(&window));
    Some((window, counted))
}

#[test]
fn counted_and_missing_moves_sum_to_the_kernels_count() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    let Some((window, counted)) = held_against_the_kernel(&Options::default()) else { return };
    assert!(counted >= 100, "{counted}");
    assert_eq!(window.by_kernel(), Some(counted));
    assert_eq!(window.losses.lost, 0);
    // Some kernels hide events in the context of a task that they protect.
    assert!(window.missed <= counted / 4, "{} of {counted}", window.missed);
    let pairs: u64 = window.by_cpus().iter().map(|(.., sums)| sums.moves).sum();
    assert_eq!(pairs, window.migrations());
}

#[test]
fn hidden_moves_and_moves_without_room_are_missing() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    let hidden = Options { hide_one_in: 3, ..Options::default() };
    let Some((window, counted)) = held_against_the_kernel(&hidden) else { return };
    assert!(window.missed > counted / 10, "a third was hidden: {}", text(&window));
    assert_eq!(window.by_kernel(), Some(counted));

    let none = exactop_sources::on_demand::Room { fixed: Some(1), more: Some(1) };
    let small = Options { room: none, ..Options::default() };
    let Some((window, counted)) = held_against_the_kernel(&small) else { return };
    assert!(window.losses.lost > counted / 10, "{}", text(&window));
    assert_eq!(window.by_kernel(), Some(counted));
}

#[test]
fn without_a_stack_the_cause_is_unknown_with_a_reason() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    let crowd = Spin::start(4, Some(&[0])).expect("a crowd");
    let _forks = ForkStorm::start(1).expect("forks");
    let mut source = open(&[], &Options { stacks: Some(1), ..Options::default() });
    let act = || {
        for n in 0..10 {
            crowd.threads().iter().for_each(|&tid| bind(tid, &[n % 2]));
            crowd.threads().iter().for_each(|&tid| bind(tid, &[0, 1]));
            sleep(Duration::from_millis(20));
        }
    };
    until(&mut source, act, |window| {
        let unknown: u64 = window.unknown.iter().map(|unknown| unknown.moves).sum();
        let rows = moves(window, Cause::Unknown, |_, _| true);
        assert_eq!(unknown, rows, "each has its reason: {}", text(window));
        let no_room = window.unknown.iter().any(|unknown| unknown.why.contains("no room"));
        rows > 0 && no_room && moves(window, Cause::Affinity, |tgid, _| tgid == crowd.pid()) > 0
    });
}

#[test]
fn a_task_on_a_cpu_that_goes_offline_moves_for_hotplug() {
    let Some(_machine) = crate::machine() else { return };
    const SWITCH: &str = "/sys/devices/system/cpu/cpu3/online";
    if !crate::emulated() || !fs::exists(SWITCH).unwrap_or(false) {
        eprintln!("left out: only in an emulated machine with four CPUs");
        return;
    }
    let crowd = Spin::start(8, None).expect("a load on every CPU");
    let mut source = open(&[crowd.pid()], &Options::default());
    sleep(Duration::from_millis(500));
    source.window().expect("a window");
    fs::write(SWITCH, "0").expect("cpu3 can be switched");
    let window = source.window().expect("a window");
    fs::write(SWITCH, "1").expect("cpu3 can be switched");
    println!("{}", text(&window));
    let off = window.rows.iter().filter(|row| row.cause == Cause::Hotplug && row.from == 3);
    assert!(off.map(|row| row.sums.moves).sum::<u64>() > 0, "{:?}", window.rows);
}
