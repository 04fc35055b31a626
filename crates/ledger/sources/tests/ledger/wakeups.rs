//! Tests of wake-ups: herds are found, and nothing else counts as one.

use crate::waits::turns;
use exactop_model::on_demand::wakeups::{herds, WakeupWindow};
use exactop_model::TaskRef;
use exactop_sources::on_demand::wakeups::{Options, Wakeups, WORK_NS};
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use exactop_workloads::herd::Wake;
use exactop_workloads::workloads::{ForkStorm, Herd, PipePingPong};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn open(pids: Vec<u32>) -> Wakeups {
    open_with(Options { pids, ..Options::default() })
}

fn open_with(options: Options) -> Wakeups {
    // An emulated CPU needs milliseconds for work of microseconds.
    let work_ns = if crate::emulated() { 100 * WORK_NS } else { WORK_NS };
    Wakeups::open_with(&Options { work_ns, ..options })
        .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
}

fn threads() -> usize {
    if crate::emulated() {
        100
    } else {
        1000
    }
}

fn rate() -> f64 {
    if crate::emulated() {
        5.0
    } else {
        20.0
    }
}

/// A window of a herd, and the workers' own number of returns from waits: inside the window at
/// least, and around it at most.
struct Herded {
    server: u32,
    window: WakeupWindow,
    at_least: u64,
    at_most: u64,
}

/// A window of this herd after it has started.
fn herd(wake: Wake) -> Herded {
    let load = Herd::start(threads(), wake, rate()).expect("a herd");
    let totals = || load.totals().expect("it counts");
    // On shared CPUs, going back to a lock takes long.
    let options = Options { pids: vec![load.pid()], work_ns: 1000 * WORK_NS, ..Options::default() };
    let mut source = Wakeups::open_with(&options).expect("the wake-ups' programs");
    wait::until("connections", || totals().accepted >= 3);
    let before = totals();
    source.window().expect("a window");
    let begun = totals();
    wait::until("more connections", || totals().accepted >= begun.accepted + 30);
    let ending = totals();
    let window = source.window().expect("a window");
    let after = totals();
    let (at_least, at_most) = (ending.wakeups - begun.wakeups, after.wakeups - before.wakeups);
    Herded { server: load.pid(), window, at_least, at_most }
}

#[test]
fn a_broadcast_to_idle_workers_is_a_thundering_herd() {
    let Some(_machine) = crate::machine() else { return };
    let Herded { server, window, at_least, at_most } = herd(Wake::All);
    let found = herds(&window);
    assert_eq!(found.len(), 1, "{:?}", window.fans.iter().max_by_key(|f| f.wakeups));
    let fan = &found[0].fan;
    println!("{found:?}");
    assert_eq!(fan.waker.tgid, server);
    assert!(fan.nr.is_futex() && fan.home.is_futex());
    println!("{at_least} to {at_most} by the workers' own count");
    // Wake-ups of a broadcast at each end may be underway.
    let margin = threads() as u64 + fan.wakeups / 50;
    assert!(fan.wakeups + margin >= at_least && fan.wakeups <= at_most + margin, "{fan:?}");
    // How many of them wait again before the next broadcast depends on the other tasks on the CPUs.
    assert!(fan.mean() > 0.1 * threads() as f64, "{fan:?}");
    assert!(fan.unproductive as f64 > 0.9 * fan.chains as f64, "{fan:?}");
    assert!(found[0].cost_pct > Some(0.0));
}

#[test]
fn a_signal_to_one_worker_is_no_herd() {
    let Some(_machine) = crate::machine() else { return };
    let Herded { server, window, .. } = herd(Wake::One);
    assert_eq!(herds(&window), []);
    let of_server = |e: &&exactop_model::on_demand::wakeups::Edge| e.waker.tgid == server;
    let wakes: u64 = window.edges.iter().filter(of_server).map(|e| e.wakeups).sum();
    assert!(wakes > 0, "the workers were woken by the server");
}

#[test]
fn pipes_and_builds_are_no_herds() {
    let Some(_machine) = crate::machine() else { return };
    let pipes = PipePingPong::start(if crate::emulated() { 20 } else { 200 }).expect("ping-pong");
    let mut source = open(vec![pipes.pid()]);
    turns(&pipes, 1_000);
    let window = source.window().expect("a window");
    assert_eq!(herds(&window), []);
    let among = |e: &&exactop_model::on_demand::wakeups::Edge| {
        e.waker.tgid == pipes.pid() && e.wakee.tgid == pipes.pid()
    };
    let edges: Vec<_> = window.edges.iter().filter(among).collect();
    let wakes: u64 = edges.iter().map(|e| e.wakeups).sum();
    let nothing: u64 = edges.iter().map(|e| e.unproductive).sum();
    println!("{wakes} wake-ups over pipes, {nothing} for nothing");
    // A hidden return looks like no work.
    let at_most = if crate::programs_stand_still() { wakes / 20 } else { wakes / 100 };
    assert!(wakes > 100 && nothing <= at_most, "a byte that was read is something");
    drop(pipes);

    let _build = build();
    let mut source = open(Vec::new());
    // Other processes may have herds meanwhile, but not these programs.
    let is_of_build = |who: &TaskRef| BUILD.contains(&who.comm.to_string().as_str());
    let mut edges = 0;
    wait::until("wake-ups by the build", || {
        sleep(Duration::from_secs(1));
        let window = source.window().expect("a window");
        let mut found = herds(&window);
        found.retain(|herd| is_of_build(&herd.fan.waker));
        assert_eq!(found, []);
        edges += window.edges.iter().filter(|edge| is_of_build(&edge.waker)).count();
        edges > 2
    });
}

/// The programs of [`build`].
const BUILD: [&str; 6] = ["make", "sh", "sort", "cat", "true", "busybox"];

/// A busy `make -j4`, or a fork storm if there is no make.
fn build() -> Box<dyn std::any::Any> {
    if !Path::new("/usr/bin/make").exists() {
        return Box::new(ForkStorm::start(2).expect("a fork storm"));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let rules = "all: $(shell seq 1 100000)\n%:\n\t@sh -c 'echo $@ | sort | cat >/dev/null'\n";
    std::fs::write(dir.path().join("Makefile"), rules).expect("written");
    let make = Command::new("make")
        .args(["-j4", "-s", "-C"])
        .arg(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("make starts");
    Box::new(Build { make, _dir: dir })
}

struct Build {
    make: std::process::Child,
    _dir: tempfile::TempDir,
}

impl Drop for Build {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.make);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.make.wait();
    }
}

#[test]
fn an_interrupt_has_no_waking_task() {
    let Some(_machine) = crate::machine() else { return };
    sleeps_are_accounted_for(&Options::default(), 50);
}

#[test]
fn a_hidden_wakeup_is_unseen_even_if_the_switch_after_it_is_hidden() {
    let Some(_machine) = crate::machine() else { return };
    let unseen = sleeps_are_accounted_for(&Options { hide_one_in: 4, ..Options::default() }, 400);
    assert!(unseen > 0, "no wake-up was hidden");
}

/// Sleeps this number of times in a new thread, and holds the programs against the kernel's count.
/// A timer's interrupt ends each of these sleeps. A timer that runs out before the thread has left
/// its CPU ends none. Returns the number of wake-ups unseen.
fn sleeps_are_accounted_for(options: &Options, sleeps: u32) -> u64 {
    let mut source = open_with(Options { pids: vec![std::process::id()], ..options.clone() });
    let sleeper = std::thread::spawn(move || {
        let before = slept_so_far("/proc/thread-self");
        for _ in 0..sleeps {
            sleep(Duration::from_millis(2));
        }
        (
            rustix::thread::gettid().as_raw_nonzero().get() as u32,
            slept_so_far("/proc/thread-self") - before,
        )
    });
    let (tid, slept) = sleeper.join().expect("joined");
    let window = source.window().expect("a window");
    assert!(slept > 0, "it slept");
    let of = |e: &&exactop_model::on_demand::wakeups::Edge| e.wakee.tid == Some(tid);
    let by_interrupt: u64 =
        window.edges.iter().filter(of).filter(|e| e.waker.tgid == 0).map(|e| e.wakeups).sum();
    let edges: Vec<_> = window.edges.iter().filter(of).collect();
    let unseen = window.losses.unseen;
    // The kernel's count may have a sleep that a timer ended before the thread left its CPU.
    let told = by_interrupt + unseen + slept / 50;
    assert!(told >= slept, "slept {slept} times, {unseen} unseen: {edges:?}");
    unseen
}

/// Number of sleeps of a thread, by the kernel's count (proc_pid_status(5)).
pub fn slept_so_far(thread: &str) -> u64 {
    let status = std::fs::read_to_string(format!("{thread}/status")).expect("the thread runs");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|number| number.trim().parse().ok()).expect("a number")
}

/// Number of sleeps of all threads of a process.
fn sleeps_of(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
    let path = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").path();
    threads.map(|thread| slept_so_far(path(thread).to_str().expect("UTF-8"))).sum()
}

#[test]
fn a_hidden_wakeup_is_reported_without_an_invented_waker() {
    let Some(_machine) = crate::machine() else { return };
    let pipes = PipePingPong::start(2).expect("ping-pong");
    let options = Options { pids: vec![pipes.pid()], hide_one_in: 10, ..Options::default() };
    let mut source = Wakeups::open_with(&options).expect("the wake-ups' programs");
    source.window().expect("a window");
    let before = sleeps_of(pipes.pid());
    turns(&pipes, 2_000);
    let slept = sleeps_of(pipes.pid()) - before;
    drop(pipes);
    let window = source.window().expect("a window");
    let wakeups: u64 = window.edges.iter().map(|edge| edge.wakeups).sum();
    let chains: u64 = window.edges.iter().map(|edge| edge.chains).sum();
    let unseen = window.losses.unseen;
    println!("{wakeups} wake-ups, {slept} sleeps, {chains} chains, {unseen} wake-ups unseen");
    // One wake-up in ten is hidden. It ends a sleep only if its thread had left its CPU before it.
    assert!((slept / 20..=slept / 5).contains(&unseen), "{unseen} of {slept} sleeps");
    assert!(chains <= wakeups + 8, "a chain begins with a wake-up: {chains} {wakeups}");
}
