//! A ledger with its book, and the identities that every window must keep.

use crate::beside_schedstat::{self, Beside};
use exactop_model::window::{TaskDelta, Window};
use exactop_model::{Book, Counter, ErrorKind, Frame, FrameOptions, MicroState, Row, Still};
use exactop_sources::ledger::{Ledger, Options};
use exactop_sources::{Request, Source};
use std::thread::sleep;
use std::time::Duration;

/// A ledger being read.
pub struct Books {
    pub ledger: Ledger,
    pub book: Book,
    request: Request,
    may_be_late: usize,
    /// Everyone's waits against another count, in every window: not where events are lost or an end is late on
    /// purpose, or an emulated CPU is held up between the window's end and the reading.
    beside: Option<Beside>,
}

impl Books {
    /// Opens the ledger and its first window.
    pub fn open(options: &Options) -> Books {
        // Switching the kernel's statistics patches its code, over which an emulated machine can
        // stumble (QEMU runs a stale breakpoint).
        let calibrate = options.calibrate && !crate::emulated();
        // An emulated CPU is held up for milliseconds by whatever else its host does.
        let lead_ns = if crate::emulated() { 5_000_000 } else { options.lead_ns };
        let ledger = Ledger::open(&Options { calibrate, lead_ns, ..options.clone() })
            .unwrap_or_else(|error| {
                panic!("{error} (EXACTOP_NO_LEDGER_TESTS=1 leaves the ledger's tests out)")
            });
        // Each late end is told in the two windows that it parts.
        let may_be_late = if crate::emulated() { 20 } else { 4 };
        let book = Book::new();
        let is_whole = options.lose.is_none() && options.late.is_none();
        let beside = (is_whole && !crate::emulated()).then(Beside::default);
        let request = Request::default();
        let mut books = Books { ledger, book, request, may_be_late, beside };
        assert!(books.close().is_none(), "the first snapshot only opens a window");
        books
    }

    /// Has user and system time measured from the next window on.
    pub fn split(&mut self) {
        self.request.needs = exactop_model::Needs::SPLIT;
    }

    /// Has interrupt time measured, or no longer, from the next window on.
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
        let snapshot = self.ledger.snapshot(&self.request).expect("a snapshot");
        let window = self.book.advance(snapshot)?;
        if let Some(beside) = &mut self.beside {
            let faults = beside_schedstat::faults(&beside.look(&window));
            assert!(faults.is_empty(), "{}", faults.join("\n"));
        }
        Some(window)
    }

    /// A window of about this length. One whose beginning or end was published late, because the hypervisor
    /// took the CPU from the reader just then, says so itself: another is taken, a few times.
    pub fn window(&mut self, length: Duration) -> Window {
        loop {
            sleep(length);
            let window = self.close().expect("a window is open");
            if self.may_be_late == 0 || window.errors.get(ErrorKind::Late) == 0 {
                return window;
            }
            println!("a window was published late and is taken again");
            self.may_be_late -= 1;
        }
    }

    /// Arranged as threads, sleepers too.
    pub fn threads(&self, window: &Window) -> Frame {
        let options = FrameOptions { threads: true, still: Still::All, ..FrameOptions::default() };
        Frame::new(window, &self.book, &options)
    }

    /// Arranged as processes, sleepers too.
    pub fn processes(&self, window: &Window) -> Frame {
        let options = FrameOptions { threads: false, still: Still::All, ..FrameOptions::default() };
        Frame::new(window, &self.book, &options)
    }

    /// Everything that is wrong with a window; empty when the books close.
    pub fn faults(&self, window: &Window) -> Vec<String> {
        let mut faults = Vec::new();
        let frame = self.threads(window);
        if frame.books.residual_ns != 0 {
            faults.push(format!("residual {} in {:?}", frame.books.residual_ns, frame.books));
        }
        for cpu in window.cpus.iter().filter(|c| c.residual_ns != 0) {
            faults.push(format!("cpu{} residual {}", cpu.time.cpu, cpu.residual_ns));
        }
        let told = |kind: ErrorKind| kind == ErrorKind::Recursion && crate::programs_stand_still();
        let wrong = |&(kind, _): &(ErrorKind, u64)| kind.inexact() && !told(kind);
        let errors: Vec<_> = window.errors.nonzero().filter(wrong).collect();
        if !errors.is_empty() {
            faults.push(format!("errors {errors:?}"));
        }
        faults.extend(window.tasks.iter().filter_map(life_fault));
        faults.extend(self.sleepers(window).iter().filter_map(life_fault));
        faults
    }

    /// The tasks that did nothing in the window.
    fn sleepers(&self, window: &Window) -> Vec<TaskDelta> {
        let changed: std::collections::HashSet<_> =
            window.tasks.iter().map(|t| t.sample.account).collect();
        let all = self.book.processes().flat_map(|(_, p)| p.tasks.iter().copied());
        all.filter(|a| !changed.contains(a))
            .filter_map(|a| self.book.still(a, window.t0_ns))
            .collect()
    }
}

/// Identity 2: the sum of a thread's states is the part of its life inside the window.
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
