//! A ledger with its book, and checks of the identities that every window keeps.

use crate::beside_schedstat::{self, Beside};
use exactop_model::ledger::window::{TaskDelta, Window};
use exactop_model::{Book, Counter, ErrorKind, Frame, FrameOptions, IdleRows, MicroState, Row};
use exactop_sources::ledger::{Ledger, Options};
use exactop_sources::{Request, Source};
use std::cell::Cell;
use std::thread::sleep;
use std::time::Duration;

/// No task has more ticks than the window, also if its account begins in it and the task lived
/// before. A hypervisor that stops a CPU may delay the ticks of the window before, which lasted
/// `before_ns`.
fn has_ticks_of_the_window(task: &TaskDelta, length_ns: u64, before_ns: u64) {
    let ns = |counter| task.delta.get(counter).unwrap_or(0);
    let ticks_ns = ns(Counter::UtimeNs) + ns(Counter::StimeNs);
    let most_ns = length_ns + before_ns.max(length_ns) + 100_000_000;
    assert!(ticks_ns <= most_ns, "{ticks_ns} in {length_ns} after {before_ns}: {task:?}");
}

/// A ledger and its reader.
pub struct Books {
    pub ledger: Ledger,
    pub book: Book,
    request: Request,
    /// Length of the last window; 0: there was none.
    before_ns: u64,
    may_be_late: Cell<usize>,
    /// Comparison of all waits with another count in every window. Not used if events are lost or
    /// an end is late on purpose, or on an emulated machine.
    beside: Option<Beside>,
}

impl Books {
    /// Opens the ledger and its first window.
    pub fn open(options: &Options) -> Books {
        // Turning on the kernel's statistics patches its code, which an emulated machine may fail
        // at (QEMU runs a stale breakpoint).
        let calibrate = options.calibrate && !crate::emulated();
        // The host of an emulated machine may stop a CPU for milliseconds.
        let lead_ns = if crate::emulated() { 5_000_000 } else { options.lead_ns };
        let ledger = Ledger::open(&Options { calibrate, lead_ns, ..options.clone() })
            .unwrap_or_else(|error| {
                panic!("{error} (EXACTOP_NO_LEDGER_TESTS=1 leaves the ledger's tests out)")
            });
        // A late end marks the two windows on either side of it.
        let may_be_late = Cell::new(if crate::emulated() { 20 } else { 4 });
        let book = Book::new();
        let is_whole = options.lose.is_none() && options.late.is_none();
        let beside = (is_whole && !crate::emulated()).then(Beside::default);
        let request = Request::default();
        let mut books = Books { ledger, book, request, before_ns: 0, may_be_late, beside };
        assert!(books.close().is_none(), "the first snapshot only opens a window");
        books
    }

    /// Measures user and system time from the next window on.
    pub fn split(&mut self) {
        self.request.needs = exactop_model::Needs::SPLIT;
    }

    /// Starts or stops measuring interrupt time from the next window on.
    pub fn interrupts(&mut self, measure: bool) {
        use exactop_model::Needs;
        self.request.needs = if measure { Needs::INTERRUPTS } else { Needs::NONE };
    }

    /// Counts this process's time on each CPU from the next window on.
    pub fn watch(&mut self, tgid: u32) {
        self.request.watch = Some(tgid);
    }

    /// Closes the window.
    pub fn close(&mut self) -> Option<Window> {
        let window = self.end()?;
        self.hold_beside(&window);
        Some(window)
    }

    fn end(&mut self) -> Option<Window> {
        let snapshot = self.ledger.snapshot(&self.request).expect("a snapshot");
        let window = self.book.advance(snapshot)?;
        let length_ns = window.length_ns();
        let before_ns = std::mem::replace(&mut self.before_ns, length_ns);
        window.tasks.iter().for_each(|task| has_ticks_of_the_window(task, length_ns, before_ns));
        Some(window)
    }

    fn hold_beside(&mut self, window: &Window) {
        if let Some(beside) = &mut self.beside {
            let faults = beside_schedstat::faults(&beside.look(window));
            assert!(faults.is_empty(), "{}", faults.join("\n"));
        }
    }

    /// A window of about this length. A window with a late beginning or end, because a hypervisor
    /// stopped the reader, marks itself; then another is taken, a few times.
    pub fn window(&mut self, length: Duration) -> Window {
        loop {
            sleep(length);
            let window = self.close().expect("a window is open");
            if !self.is_forgiven(&window) {
                return window;
            }
        }
    }

    /// True if a window was late and marks itself, a few times; such a window is not checked
    /// further.
    fn is_forgiven(&self, window: &Window) -> bool {
        let left = self.may_be_late.get();
        let is_late = left > 0 && window.errors.get(ErrorKind::Late) > 0;
        if is_late {
            println!("a window was published late");
            self.may_be_late.set(left - 1);
        }
        is_late
    }

    /// A window of about this length, with readings of a kernel's count just before and just after
    /// each end. The count in the window is at least the difference of the inner readings and at
    /// most that of the outer ones. The time that a reading takes does not matter.
    pub fn between<T>(&mut self, length: Duration, look: impl Fn() -> T) -> (Window, Looks<T>) {
        self.around(|| sleep(length), look)
    }

    /// Same, for a window that ends after `pause`.
    pub fn around<T>(&mut self, pause: impl Fn(), look: impl Fn() -> T) -> (Window, Looks<T>) {
        loop {
            let before = look();
            let first = self.end().expect("a window is open");
            let begun = look();
            self.hold_beside(&first);
            pause();
            let ending = look();
            let window = self.end().expect("a window is open");
            let looks = Looks { before, begun, ending, after: look() };
            self.hold_beside(&window);
            if !self.is_forgiven(&window) {
                return (window, looks);
            }
        }
    }

    /// Closes short windows until one shows something, however long that takes on a busy machine.
    /// No window is left out, so that `look` can sum figures that occur once.
    #[track_caller]
    pub fn find<T>(&mut self, what: &str, mut look: impl FnMut(&Books, Window) -> Option<T>) -> T {
        exactop_testkit::wait::find(what, || {
            sleep(Duration::from_millis(50));
            let window = self.close().expect("a window is open");
            look(self, window)
        })
    }

    /// The frame by threads, with sleeping tasks.
    pub fn threads(&self, window: &Window) -> Frame {
        let options =
            FrameOptions { threads: true, still: IdleRows::All, ..FrameOptions::default() };
        Frame::new(window, &self.book, &options)
    }

    /// The frame by processes, with sleeping tasks.
    pub fn processes(&self, window: &Window) -> Frame {
        let options =
            FrameOptions { threads: false, still: IdleRows::All, ..FrameOptions::default() };
        Frame::new(window, &self.book, &options)
    }

    /// All faults of a window; empty if the books close or the window is marked late.
    pub fn faults(&self, window: &Window) -> Vec<String> {
        if self.is_forgiven(window) {
            return Vec::new();
        }
        let mut faults = Vec::new();
        let frame = self.threads(window);
        if frame.books.residual_ns != 0 {
            faults.push(format!("residual {} in {:?}", frame.books.residual_ns, frame.books));
        }
        for cpu in window.cpus.iter().filter(|c| c.residual_ns != 0) {
            faults.push(format!("cpu{} residual {}", cpu.time.cpu, cpu.residual_ns));
        }
        // A kernel may hide a switch in the context of a task that it protects. On a CPU that
        // seemed idle nothing shows what ran there, and the window says so. This is no fault while
        // it happens once in a thousand switches.
        let switches = window.cpus.iter().filter_map(|cpu| cpu.time.switches).sum::<u64>();
        let told = |kind: ErrorKind, n: u64| match kind {
            ErrorKind::Recursion => crate::programs_stand_still(),
            ErrorKind::MissedSwitch => n <= 1 + switches / 1000,
            _ => false,
        };
        let wrong = |&(kind, n): &(ErrorKind, u64)| kind.inexact() && !told(kind, n);
        let errors: Vec<_> = window.errors.nonzero().filter(wrong).collect();
        if !errors.is_empty() {
            faults.push(format!("errors {errors:?}"));
        }
        faults.extend(window.tasks.iter().filter_map(life_fault));
        faults.extend(self.sleepers(window).iter().filter_map(life_fault));
        faults
    }

    /// The tasks without an event in the window.
    fn sleepers(&self, window: &Window) -> Vec<TaskDelta> {
        let changed: std::collections::HashSet<_> =
            window.tasks.iter().map(|t| t.sample.account).collect();
        let all = self.book.processes().flat_map(|(_, p)| p.tasks.iter().copied());
        all.filter(|a| !changed.contains(a))
            .filter_map(|a| self.book.still(a, window.t0_ns))
            .collect()
    }
}

/// Readings of a figure around and inside a window.
pub struct Looks<T> {
    pub before: T,
    pub begun: T,
    pub ending: T,
    pub after: T,
}

impl Looks<u64> {
    /// Least increase inside the window.
    pub fn at_least(&self) -> u64 {
        self.ending - self.begun
    }

    /// Largest increase inside the window.
    pub fn at_most(&self) -> u64 {
        self.after - self.before
    }
}

/// Identity 2: the states of a thread sum to its life inside the window.
pub fn life_fault(task: &TaskDelta) -> Option<String> {
    if task.sample.state == MicroState::Zombie {
        return None;
    }
    let sum = task.delta.states_ns();
    (sum != Some(task.life_ns)).then(|| {
        format!(
            "{:?} {:?}: states sum to {sum:?}, life {} ns, {:?}",
            task.sample.key, task.sample.ident.comm, task.life_ns, task.delta
        )
    })
}

/// The row of a process.
pub fn process(frame: &Frame, tgid: u32) -> &Row {
    frame
        .rows
        .iter()
        .find(|r| r.key.tgid == tgid)
        .unwrap_or_else(|| panic!("no row for process {tgid}"))
}

/// CPU time of a row, ns.
pub fn run_ns(row: &Row) -> u64 {
    row.delta.get(Counter::RunNs).expect("run_ns is known")
}
