//! Tests of the audit: the ledger's figures of each task against the kernel's counts.

use crate::beside_schedstat::{self, Apart, Beside};
use crate::books::Books;
use exactop_model::ledger::window::{TaskDelta, Window};
use exactop_model::{AccountId, Counter};
use exactop_sources::ledger::{Loss, LostEvent, Options};
use exactop_workloads::workloads::{ExitingThreads, ForkStorm, PipePingPong, Spin};
use rustix::process::{kill_process, wait, Pid, Signal, WaitOptions};
use rustix::time::{clock_gettime, ClockId};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn loads() -> impl Sized {
    (
        Spin::start(3, None).expect("spinners"),
        PipePingPong::start(20).expect("ping-pong"),
        ForkStorm::start(1).expect("a fork storm"),
        ExitingThreads::start(1).expect("exits"),
    )
}

/// Tasks without a repair in this window and the one before; a repair may leave a difference in the
/// others.
#[derive(Default)]
struct RepairedTasks {
    repaired: HashSet<AccountId>,
}

impl RepairedTasks {
    fn whole<'a>(&mut self, window: &'a Window) -> Vec<&'a TaskDelta> {
        let hidden = |t: &&TaskDelta| {
            let missed = t.delta.get(Counter::MissedSwitches) != Some(0);
            missed || t.audit.is_none_or(|audit| audit.repairs > 0)
        };
        let now: HashSet<_> =
            window.tasks.iter().filter(hidden).map(|t| t.sample.account).collect();
        let before = std::mem::replace(&mut self.repaired, now);
        let whole = |t: &&TaskDelta| {
            let account = t.sample.account;
            !before.contains(&account) && !self.repaired.contains(&account)
        };
        window.tasks.iter().filter(whole).collect()
    }
}

/// Largest difference of a wait, with a twentieth of the window. While a task moves between run
/// queues it is in none for a moment, which a hypervisor may prolong.
const MOVED_NS: u64 = 1_000_000;
/// Number of tasks to compare, and most windows until then.
const ENOUGH: u32 = 500;
const AT_MOST: usize = 200;

#[test]
fn without_missed_events_the_ledger_equals_the_kernels_counts() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let _loads = loads();
    let (mut seen, mut beside, mut faults) =
        (RepairedTasks::default(), Beside::default(), Vec::new());
    let (mut audited, mut run_off, mut lat_off) = (0, 0, 0);
    let (mut bias_ns, mut windows) = (0, 0);
    books.window(Duration::from_millis(100)); // in this window accounts begin
    while windows < 20 || (audited < ENOUGH && windows < AT_MOST) {
        windows += 1;
        let window = books.window(Duration::from_millis(100));
        if !crate::emulated() {
            faults.extend(beside_schedstat::faults(&beside.look(&window)));
        }
        let held = window.audit.run.zip(window.audit.lat);
        let (run, lat) = held.expect("this kernel counts both");
        assert!(run.max_ns <= run.sum_ns && lat.max_ns <= lat.sum_ns);
        bias_ns += run.bias_ns;
        for task in seen.whole(&window) {
            let audit = task.audit.expect("its account is not new");
            let most = MOVED_NS + window.length_ns() / 20;
            audited += 1;
            run_off += u32::from(audit.run.error_ns != 0);
            lat_off += u32::from(audit.lat.error_ns.unsigned_abs() > most);
        }
    }
    println!(
        "{windows} windows: {audited} audited, run time of {run_off} off, waits of {lat_off}; \
         bias {bias_ns} ns"
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(audited >= ENOUGH, "something ran: {audited}");
    assert!(bias_ns > 0, "the kernel's stamps come before ours");
    assert!(run_off * 50 <= audited, "{run_off} of {audited}: the rest to the nanosecond");
    assert!(lat_off * 50 <= audited, "{lat_off} of {audited}");
}

#[test]
fn lost_events_show_in_the_audit_of_their_task() {
    let Some(_machine) = crate::machine() else { return };
    if crate::emulated() {
        eprintln!("left out: emulated");
        return;
    }
    let loss = Loss { event: LostEvent::Switch, one_in: 50, in_a_row: 2 };
    let mut books = Books::open(&Options { lose: Some(loss), ..Options::default() });
    let _loads = loads();
    let (mut windows, mut noticed) = (0, 0);
    for _ in 0..20 {
        let lost = books.ledger.lost_on_purpose();
        let window = books.window(Duration::from_millis(100));
        let held = window.audit.run.zip(window.audit.lat);
        let (run, lat) = held.expect("this kernel counts both");
        assert!(run.worst.is_some() == (run.max_ns > 0), "{run:?}");
        assert!(lat.worst.is_some() == (lat.max_ns > 0), "{lat:?}");
        // The last lost event of a window may show in the next.
        if books.ledger.lost_on_purpose() - lost < 10 {
            continue;
        }
        windows += 1;
        noticed += u32::from(run.sum_ns > 0);
        assert!(window.repaired_tasks > Some(0), "some are repaired in each: {window:?}");
        let of_tasks = window.tasks.iter().filter_map(|t| t.audit).map(|audit| audit.repairs);
        let frame = books.threads(&window);
        let shown = frame.rows.iter().filter_map(|row| row.repairs);
        assert_eq!(of_tasks.sum::<u64>(), shown.sum::<u64>(), "the rows have the repaired tasks");
    }
    println!("{noticed} of {windows} windows");
    assert!(windows > 0 && noticed == windows, "{noticed} of {windows}");
}

/// Threads that send bursts of messages to each other, as hackbench does: a CPU without work often
/// finds a task that waits at another CPU.
struct Messages {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Messages {
    fn start(groups: u64) -> Messages {
        let stop = Arc::new(AtomicBool::new(false));
        let groups = (0..groups).flat_map(|group| Messages::group(group, &stop));
        Messages { threads: groups.collect(), stop }
    }

    /// As many senders as receivers; each receiver gets messages from all senders.
    fn group(group: u64, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
        let pairs = (0..10).map(|_| UnixStream::pair().expect("a pair"));
        let (to, from): (Vec<_>, Vec<_>) = pairs.unzip();
        let to = Arc::new(to);
        let receive = |mut from: UnixStream| {
            std::thread::spawn(move || {
                let mut message = [0; 100];
                while from.read(&mut message).is_ok_and(|n| n > 0) {}
            })
        };
        let send = |sender: u64| {
            let (to, until) = (Arc::clone(&to), Arc::clone(stop));
            std::thread::spawn(move || {
                while !until.load(Ordering::Relaxed) {
                    for mut to in (0..20).flat_map(|_| to.iter()) {
                        to.write_all(&[0; 100]).expect("the receiver stays");
                    }
                    std::thread::sleep(Duration::from_millis(1 + (group + sender) % 5));
                }
            })
        };
        from.into_iter().map(receive).chain((0..10).map(send)).collect()
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Linux 6.12 to 6.18 moves the time of its last count (`exec_start`) of a task that goes to sleep,
/// if its CPU finds another task meanwhile. The test looks only at its own threads: the kernel may
/// hide the events of others.
#[test]
fn the_kernels_search_for_another_task_is_no_error() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let _messages = Messages::start(3);
    let (mut seen, mut audited, mut windows) = (RepairedTasks::default(), 0, 0);
    while windows < 80 || (audited < ENOUGH && windows < AT_MOST) {
        windows += 1;
        let window = books.window(Duration::from_millis(100));
        let own = |task: &&TaskDelta| task.sample.key.tgid == std::process::id();
        for task in seen.whole(&window).into_iter().filter(own) {
            audited += 1;
            let run = task.audit.expect("its account is not new").run;
            assert_eq!(run.error_ns, 0, "{:?} of {task:?}", run);
        }
    }
    println!("{windows} windows: {audited} audited");
    assert!(audited >= ENOUGH, "something ran: {audited}");
}

/// A process that waits for any of many children, some of which stop and continue all the time. It
/// checks all of them in the state of a sleeper, so it is often woken while it is on a CPU.
struct Children {
    all: Vec<Child>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Children {
    fn start() -> Children {
        let sleeper = |_| Command::new("sleep").arg("1000").spawn().expect("a sleeper");
        let all: Vec<Child> = (0..200).map(sleeper).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let (until, some) = (Arc::clone(&stop), all.iter().rev().take(8).map(Pid::from_child));
        let some: Vec<Pid> = some.collect();
        let signals = std::thread::spawn(move || {
            for &child in some.iter().cycle().take_while(|_| !until.load(Ordering::Relaxed)) {
                let _ = kill_process(child, Signal::STOP);
                let _ = kill_process(child, Signal::CONT);
            }
        });
        let told = WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        // Until no child is left.
        let waits = std::thread::spawn(move || while wait(told).is_ok() {});
        Children { all, stop, threads: vec![signals, waits] }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.all.iter_mut().for_each(|child| drop(child.kill()));
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// A task may come onto a CPU unseen and be woken there, after the kernel dropped the time at which
/// it was queued.
#[test]
fn a_waits_difference_never_exceeds_the_time_since_the_first_event() {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 1 };
    let opened_ns = now_ns();
    let mut books = Books::open(&Options { lose: Some(loss), ..Options::default() });
    let _children = Children::start();
    let (mut audited, mut worst_ns) = (0, 0);
    for _ in 0..20 {
        let window = books.window(Duration::from_millis(100));
        for task in &window.tasks {
            // An existing task is first seen when the ledger opens.
            let known_ns = window.t1_ns - opened_ns;
            let lat = task.sample.audit.lat;
            for off_ns in [lat.error_ns, lat.bias_ns].map(i64::unsigned_abs) {
                audited += 1;
                worst_ns = worst_ns.max(off_ns);
                assert!(off_ns <= known_ns, "{off_ns} of {known_ns} ns: {:?}", task.sample);
            }
        }
    }
    println!("{audited} figures, the largest {worst_ns} ns");
    assert!(audited > 100);
}

/// Number and length (ms) of the windows in the test below; these variables change them.
fn how_many(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(typed) => typed.parse().unwrap_or_else(|e| panic!("{variable}={typed}: {e}")),
        Err(_) => otherwise,
    }
}

/// Every window, whatever the machine does. Tasks that were put on a CPU between a window's end and
/// the reading are left out, and so are tasks with a missed or repaired event. The figures of the
/// others are printed and compared with a large margin: a hypervisor may stop a CPU while a task
/// moves.
#[test]
fn no_wait_differs_without_a_missed_or_repaired_event() {
    let Some(_machine) = crate::machine() else { return };
    if crate::emulated() {
        eprintln!("left out: emulated");
        return;
    }
    let windows = how_many("EXACTOP_TEST_WINDOWS", 10);
    let length = Duration::from_millis(how_many("EXACTOP_TEST_WINDOW_MS", 200));
    let mut books = Books::open(&Options::default());
    let mut beside = Beside::default();
    let all: Vec<Apart> = (0..windows).flat_map(|_| beside.look(&books.window(length))).collect();
    let told = all.iter().filter(|apart| apart.told).count();
    let measured: Vec<&Apart> = all.iter().filter(|apart| !apart.told).collect();
    let off = measured.iter().filter(|apart| apart.apart_ns >= 1_000_000).count();
    let worst = measured.iter().max_by_key(|apart| apart.apart_ns);
    println!(
        "{windows} windows of {length:?}: {} compared; {told} in windows that reported something, \
         of the {} others {off} off by 1 ms or more; the largest: {worst:?}",
        all.len(),
        measured.len(),
    );
    let faults = beside_schedstat::faults(&all);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    if measured.len() < 50 {
        println!("not measured: events were hidden, or all tasks ran before their file was read");
        return;
    }
    // The delay of the reading is no difference.
    let far = |apart: &&&Apart| apart.apart_ns >= 1_000_000 + apart.late_ns;
    let off = measured.iter().filter(far).count();
    assert!(off * 20 <= measured.len(), "{off} of {}: {worst:?}", measured.len());
}
