//! Tests of microstates against a script that knows its own states, and against the kernel's
//! counts.

use crate::books::{process, Books};
use crate::until;
use exactop_model::{Counter, Quality, Row};
use exactop_sources::ledger::Options;
use exactop_sources::{MeasurePolicy, Source, SplitOptions};
use exactop_testkit::wait;
use rustix::time::{clock_gettime, ClockId};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

pub fn exact() -> Options {
    let split = SplitOptions { split: MeasurePolicy::Always, ..SplitOptions::default() };
    Options { split, ..Options::default() }
}

/// Runs `work` in a thread once the ledger's window is open, and returns the thread's row and tid.
pub fn row_of(books: &mut Books, work: impl FnOnce() + Send + 'static) -> (Row, u64) {
    let (tell_tid, tid) = mpsc::channel();
    let (go, start) = mpsc::channel::<()>();
    let (tell_done, done) = mpsc::channel();
    let (leave, stay) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        tell_tid.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("told");
        start.recv().expect("go");
        work();
        tell_done.send(()).expect("told");
        let _ = stay.recv();
    });
    let tid = tid.recv().expect("a tid") as u32;
    until::asleep(tid);
    books.close();
    go.send(()).expect("sent");
    done.recv().expect("done");
    let window = books.close().expect("a window");
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    let frame = books.threads(&window);
    let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row").clone();
    drop(leave);
    worker.join().expect("joined");
    (row, window.length_ns())
}

pub fn ns(row: &Row, counter: Counter) -> u64 {
    row.delta.get(counter).unwrap_or_else(|| panic!("{counter:?} is not known"))
}

/// Compares a row's wait with the thread's own clock. They agree except for the time that the
/// thread ran and waited for a CPU before and after the wait.
fn is_that_wait(row: &Row, state: Counter, took: Duration) {
    let (found, took) = (ns(row, state), took.as_nanos() as u64);
    let awake = [Counter::RunNs, Counter::StealNs, Counter::LatNs, Counter::ThrottleNs];
    let awake: u64 = awake.iter().filter_map(|&counter| row.delta.get(counter)).sum();
    println!("{state:?}: {found} ns of {took} ns by its own clock, {awake} ns awake");
    assert!(found + awake >= took, "{state:?}: {found} and {awake} < {took}");
    assert!(found > 0, "it waited: {row:?}");
}

/// Duration of some work, by the clock.
fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

#[test]
fn a_sleep_counts_as_sleep() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&exact());
    let (tell, told) = mpsc::channel();
    let (row, _) = row_of(&mut books, move || {
        let took = timed(|| thread::sleep(Duration::from_millis(300)));
        tell.send(took).expect("told");
    });
    let took = told.recv().expect("told");
    is_that_wait(&row, Counter::SleepNs, took);
    // Besides it the row has only the waits of channels, which are futexes.
    assert!(ns(&row, Counter::SleepNs) <= took.as_nanos() as u64, "{row:?}");
}

#[test]
fn waiting_for_a_lock_counts_as_lock() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&exact());
    let lock = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = Arc::clone(&lock);
    let asked = Duration::from_millis(300);
    let (tell, told) = mpsc::channel();
    let (row, _) = row_of(&mut books, move || {
        let opener = Arc::clone(&theirs);
        let waits = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let opener = thread::spawn(move || {
            until::in_call(std::process::id(), waits, "futex");
            thread::sleep(asked);
            *opener.0.lock().expect("the lock") = true;
            opener.1.notify_one();
        });
        let took = timed(|| {
            let mut open = theirs.0.lock().expect("the lock");
            while !*open {
                open = theirs.1.wait(open).expect("the lock");
            }
        });
        opener.join().expect("joined");
        tell.send(took).expect("told");
    });
    let took = told.recv().expect("told");
    assert!(took >= asked, "{took:?}");
    is_that_wait(&row, Counter::LockNs, took);
    assert!(ns(&row, Counter::SleepNs) < asked.as_nanos() as u64 / 10);
}

/// Runs in user mode without a system call. The amount of work does not depend on waits for a CPU.
fn user_mode(thousands: u32) {
    let mut x = 1u64;
    for _ in 0..thousands * 1000 {
        x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
}

#[test]
fn spinning_in_user_mode_counts_as_user_time() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&exact());
    let (row, _) = row_of(&mut books, || user_mode(20_000));
    let (user, system) = row.exact_split_ns().expect("measured");
    println!("user {user} ns, system {system} ns");
    assert!(user > 20 * system, "user {user}, system {system}");
}

/// A task that wakes a more urgent one on its CPU is preempted at the end of the system call. Its
/// time afterwards does not belong to the call. The witness is the thread's own clock: the shortest of
/// equal turns. How long the kernel works for the others, or stands still, does not matter.
#[test]
fn time_after_a_preemption_at_the_end_of_a_call_is_user_time() {
    let Some(_machine) = crate::machine() else { return };
    // Beside other tasks it gets a moment in each second, so there are few and short turns.
    const TIMES: u32 = 8;
    let shortest_ns = Arc::new(AtomicU64::new(u64::MAX));
    let timed = Arc::clone(&shortest_ns);
    let own_clock = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time");
    let mut books = Books::open(&exact());
    let (row, _) = row_of(&mut books, move || {
        let mut set = rustix::thread::CpuSet::new();
        set.set(0);
        rustix::thread::sched_setaffinity(None, &set).expect("on one CPU");
        let (mut hear, mut say) = std::io::pipe().expect("a pipe");
        let other = thread::spawn(move || {
            let mut byte = [0];
            while std::io::Read::read(&mut hear, &mut byte).expect("a byte") > 0 {}
        });
        // SAFETY: a struct of numbers; 0 is this thread.
        let idle = unsafe {
            let param = libc::sched_param { sched_priority: 0 };
            libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param)
        };
        assert_eq!(idle, 0, "anyone may be less urgent");
        for _ in 0..TIMES {
            // Reading the clock is a call, too, so none is between this one and the turn.
            let before = own_clock();
            std::io::Write::write_all(&mut say, b"x").expect("written");
            user_mode(500);
            timed.fetch_min((own_clock() - before).as_nanos() as u64, Ordering::Relaxed);
        }
        drop(say);
        other.join().expect("joined");
    });
    let (user, system) = row.exact_split_ns().expect("measured");
    let steal = row.delta.get(Counter::StealNs).unwrap_or(0);
    let turns = u64::from(TIMES) * shortest_ns.load(Ordering::Relaxed);
    println!("user {user} ns, system {system} ns, steal {steal} ns; turns of at least {turns} ns");
    assert!(ns(&row, Counter::Icx) > 0, "{row:?}");
    assert!(user + steal > turns / 10 * 9, "user {user}, steal {steal}, turns {turns}");
}

#[test]
fn system_calls_are_counted_exactly_and_count_as_system_time() {
    let Some(_machine) = crate::machine() else { return };
    const CALLS: u64 = 20_000;
    let mut books = Books::open(&exact());
    let (idle, _) = row_of(&mut books, || ());
    let (row, _) = row_of(&mut books, || {
        for _ in 0..CALLS {
            let _ = rustix::process::getppid();
        }
    });
    let extra = ns(&idle, Counter::Syscalls);
    let counted = ns(&row, Counter::Syscalls);
    println!("{counted} system calls, {extra} without the loop");
    // The channels wait by futex, a few times more or fewer.
    assert!((CALLS..CALLS + extra + 20).contains(&counted));
    let (_, system) = row.exact_split_ns().expect("measured");
    assert!(system > 0);
}

#[test]
fn switches_equal_those_in_proc_status() {
    let Some(_machine) = crate::machine() else { return };
    let status = |tid: i32| {
        let path = format!("/proc/self/task/{tid}/status");
        let text = fs::read_to_string(path).expect("status");
        let field = |name: &str| {
            let line = text.lines().find(|l| l.starts_with(name)).expect("the line");
            line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number")
        };
        (field("voluntary_ctxt_switches"), field("nonvoluntary_ctxt_switches"))
    };
    let mut books = Books::open(&exact());
    let (tell, told) = mpsc::channel();
    let (row, _) = row_of(&mut books, move || {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let before = status(tid);
        for n in 0..200 {
            match n % 4 {
                0 => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(200)),
            }
        }
        let after = status(tid);
        tell.send((after.0 - before.0, after.1 - before.1)).expect("told");
    });
    let (voluntary, involuntary) = told.recv().expect("told");
    let (vcx, icx) = (ns(&row, Counter::Vcx), ns(&row, Counter::Icx));
    let missed = ns(&row, Counter::MissedSwitches);
    println!("vcx {vcx}, /proc {voluntary}; icx {icx}, /proc {involuntary}; {missed} not shown");
    // The window is a little longer than the time between the thread's two readings. Switches that
    // the kernel hid are reported as missed, without their kind.
    assert!(vcx < voluntary + 10 && vcx + missed >= voluntary, "{vcx} {voluntary}");
    assert!(icx < involuntary + 20 && icx + missed >= involuntary, "{icx} {involuntary}");
}

#[test]
fn a_disk_writer_blocks() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&exact());
    let path = std::env::current_exe().expect("self").with_extension("fsync-test");
    let file = fs::File::create(&path).expect("a file");
    let (row, _) = row_of(&mut books, move || {
        use std::io::Write;
        let mut file = file;
        for _ in 0..50 {
            file.write_all(&[7; 65_536]).expect("written");
            file.sync_all().expect("synced");
        }
    });
    let _ = fs::remove_file(path);
    println!("blocked {} ns, slept {} ns", ns(&row, Counter::BlockNs), ns(&row, Counter::SleepNs));
    assert!(row.delta.states_ns() == Some(row.life_ns));
}

#[test]
fn signals_are_counted() {
    let Some(_machine) = crate::machine() else { return };
    let load = exactop_workloads::workloads::SignalStorm::start(2).expect("signals");
    let mut books = Books::open(&exact());
    let delivered = || load.counts().expect("counts").delivered;
    let (window, looks) = books.between(Duration::from_millis(300), delivered);
    let found = ns(process(&books.processes(&window), load.pid()), Counter::Signals);
    let (least, most) = (looks.at_least(), looks.at_most());
    println!("{found} signals; by its own count {least} to {most}");
    // The kernel reports a signal at its delivery; the thread counts it a little later. So one
    // signal of each thread may be underway at each end.
    assert!(least > 4 && found + 4 >= least && found <= most + 4, "{found} of {least} to {most}");
}

#[test]
fn auto_stops_the_exact_split_over_its_budget_and_reports_it() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options {
        split: SplitOptions { budget: 1e-9, ..SplitOptions::default() },
        ..Options::default()
    });
    books.split();
    let load = exactop_workloads::workloads::PipePingPong::start(20).expect("ping-pong");
    let mut sampled = false;
    let mut windows = 0;
    books.find("the budget to be felt", |books, window| {
        assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
        let row = process(&books.processes(&window), load.pid()).clone();
        let quality = window.end.provenance.quality(Counter::UserNs);
        sampled |= quality == Quality::Missing;
        if sampled {
            assert_eq!(row.exact_split_ns(), None);
        }
        windows += 1;
        // An emulated machine has no calibration, so the cost is unknown and the split stays on.
        (sampled || crate::emulated() && windows == 5).then_some(())
    });
}

/// A group with a quota of 40 ms in 100 ms, in the hierarchy with the cpu controller.
pub struct QuotaGroup(pub std::path::PathBuf);

impl QuotaGroup {
    pub fn new() -> Option<QuotaGroup> {
        let name = format!("exactop-test-{}", std::process::id());
        let v1 = std::path::Path::new("/sys/fs/cgroup/cpu");
        let v2 = std::path::Path::new("/sys/fs/cgroup");
        let write = |path: std::path::PathBuf, text: &str| fs::write(path, text).ok();
        if v1.join("cpu.cfs_quota_us").exists() || v1.join("cpu.shares").exists() {
            let group = v1.join(name);
            fs::create_dir(&group).ok()?;
            write(group.join("cpu.cfs_period_us"), "100000")?;
            write(group.join("cpu.cfs_quota_us"), "40000")?;
            return Some(QuotaGroup(group));
        }
        let group = v2.join(name);
        fs::create_dir(&group).ok()?;
        write(group.join("cpu.max"), "40000 100000")?;
        Some(QuotaGroup(group))
    }

    /// Sets the quota, in per cent of one CPU.
    pub fn set_quota(&self, percent: u32) {
        let us = percent * 1000;
        let v1 = self.0.join("cpu.cfs_quota_us");
        let written = match v1.exists() {
            true => fs::write(v1, us.to_string()),
            false => fs::write(self.0.join("cpu.max"), format!("{us} 100000")),
        };
        written.expect("the quota is set");
    }

    /// Throttled time of the group over CPUs: ns in v1's cpu.stat, microseconds in v2's.
    pub fn throttled_ns(&self) -> u64 {
        let text = fs::read_to_string(self.0.join("cpu.stat")).expect("cpu.stat");
        let figure = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
            line.and_then(|n| n.parse::<u64>().ok())
        };
        let v1 = figure("throttled_time ");
        v1.or_else(|| figure("throttled_usec ").map(|us| us * 1000)).expect("a figure")
    }

    pub fn add(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).expect("moved");
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        until::removed(&self.0);
    }
}

#[test]
fn a_used_up_quota_counts_as_throttled_time() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = QuotaGroup::new() else {
        eprintln!("left out: no cgroup with a CPU quota can be made here");
        return;
    };
    let spin = exactop_workloads::workloads::Spin::start(1, Some(&[0])).expect("a worker");
    group.add(spin.pid());
    let mut books = Books::open(&exact());
    thread::sleep(Duration::from_millis(200));
    books.close();
    let window = books.window(Duration::from_secs(2));
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    let frame = books.threads(&window);
    let tid = spin.threads()[0];
    let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
    let share = |c| ns(row, c) as f64 / row.life_ns as f64;
    println!(
        "ran {:.3}, throttled {:.3}, waited {:.3}",
        share(Counter::RunNs),
        share(Counter::ThrottleNs),
        share(Counter::LatNs)
    );
    assert!(share(Counter::RunNs) < 0.46, "the quota is 0.4");
    // If other tasks want the CPU, the rest is waiting for it and the quota is never used up.
    if share(Counter::RunNs) > 0.35 && share(Counter::LatNs) < 0.3 {
        assert!(share(Counter::ThrottleNs) > 0.2);
    }
    let taken = row.delta.get(Counter::StealNs).unwrap_or(0) as f64 / row.life_ns as f64;
    assert!(share(Counter::ThrottleNs) + share(Counter::LatNs) + taken > 0.5);
}

/// A task whose quota is refilled may have to wait for another task on its CPU. If the refill is
/// visible (fentry), that time is LAT; else it counts as throttled until the task runs.
#[test]
fn waiting_after_a_seen_refill_is_not_throttled_time() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = QuotaGroup::new() else {
        eprintln!("left out: no cgroup with a CPU quota can be made here");
        return;
    };
    let _hog = exactop_workloads::workloads::Spin::start(2, Some(&[0])).expect("hogs");
    let spin = exactop_workloads::workloads::Spin::start(1, Some(&[0])).expect("a worker");
    group.set_quota(5);
    group.add(spin.pid());
    let mut books = Books::open(&exact());
    let seen = books.ledger.provenance().unthrottle == Quality::Exact;
    // A group that others keep from the CPU uses up no quota, so the machine decides how long it is.
    let throttled = || {
        let begun = group.throttled_ns();
        wait::until("a second of throttling", || group.throttled_ns() >= begun + 1_000_000_000);
    };
    let (window, looks) = books.around(throttled, || group.throttled_ns());
    let (least, most) = (looks.at_least(), looks.at_most());
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    let frame = books.threads(&window);
    let tid = spin.threads()[0];
    let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
    let (thr, lat) = (ns(row, Counter::ThrottleNs), ns(row, Counter::LatNs));
    println!(
        "fentry {seen}: throttled {thr} ns, by cpu.stat {least} to {most} ns, waited {lat} ns"
    );
    assert!(thr > 0 && least > 0, "5 % were allowed");
    if seen {
        // The group's count covers its throttling on that CPU, the ledger's that of the task; a
        // period is 100 ms.
        let margin = 200_000_000 + most / 4;
        assert!(thr + margin > least && thr < most + margin, "{thr} {least} {most}");
    }
}
