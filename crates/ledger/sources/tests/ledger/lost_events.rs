//! The ledger loses events, as with a kernel that hides them, and notices each kind in the window
//! of the loss. The books close anyway, so they are no evidence here.

use crate::books::{life_fault, Books};
use exactop_model::blame::Culprit;
use exactop_model::ledger::window::{ExitDelta, Window};
use exactop_model::{Counter, ErrorKind};
use exactop_sources::ledger::{BlameOptions, Loss, LostEvent, Options};
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_testkit::wait;
use exactop_workloads::workloads::{AutoReaped, ExitingThreads, ForkStorm, PipePingPong, Spin};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Result of losing events.
#[derive(Debug, Default)]
struct LossCounts {
    /// Lost events between the begin of the first window and the end of the last one, at least.
    lost: u64,
    lost_at_most: u64,
    noticed: u64,
    /// Windows that surely had a lost event.
    windows: u32,
    noticed_in: u32,
    /// Number of all windows.
    taken: u32,
    /// Switches that the kernel itself hid meanwhile, by a second ledger that loses nothing.
    hidden: u64,
}

/// Number of windows with losses to wait for, fewer for rare events. Also the most windows in all.
const ENOUGH: u32 = 15;
const ENOUGH_OF_THE_RARE: u32 = 3;
const AT_MOST: u32 = 200;
/// An emulated machine needs a minute for each test, so it runs one of them, or all with
/// `EXACTOP_TEST_ALL_LOSSES`.
const ON_AN_EMULATED_MACHINE: Loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 1 };
/// Time at the end of a window in which a lost event may show only in the next one.
const TAIL: Duration = Duration::from_millis(30);

fn is_left_out(loss: Loss) -> bool {
    let all = std::env::var_os("EXACTOP_TEST_ALL_LOSSES").is_some();
    crate::emulated() && !all && loss != ON_AN_EMULATED_MACHINE
}

/// True for events with only some thousand occurrences a second: one in ten thousand takes a while.
fn is_rare(loss: Loss) -> bool {
    let are_many = matches!(loss.event, LostEvent::Switch | LostEvent::Wakeup);
    loss.one_in >= 1_000 && (crate::emulated() || !are_many)
}

/// The smaller rate of losses. An emulated machine has a hundred births a second, so one in ten
/// thousand would take an hour.
fn few() -> u32 {
    if crate::emulated() {
        1_000
    } else {
        10_000
    }
}

fn losing(loss: Loss) -> Options {
    let irq = match loss.event {
        LostEvent::Interrupt => MeasurePolicy::Always,
        _ => MeasurePolicy::Never,
    };
    let split = SplitOptions { irq, ..SplitOptions::default() };
    Options { lose: Some(loss), split, ..Options::default() }
}

/// Number of windows with a loss to wait for.
fn enough(loss: Loss) -> u32 {
    match (is_rare(loss), crate::emulated()) {
        (true, _) => ENOUGH_OF_THE_RARE,
        (false, true) => ENOUGH / 3,
        (false, false) => ENOUGH,
    }
}

/// Loses events and counts the windows that noticed it; `None` if the test is left out.
fn lose(loss: Loss, noticed: impl Fn(&Window) -> u64) -> Option<LossCounts> {
    if is_left_out(loss) {
        eprintln!("left out on an emulated machine: {loss:?}");
        return None;
    }
    let mut books = Books::open(&losing(loss));
    // Opened before the load, because the kernel needs seconds for attaching on a busy machine.
    let load = loads(loss);
    let _ = rustix::process::setpriority_process(None, -19);
    let enough = enough(loss);
    let mut whole = Books::open(&Options::default());
    let _ = whole.close();
    let mut seen = LossCounts::default();
    let earliest = books.ledger.lost_on_purpose();
    let _ = books.close();
    let begin = books.ledger.lost_on_purpose();
    for _ in 0..AT_MOST {
        let before = books.ledger.lost_on_purpose();
        match loss.one_in >= 1_000 {
            true => wait::until("a loss", || books.ledger.lost_on_purpose() > before),
            false => std::thread::sleep(TAIL),
        }
        let certain = books.ledger.lost_on_purpose() - before;
        // A lost event shows when its task runs again, which may take long if four storms use the
        // CPUs.
        std::thread::sleep(if is_rare(loss) { TAIL * 10 } else { TAIL });
        seen.lost = books.ledger.lost_on_purpose() - begin;
        let window = books.close().expect("a window is open");
        seen.lost_at_most = books.ledger.lost_on_purpose() - earliest;
        seen.taken += 1;
        let found = noticed(&window);
        seen.noticed += found;
        if certain > 0 && seen.windows < enough {
            seen.windows += 1;
            seen.noticed_in += u32::from(found > 0);
        }
        closes_all_the_same(&books, &window, loss);
        if seen.windows >= enough {
            break;
        }
    }
    seen.hidden = of_cpus(&whole.close().expect("a window is open"));
    catch_up(&mut books, &mut seen, earliest, noticed);
    println!("{loss:?}: {seen:?}");
    assert_eq!(seen.windows, enough, "{loss:?}: too little was lost");
    drop(load);
    Some(seen)
}

/// Except in a window that says that its reader was late.
fn closes_all_the_same(books: &Books, window: &Window, loss: Loss) {
    if window.errors.get(ErrorKind::Late) > 0 {
        return;
    }
    let frame = books.threads(window);
    assert!(window.cpus.iter().all(|cpu| cpu.residual_ns == 0), "{loss:?}");
    assert_eq!(frame.books.residual_ns, 0, "{loss:?}: {:?}", frame.books);
    let faults: Vec<_> = window.tasks.iter().filter_map(life_fault).collect();
    assert!(faults.is_empty(), "{loss:?}: {faults:?}");
}

/// A lost exit shows at the task's last switch, and other tasks may run until then. In the end all
/// losses are noticed.
fn catch_up(
    books: &mut Books,
    seen: &mut LossCounts,
    earliest: u64,
    noticed: impl Fn(&Window) -> u64,
) {
    for _ in 0..20 {
        if seen.noticed >= seen.lost {
            return;
        }
        std::thread::sleep(TAIL);
        seen.noticed += noticed(&books.close().expect("a window is open"));
        seen.lost_at_most = books.ledger.lost_on_purpose() - earliest;
        seen.taken += 1;
    }
}

fn kind(kind: ErrorKind) -> impl Fn(&Window) -> u64 {
    move |window| window.errors.get(kind)
}

fn of_cpus(window: &Window) -> u64 {
    let missed = |cpu: &exactop_model::ledger::window::CpuDelta| cpu.time.missed_switches;
    window.cpus.iter().map(|cpu| missed(cpu).expect("this kernel has the witness")).sum()
}

/// Births and exits are frequent enough for one loss in ten thousand only if most processes execute
/// no program, and if nothing else uses the CPUs.
fn loads(loss: Loss) -> impl Sized {
    let is_of_lives = matches!(loss.event, LostEvent::Birth | LostEvent::Exit);
    let switches = !(is_of_lives && is_rare(loss));
    let brief = || AutoReaped::start(8, Duration::from_micros(10)).expect("brief processes");
    (
        ForkStorm::start(1).expect("a fork storm"),
        (!switches).then(brief),
        switches.then(|| PipePingPong::start(40).expect("ping-pong")),
        switches.then(|| ExitingThreads::start(1).expect("exits")),
    )
}

/// Checks that each lost switch is noticed in its window, and that all are counted.
fn switches_are_missed(one_in: u32, in_a_row: u32) {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in, in_a_row };
    let Some(seen) = lose(loss, of_cpus) else { return };
    assert_eq!(seen.noticed_in, seen.windows, "{seen:?}");
    assert!(seen.noticed >= seen.lost, "{seen:?}");
    if crate::emulated() {
        return; // between the count and the window's end there are many more
    }
    // Some of the switches that the kernel hid may be ones that the ledger would have lost.
    let most = seen.lost_at_most + 2 * seen.hidden + u64::from(seen.taken);
    assert!(seen.noticed <= most, "{seen:?}");
}

#[test]
fn one_switch_in_ten() {
    switches_are_missed(10, 1);
}

#[test]
fn one_switch_in_ten_thousand() {
    switches_are_missed(10_000, 1);
}

#[test]
fn a_pair_of_switches_in_twenty() {
    switches_are_missed(20, 2);
}

#[test]
fn a_pair_of_switches_in_ten_thousand() {
    switches_are_missed(10_000, 2);
}

fn events_are_missed(event: LostEvent, told_as: ErrorKind, rates: [u32; 2]) {
    let Some(_machine) = crate::machine() else { return };
    for one_in in rates {
        let loss = Loss { event, one_in, in_a_row: 1 };
        let Some(seen) = lose(loss, kind(told_as)) else { continue };
        // A loss shows when the task runs again, which may take a while on a busy machine. A lost
        // wake-up of a task that was just leaving its CPU makes no difference and is never noticed.
        // With rare losses it may be the only one of a window.
        let unseen = seen.windows / if one_in >= 1_000 { 3 } else { 5 };
        assert!(seen.noticed_in + unseen >= seen.windows, "{event:?}: {seen:?}");
        assert!(seen.noticed + 10 >= seen.lost - seen.lost / 10, "{event:?}: {seen:?}");
    }
}

#[test]
fn wakeups() {
    events_are_missed(LostEvent::Wakeup, ErrorKind::LostWakeup, [10, 10_000]);
}

#[test]
fn births() {
    let fields =
        exactop_sources::probe::probe().get("fields").expect("doctor's word").loses.clone();
    // On kernels where a task gets a slot only at its birth, its time is unnamed until the window
    // ends.
    let unnamed = fields.contains("the kernel did not show when they were born");
    let told_as = if unnamed { ErrorKind::NoStorage } else { ErrorKind::UnseenBirth };
    events_are_missed(LostEvent::Birth, told_as, [10, few()]);
}

/// A descendant of a followed process is followed, even if its birth or its parent's switch was
/// hidden.
fn the_tree_holds_together(event: LostEvent, one_in: u32) {
    let Some(_machine) = crate::machine() else { return };
    let lose = Some(Loss { event, one_in, in_a_row: 1 });
    let mut books = Books::open(&Options { lose, ..Options::default() });
    books.ledger.follow_children();
    let storm = ForkStorm::start(1).expect("a fork storm");
    if crate::emulated() {
        // Before 6.4 a task without a seen birth gets a slot at the next window's end.
        books.window(Duration::from_millis(100));
        books.window(Duration::from_millis(100));
    }
    let begin = books.ledger.lost_on_purpose();
    let (mut exited, mut strangers) = (0, 0);
    books.find("exits in the tree, and losses", |books, window| {
        let is_ours = |group: &&ExitDelta| {
            group.sample.ancestors.iter().any(|ancestor| storm.pids().contains(&ancestor.tgid))
        };
        for group in window.exited.iter().filter(is_ours) {
            exited += group.processes;
            strangers += if group.sample.tree != 0 { 0 } else { group.processes };
        }
        let lost = books.ledger.lost_on_purpose() - begin;
        (exited >= 200 && lost >= 20).then_some(())
    });
    println!("{event:?}: {strangers} of {exited} not followed");
    assert_eq!(strangers, 0, "{event:?}: of {exited} that exited in the tree");
}

#[test]
fn a_followed_tree_without_births() {
    the_tree_holds_together(LostEvent::Birth, 2);
}

#[test]
fn a_followed_tree_without_switches() {
    the_tree_holds_together(LostEvent::Switch, 10);
}

#[test]
fn exits() {
    events_are_missed(LostEvent::Exit, ErrorKind::UnseenExit, [10, few()]);
}

#[test]
fn interrupts() {
    events_are_missed(LostEvent::Interrupt, ErrorKind::UnseenIrq, [10, few()]);
}

/// Threads that sleep most of the time.
struct Sleeping {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    tids: Vec<u32>,
}

impl Sleeping {
    fn start(number: usize) -> Sleeping {
        let (end, (sender, tids)) = (Arc::new(AtomicBool::new(false)), channel());
        let run = || {
            let (end, sender) = (Arc::clone(&end), sender.clone());
            std::thread::spawn(move || {
                sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("sent");
                while !end.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(200));
                }
            })
        };
        let threads = (0..number).map(|_| run()).collect();
        let tids = tids.iter().take(number).collect();
        Sleeping { end, threads, tids }
    }

    /// The kernel's count of their waits for a CPU, ns.
    fn waited_ns(&self) -> u64 {
        let path = |tid| format!("/proc/self/task/{tid}/schedstat");
        let text = |tid| std::fs::read_to_string(path(tid)).expect("it lives");
        let waited = |tid| text(tid).split(' ').nth(1).and_then(|ns| ns.parse::<u64>().ok());
        self.tids.iter().map(|&tid| waited(tid).expect("a number")).sum()
    }

    /// Our count in a window, ns.
    fn waited_in(&self, books: &Books, window: &Window) -> u64 {
        let throughout = books.book.waited_throughout(window);
        let tasks = window.tasks.iter().chain(&throughout);
        let ours = tasks.filter(|task| self.tids.contains(&task.sample.key.tid));
        ours.map(|task| task.delta.get(Counter::LatNs).expect("waits are measured")).sum()
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        self.end.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().expect("it ends"));
    }
}

/// A task that came onto a CPU and left it unseen waited until then, not until its next event,
/// whether that comes in the same window or not.
#[test]
fn a_task_that_left_its_cpu_unseen_sleeps() {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 2 };
    let mut books = Books::open(&losing(loss));
    let sleeping = Sleeping::start(40);
    books.window(Duration::from_millis(300));
    for (length_ms, windows) in [(100, 20), (700, 3)] {
        let (before_ns, mut waited_ns, mut lived_ns) = (sleeping.waited_ns(), 0, 0);
        for _ in 0..windows {
            let window = books.window(Duration::from_millis(length_ms));
            waited_ns += sleeping.waited_in(&books, &window);
            lived_ns += window.length_ns() * sleeping.tids.len() as u64;
            closes_all_the_same(&books, &window, loss);
        }
        let kernel_ns = sleeping.waited_ns() - before_ns;
        let told = format!("{length_ms} ms: {waited_ns} ns, kernel {kernel_ns}, of {lived_ns}");
        println!("{told}");
        assert!(waited_ns.abs_diff(kernel_ns) < lived_ns / 50, "{told}");
    }
}

/// Nothing tells for which CPU that wait was: it has no culprit, and is no part of the next wait.
#[test]
fn a_wait_that_ended_unseen_has_no_culprit() {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 2 };
    let blame = Some(BlameOptions::default());
    let mut books = Books::open(&Options { blame, ..losing(loss) });
    let _busy = Spin::start(4, None).expect("busy threads");
    let _sleeping = Sleeping::start(40);
    let (mut ended_ns, mut older_ns) = (0, 0);
    wait::until("waits that ended unseen", || {
        let window = books.window(Duration::from_millis(200));
        let blame = window.blame.as_ref().expect("a book");
        let older = blame.pairs.iter().filter(|((_, culprit), _)| *culprit == Culprit::Older);
        older_ns += older.map(|(_, booked)| booked.ns).sum::<u64>();
        ended_ns += window.repaired_wait_ns.expect("repairs are counted");
        ended_ns > 2_000_000_000
    });
    let told = format!("{older_ns} ns without a culprit, {ended_ns} ended unseen");
    println!("{told}");
    assert!(older_ns > ended_ns / 4, "{told}");
}

/// A lost switch belongs to a task, whose own counts show it.
#[test]
fn tasks_know_which_switches_were_missed() {
    let Some(_machine) = crate::machine() else { return };
    let loss = Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 1 };
    let of_tasks = |window: &Window| -> u64 {
        let missed = Counter::MissedSwitches;
        let live = window.tasks.iter().filter_map(|t| t.delta.get(missed));
        live.chain(window.exited.iter().filter_map(|e| e.delta.get(missed))).sum()
    };
    let Some(seen) = lose(loss, of_tasks) else { return };
    assert_eq!(seen.noticed_in, seen.windows, "{seen:?}");
    // Switches of idle CPUs belong to no task.
    assert!(seen.noticed * 4 > seen.lost, "{seen:?}");
}
