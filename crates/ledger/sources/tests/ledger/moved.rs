//! Tasks that move to another control group within a window: their figures before belong to the old
//! group, their figures after to the new one. The kernel's counts are the witness.

use crate::books::Books;
use crate::until;
use exactop_model::cgroups::{self, GroupUse};
use exactop_model::ledger::window::Window;
use exactop_model::owner::{charge, Grouping, Owner};
use exactop_model::Counter;
use exactop_sources::ledger::Options;
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_workloads::workloads::{PipePingPong, Spin};
use rustix::process::{kill_process, Pid, Signal};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A control group of the cpu controller, and the group with the same name that counts CPU time; on
/// v1 they may be in two hierarchies.
pub struct Group {
    pub cpu: PathBuf,
    count: PathBuf,
}

impl Group {
    /// Makes the group; `None` if none can be made.
    pub fn new(name: &str) -> Option<Group> {
        let name = format!("exactop-{name}-{}", std::process::id());
        let [cpu, count] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"].map(Path::new);
        let v1 = cpu.join("cpu.shares").exists();
        let [cpu, count] = if v1 { [cpu, count] } else { [Path::new("/sys/fs/cgroup"); 2] };
        let group = Group { cpu: cpu.join(&name), count: count.join(&name) };
        fs::create_dir(&group.cpu).ok()?;
        if !group.count.exists() {
            fs::create_dir(&group.count).ok()?;
        }
        group.usage_ns().is_some().then_some(group)
    }

    pub fn id(&self) -> u64 {
        fs::metadata(&self.cpu).expect("the group").ino()
    }

    /// CPU time of the group: cpuacct.usage, or usage_usec of cpu.stat on v2.
    fn usage_ns(&self) -> Option<u64> {
        if let Ok(text) = fs::read_to_string(self.count.join("cpuacct.usage")) {
            return text.trim().parse().ok();
        }
        let text = fs::read_to_string(self.count.join("cpu.stat")).ok()?;
        let us = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        us.parse::<u64>().ok().map(|us| us * 1000)
    }

    /// The files that move a process; the same file twice if there is one hierarchy.
    fn procs(&self) -> [PathBuf; 2] {
        [&self.cpu, &self.count].map(|group| group.join("cgroup.procs"))
    }

    /// Moves a process and returns the time this took. With two hierarchies the process is between
    /// the groups meanwhile.
    pub fn take(&self, pid: u32) -> Duration {
        let begin = Instant::now();
        for file in self.procs() {
            fs::write(file, pid.to_string()).expect("moved");
        }
        begin.elapsed()
    }
}

/// Stops every thread of a process before it returns.
fn stop(pid: u32) {
    let stopped = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).expect("a thread");
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    signal(pid, Signal::STOP);
    while !fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten().all(stopped) {
        sleep(Duration::from_millis(1));
    }
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().expect("a PID")).expect("a PID");
    kill_process(pid, signal).expect("it lives");
}

impl Drop for Group {
    fn drop(&mut self) {
        until::removed(&self.cpu);
        until::removed(&self.count);
    }
}

fn groups() -> Option<[Group; 2]> {
    let groups = Group::new("before").zip(Group::new("after"));
    if groups.is_none() {
        eprintln!("left out: no control group that counts CPU time can be made here");
    }
    groups.map(|(before, after)| [before, after])
}

fn used(books: &Books, window: &Window, group: &Group) -> GroupUse {
    cgroups::uses(window, &books.book).get(&group.id()).copied().unwrap_or_default()
}

/// Checks that the ledger and the kernel agree on a group's use within one per cent, some switches,
/// and the use in `unclear`. The kernel's use is read just before and just after the window.
fn agrees(ours: GroupUse, theirs: u64, unclear: Duration, what: &str) {
    println!("{what}: {} ns, by the kernel {theirs} ns, {unclear:?} unclear", ours.run_ns);
    let cpus = std::thread::available_parallelism().expect("CPUs").get() as u64;
    let unclear_ns = cpus * unclear.as_nanos() as u64;
    let margin = if crate::emulated() { theirs / 3 } else { theirs / 50 } + 12_000_000 + unclear_ns;
    assert!(ours.run_ns.abs_diff(theirs) < margin, "{what}: {} {theirs}", ours.run_ns);
}

/// By how much the kernel's stamps of a process's switches lie beside ours. It is a sum over switches: beside
/// other work there are many.
fn stamps(window: &Window, pid: u32) -> Duration {
    let of_process = window.tasks.iter().filter(|task| task.sample.key.tgid == pid);
    let audits = of_process.filter_map(|task| task.audit.as_ref());
    let bias_ns = audits.map(|audit| audit.run.bias_ns.unsigned_abs()).sum();
    println!(
        "the stamps of its switches differ by {bias_ns} ns; {} unseen",
        window.errors.repaired()
    );
    Duration::from_nanos(bias_ns)
}

/// Use of both groups in a window in which `work` happens.
struct Used {
    window: Window,
    ours: [GroupUse; 2],
    theirs: [u64; 2],
    /// How much longer the time of the kernel's count is than the window.
    ends: Duration,
}

fn window_of(books: &mut Books, groups: &[Group; 2], work: impl FnOnce()) -> Used {
    let usage = || [0, 1].map(|i: usize| groups[i].usage_ns().expect("counted"));
    let begin = Instant::now();
    let before = usage();
    books.close();
    work();
    let window = books.close().expect("a window");
    let after = usage();
    let ends = begin.elapsed().saturating_sub(Duration::from_nanos(window.length_ns()));
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    let ours = [0, 1].map(|i: usize| used(books, &window, &groups[i]));
    let theirs = [after[0] - before[0], after[1] - before[1]];
    Used { window, ours, theirs, ends }
}

/// The process spins all the time, so the move happens on a CPU without a switch.
#[test]
fn a_process_on_its_cpus() {
    let Some(_machine) = crate::machine() else { return };
    let Some(groups) = groups() else { return };
    let spin = Spin::start(2, None).expect("a worker");
    groups[0].take(spin.pid());
    let mut books = Books::open(&Options::default());
    sleep(Duration::from_millis(100));
    for attempt in 1.. {
        groups[0].take(spin.pid());
        let mut between = Duration::ZERO;
        let used = window_of(&mut books, &groups, || {
            until::has_run(spin.pid());
            sleep(Duration::from_millis(600));
            between = groups[1].take(spin.pid());
            until::has_run(spin.pid());
            sleep(Duration::from_millis(300));
        });
        let unclear = used.ends + between + stamps(&used.window, spin.pid());
        agrees(used.ours[0], used.theirs[0], unclear, "before");
        agrees(used.ours[1], used.theirs[1], unclear, "after");
        assert!(used.ours.iter().all(|group| group.run_ns > 0), "{:?}", used.ours);
        // On a busy machine a move may take long; such a window is no evidence.
        if crate::emulated() || unclear < Duration::from_millis(60) {
            break;
        }
        assert!(attempt < 20, "{unclear:?} were unclear in each of 20 windows");
    }
    drop(spin);
}

/// Switches off a CPU that the ledger charged to a group, shown or not.
fn our_switches(books: &Books, window: &Window, group: &Group) -> u64 {
    let mut sum = 0;
    charge(window, &books.book, Grouping::Cgroup, &mut |owner, charge| {
        if owner == Owner::Group(Some(group.id())) {
            let counters = [Counter::Vcx, Counter::Icx, Counter::MissedSwitches];
            let of = |counter| charge.counters.get(counter).expect("the ledger counts it");
            sum += counters.map(of).iter().sum::<u64>();
        }
    });
    sum
}

/// The kernel's count of switches off a CPU of all threads of a process.
fn kernel_switches(pid: u32) -> u64 {
    let of = |task: fs::DirEntry| -> u64 {
        let status = fs::read_to_string(task.path().join("status")).expect("a thread");
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        counts.map(|(_, count)| count.trim().parse::<u64>().expect("a number")).sum()
    };
    fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten().map(of).sum()
}

/// Several moves in a window, counted from one event of the process to the next. The process is
/// stopped during a move, which takes the kernel long on a busy machine, and so each switch belongs
/// to one group.
#[test]
fn a_process_that_goes_to_and_fro() {
    let Some(_machine) = crate::machine() else { return };
    let Some(groups) = groups() else { return };
    let pairs = PipePingPong::start(2).expect("ping-pong");
    groups[0].take(pairs.pid());
    let mut books = Books::open(&Options::default());
    sleep(Duration::from_millis(100));
    stop(pairs.pid());
    let mut switches = [0, 0];
    let Used { window, ours, theirs, .. } = window_of(&mut books, &groups, || {
        for n in 1..6 {
            let before = kernel_switches(pairs.pid());
            groups[n % 2].take(pairs.pid());
            signal(pairs.pid(), Signal::CONT);
            sleep(Duration::from_millis(100));
            stop(pairs.pid());
            switches[n % 2] += kernel_switches(pairs.pid()) - before;
        }
    });
    println!("{ours:?}, by the kernel {theirs:?}; {switches:?} switches");
    assert!(switches.iter().all(|&switches| switches > 0), "{switches:?}");
    assert_eq!([0, 1].map(|i: usize| our_switches(&books, &window, &groups[i])), switches);
    assert!(ours.iter().all(|group| group.run_ns > 0), "{ours:?}");
    // The kernel's count of a waking thread is off by the exit from idle.
    let share = |of: [u64; 2]| of[0] as f64 / (of[0] + of[1]) as f64;
    let (our_share, their_share) = (share(ours.map(|group| group.run_ns)), share(theirs));
    assert!((our_share - their_share).abs() < 0.05, "{our_share} {their_share}");
    drop(pairs);
}

/// Each process moves itself and has exited when the window ends.
#[test]
fn processes_that_exited() {
    let Some(_machine) = crate::machine() else { return };
    let Some(groups) = groups() else { return };
    let mut books = Books::open(&Options::default());
    let script = |first: &Group, second: &Group| {
        let [enter, leave] = [first, second].map(|group| {
            group.procs().map(|file| format!("echo $$ > {};", file.display())).concat()
        });
        let count = |n: u32| format!("i=0; while [ $i -lt {n} ]; do i=$((i+1)); done;");
        format!("{enter} {} {leave} {}", count(150_000), count(50_000))
    };
    let script = script(&groups[0], &groups[1]);
    let Used { window, ours, theirs, ends } = window_of(&mut books, &groups, || {
        for _ in 0..3 {
            let status = Command::new("sh").arg("-c").arg(&script).status();
            assert!(status.expect("a shell").success());
        }
    });
    agrees(ours[0], theirs[0], ends, "before");
    agrees(ours[1], theirs[1], ends, "after");
    assert!(ours[0].run_ns > ours[1].run_ns, "three times as much was done there: {ours:?}");
    let exited = |group: &Group| used(&books, &window, group).exited;
    assert_eq!((exited(&groups[0]), exited(&groups[1])), (0, 3), "they exited where they were");
}

/// CPU time, user time and system time that the ledger charged to a group, ns.
fn charged(books: &Books, window: &Window, group: &Group) -> [u64; 3] {
    let mut sums = [0; 3];
    charge(window, &books.book, Grouping::Cgroup, &mut |owner, charge| {
        if owner == Owner::Group(Some(group.id())) {
            let counters = [Counter::RunNs, Counter::UserNs, Counter::SystemNs];
            let of = |counter| charge.counters.get(counter).expect("the ledger measures it");
            sums.iter_mut().zip(counters.map(of)).for_each(|(sum, ns)| *sum += ns);
        }
    });
    sums
}

/// A process computes in one group, and then has the kernel fill memory in the other one.
#[test]
fn user_and_system_time_stay_where_they_were_used() {
    let Some(_machine) = crate::machine() else { return };
    let Some(groups) = groups() else { return };
    let split = SplitOptions { split: MeasurePolicy::Always, ..SplitOptions::default() };
    let mut books = Books::open(&Options { split, ..Options::default() });
    let [enter, leave] = [0, 1].map(|i: usize| {
        groups[i].procs().map(|file| format!("echo $$ > {};", file.display())).concat()
    });
    let compute = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done;";
    let fill = "exec dd if=/dev/zero of=/dev/null bs=1M count=4000 status=none";
    let Used { window, .. } = window_of(&mut books, &groups, || {
        let script = format!("{enter} {compute} {leave} {fill}");
        let status = Command::new("sh").arg("-c").arg(&script).status();
        assert!(status.expect("a shell").success());
    });
    let [computed, filled] = [0, 1].map(|i: usize| charged(&books, &window, &groups[i]));
    println!("run, user and system time: {computed:?}, then {filled:?}");
    for [run, user, system] in [computed, filled] {
        assert_eq!(user + system, run, "{computed:?} {filled:?}");
    }
    // The shell computes without calls; dd does nothing else.
    assert!(computed[1] > 4 * filled[1], "user time: {computed:?} {filled:?}");
    assert!(filled[2] > 4 * computed[2], "system time: {computed:?} {filled:?}");
}
