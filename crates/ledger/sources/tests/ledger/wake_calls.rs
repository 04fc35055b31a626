//! Run-queue wait begins at the waking call, not at the end of the wake-up: the interrupt to
//! another CPU and that CPU's exit from idle are wait, not sleep.

use crate::books::Books;
use crate::until;
use exactop_model::ledger::window::{TaskDelta, Window};
use exactop_model::on_demand::switchlog::{SwitchEvent, SwitchEventKind};
use exactop_model::{Counter, ErrorKind};
use exactop_sources::ledger::Options;
use exactop_sources::on_demand::switchlog::{SwitchLog, BUFFER};
use exactop_testkit::wait;
use rustix::time::{clock_gettime, ClockId};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::{Duration, Instant};

fn clock_ns(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The kernel's switches and wake-up calls of one thread: its wait for a CPU in a stretch of time,
/// and the number of calls while it slept.
#[derive(Default)]
struct Witness {
    off: Option<Off>,
    /// True if a call came since it came onto its CPU.
    called: bool,
    waited_ns: u64,
    calls: u64,
}

enum Off {
    Waiting(u64),
    Asleep(u64),
}

impl Witness {
    fn of(tid: u32, events: &[SwitchEvent], from: u64, to: u64) -> Witness {
        let mut witness = Witness::default();
        for event in events {
            witness.take(tid, event, from, to);
        }
        if let Some(Off::Waiting(since)) = witness.off {
            witness.add(since, to, from, to);
        }
        witness
    }

    fn add(&mut self, since: u64, until: u64, from: u64, to: u64) {
        self.waited_ns += until.min(to).saturating_sub(since.max(from));
    }

    fn take(&mut self, tid: u32, event: &SwitchEvent, from: u64, to: u64) {
        match event.what {
            SwitchEventKind::Switch { preempted, state } if event.prev_tid == tid => {
                let runnable = preempted || state == 0;
                let off = if runnable { Off::Waiting } else { Off::Asleep };
                self.off = Some(off(event.at_ns));
            }
            SwitchEventKind::Switch { .. } if event.next_tid == tid => {
                match self.off.take() {
                    // Woken while it was leaving the CPU.
                    Some(Off::Asleep(since)) if self.called => {
                        self.add(since, event.at_ns, from, to);
                    }
                    Some(Off::Waiting(since)) => self.add(since, event.at_ns, from, to),
                    _ => {}
                }
                self.called = false;
            }
            SwitchEventKind::Waking { .. } if event.next_tid == tid => {
                self.called = true;
                if let Some(Off::Asleep(_)) = self.off {
                    self.off = Some(Off::Waiting(event.at_ns));
                    self.calls += u64::from(event.at_ns > from && event.at_ns <= to);
                }
            }
            _ => {}
        }
    }
}

/// Passes on each byte at once.
fn echo(cpu: usize, mut hear: PipeReader, mut say: PipeWriter) {
    pin(cpu);
    let mut byte = [0];
    while hear.read(&mut byte).is_ok_and(|n| n > 0) && say.write_all(&byte).is_ok() {}
}

fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).expect("on one CPU");
}

fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Two threads on two CPUs; between two bytes both CPUs have time to idle.
struct Pair {
    tids: [u32; 2],
    stop: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Pair {
    fn start() -> Pair {
        let (hear_there, mut say_there) = std::io::pipe().expect("a pipe");
        let (mut hear_back, say_back) = std::io::pipe().expect("a pipe");
        let (tell, told) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, tell_2) = (Arc::clone(&stop), tell.clone());
        let caller = thread::spawn(move || {
            pin(0);
            tell.send(tid()).expect("told");
            let mut byte = [b'x'];
            while !stopped.load(Ordering::Relaxed) {
                say_there.write_all(&byte).expect("written");
                assert_eq!(hear_back.read(&mut byte).expect("read"), 1);
                thread::sleep(Duration::from_micros(200));
            }
        });
        let first = told.recv().expect("a tid");
        let other = thread::spawn(move || {
            tell_2.send(tid()).expect("told");
            echo(1, hear_there, say_back);
        });
        let tids = [first, told.recv().expect("a tid")];
        Pair { tids, stop, threads: vec![caller, other] }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn task(window: &Window, tid: u32) -> &TaskDelta {
    window.tasks.iter().find(|t| t.sample.key.tid == tid).expect("it ran")
}

fn ns(task: &TaskDelta, counter: Counter) -> u64 {
    task.delta.get(counter).expect("known")
}

#[test]
fn a_wait_lasts_from_the_waking_call_to_the_cpu() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut log = SwitchLog::open(BUFFER).expect("the switch log");
    let pair = Pair::start();
    let tids = pair.tids;
    let mut events = Vec::new();
    // The log has the events of all tasks, so it is emptied all the time to avoid losses.
    let mut empty = |log: &mut SwitchLog, for_long: Duration| {
        let began = Instant::now();
        loop {
            let some = log.read().expect("events");
            if some.is_empty() && began.elapsed() >= for_long {
                break;
            }
            if some.is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            let of_pair =
                |e: &SwitchEvent| tids.contains(&e.prev_tid) || tids.contains(&e.next_tid);
            events.extend(some.into_iter().filter(of_pair));
        }
    };
    empty(&mut log, Duration::from_millis(100));
    books.close();
    // A machine that switches faster than the log can be read loses events; such a window has no
    // witness.
    let window = wait::find("a window of which the log lost nothing", || {
        let lost = log.lost();
        let slept = |tid: &u32| crate::wakeups::slept_so_far(&format!("/proc/self/task/{tid}"));
        let before: Vec<u64> = tids.iter().map(slept).collect();
        wait::until("round trips", || {
            empty(&mut log, Duration::from_millis(500));
            tids.iter().zip(&before).all(|(tid, before)| slept(tid) >= before + 200)
        });
        let window = books.close().expect("a window is open");
        // Events after the window's end show the waits that were open then.
        empty(&mut log, Duration::from_millis(50));
        (log.lost() == lost).then_some(window)
    });
    log.stop();
    empty(&mut log, Duration::ZERO);
    if window.errors.get(ErrorKind::Late) == 0 {
        assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    }
    // CPUs write one after the other, so the events need sorting.
    events.sort_by_key(|event| event.at_ns);
    // The log's clock continues while the machine is suspended.
    let ahead = clock_ns(ClockId::Boottime) - clock_ns(ClockId::Monotonic);
    let in_log = |ns: u64| ns.saturating_add_signed(ahead);
    for tid in tids {
        let theirs = Witness::of(tid, &events, in_log(window.t0_ns), in_log(window.t1_ns));
        let task = task(&window, tid);
        let ours = ns(task, Counter::LatNs);
        println!(
            "{tid}: waited {ours} ns, by the log {} ns; {} calls, {} wake-ups",
            theirs.waited_ns,
            theirs.calls,
            ns(task, Counter::Wakeups)
        );
        assert!(theirs.calls > 50, "it was woken: {}", theirs.calls);
        // The log's clock is read after the ledger's, at both ends, so the two delays cancel,
        // except for cache misses on a shared machine. A wait that began only at the end of the
        // wake-up would lack the exit from idle, which is ten times as long.
        let reads = if crate::emulated() { 20_000 } else { 5_000 };
        let margin = theirs.calls * reads + theirs.waited_ns / 50;
        assert!(ours.abs_diff(theirs.waited_ns) < margin, "{ours} {}", theirs.waited_ns);
    }
}

/// What two threads know of a waking call: when it began and had returned, and when the woken
/// thread read its clock.
struct Call {
    before: i64,
    returned: i64,
    awake: i64,
}

/// Calls from one CPU to a thread that sleeps on another; each call follows the answer to the last
/// one.
struct Calls {
    /// The woken thread.
    tid: u32,
    go: mpsc::Sender<()>,
    done: mpsc::Receiver<()>,
    caller: thread::JoinHandle<Vec<Call>>,
}

impl Calls {
    fn prepare(count: usize) -> Calls {
        let (mut hear, mut say) = std::io::pipe().expect("a pipe");
        let (tell, told) = mpsc::channel();
        let heard = Arc::new(AtomicUsize::new(0));
        let so_far = Arc::clone(&heard);
        let sleeper = thread::spawn(move || {
            pin(1);
            tell.send(tid()).expect("told");
            let mut awake = Vec::with_capacity(count);
            let mut byte = [0];
            while hear.read(&mut byte).expect("read") > 0 {
                awake.push(clock_ns(ClockId::Monotonic));
                so_far.store(awake.len(), Ordering::Release);
            }
            awake
        });
        let tid = told.recv().expect("a tid");
        let (go, begin) = mpsc::channel();
        let (tell_done, done) = mpsc::channel();
        let caller = thread::spawn(move || {
            pin(0);
            begin.recv().expect("begin");
            let mut called = Vec::with_capacity(count);
            for number in 1..=count {
                let before = clock_ns(ClockId::Monotonic);
                say.write_all(b"x").expect("written");
                called.push((before, clock_ns(ClockId::Monotonic)));
                while heard.load(Ordering::Acquire) < number {
                    thread::sleep(Duration::from_micros(300));
                }
            }
            tell_done.send(()).expect("told");
            begin.recv().expect_err("the end");
            drop(say);
            let awake = sleeper.join().expect("joined");
            let calls = called.into_iter().zip(awake);
            calls.map(|((before, returned), awake)| Call { before, returned, awake }).collect()
        });
        Calls { tid, go, done, caller }
    }
}

/// The wait is at most the time from the begin of the call to the clock read after it. With the
/// thread's run time it is at least the time from the call's return.
#[test]
fn a_woken_thread_measures_the_same_wait() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let calls = Calls::prepare(300);
    until::in_call(std::process::id(), calls.tid, "read");
    books.close();
    calls.go.send(()).expect("begun");
    calls.done.recv().expect("done");
    let window = books.close().expect("a window");
    assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
    drop(calls.go);
    let (mut most, mut least) = (0, 0);
    for call in calls.caller.join().expect("joined") {
        most += call.awake - call.before;
        least += (call.awake - call.returned).max(0);
    }
    let task = task(&window, calls.tid);
    let preempted = ns(task, Counter::LatPreemptNs);
    let waited = (ns(task, Counter::LatNs) - preempted) as i64;
    let taken = task.delta.get(Counter::StealNs).into_iter().sum::<u64>();
    let ran = (ns(task, Counter::RunNs) + preempted + taken) as i64;
    println!("waited {waited} ns of {least}..{most} ns, ran {ran} ns");
    assert!(waited <= most, "{waited} {most}");
    assert!(waited + ran >= least, "{waited} + {ran} {least}");
}
