//! Checks that hold for every window of every history.

use super::machine::{letter, Machine, CPUS};
use exactop_model::frame::Activity;
use exactop_model::ledger::joined::Joined;
use exactop_model::ledger::merged::Merged;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::ledger::window::Census;
use exactop_model::words::books::{Account, BooksText};
use exactop_model::{
    Book, Counter, Frame, FrameOptions, IdleRows, MicroState, Row, RowKind, Window,
};
use std::collections::BTreeMap;

/// Books of one machine: one gets complete snapshots, the other only changes.
pub struct Books {
    pub complete: Book,
    pub changes: Book,
    joined: [Joined; 2],
    /// The book of a reader that reads once in `JOINED` windows.
    merged: (Merged, Book),
    closed: u64,
}

/// Number of windows that are joined to one.
const JOINED: u64 = 3;

/// One window in all its arrangements.
pub struct Closed {
    pub window: Window,
    pub threads: Frame,
    pub processes: Frame,
}

impl Books {
    pub fn new() -> Books {
        let (complete, changes) = (Book::new(), Book::new());
        let merged = (Merged::new(), Book::new());
        Books { complete, changes, joined: Default::default(), merged, closed: 0 }
    }

    /// Closes a window in all books and checks it; `None` for the first snapshot.
    pub fn close(&mut self, machine: &mut Machine) -> Option<Closed> {
        let told = machine.close();
        self.joined[0].before(&told.complete, &self.complete);
        self.joined[1].before(&told.changes, &self.changes);
        self.merged.0.add(told.changes.clone());
        if self.changes.at_ns().is_none() {
            self.merged.1.advance(self.merged.0.take().expect("one was added"));
        }
        let complete = self.complete.advance(told.complete);
        let changes = self.changes.advance(told.changes);
        census(machine, &self.complete);
        census(machine, &self.changes);
        let (complete, window) = (complete?, changes?);
        let [threads, processes] = [true, false].map(|threads| {
            let options = FrameOptions { threads, still: IdleRows::All, ..FrameOptions::default() };
            let theirs = comparable(Frame::new(&complete, &self.complete, &options));
            let frame = comparable(Frame::new(&window, &self.changes, &options));
            same(&frame, &theirs);
            frame
        });
        books(&threads);
        books(&processes);
        headed(&processes);
        lives(&threads);
        children(machine, &processes);
        children(machine, &threads);
        self.join(complete, window.clone());
        Some(Closed { window, threads, processes })
    }

    /// Joins windows and checks the sum: its books close, and each task's states sum to its life.
    fn join(&mut self, complete: Window, changes: Window) {
        self.joined[0].add(complete, &self.complete);
        self.joined[1].add(changes, &self.changes);
        self.closed += 1;
        if !self.closed.is_multiple_of(JOINED) {
            return;
        }
        let sums = std::mem::take(&mut self.joined).map(|joined| joined.window().expect("windows"));
        let [complete, changes] = sums;
        let merged = self.merged.0.take().expect("some were added");
        assert_eq!(self.merged.0.take(), None, "nothing was added since");
        let merged = self.merged.1.advance(merged).expect("the book was open");
        for threads in [true, false] {
            let options = FrameOptions { threads, still: IdleRows::All, ..FrameOptions::default() };
            let theirs = comparable(Frame::new(&complete, &self.complete, &options));
            let frame = comparable(Frame::new(&changes, &self.changes, &options));
            same(&frame, &theirs);
            let merged = comparable(Frame::new(&merged, &self.merged.1, &options));
            same(&merged, &frame);
            books(&merged);
            books(&frame);
            match threads {
                true => lives(&frame),
                false => headed(&frame),
            }
        }
    }
}

/// Complete snapshots and changes give the same rows.
fn same(frame: &Frame, theirs: &Frame) {
    for (ours, theirs) in frame.rows.iter().zip(&theirs.rows) {
        assert_eq!(ours, theirs);
    }
    for (ours, theirs) in frame.exited.iter().zip(&theirs.exited) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(frame, theirs);
}

/// Makes frames comparable: rows have no order, and a process may show any of its threads that are
/// equally near to a CPU.
fn comparable(mut frame: Frame) -> Frame {
    for row in frame.rows.iter_mut().filter(|r| r.kind == RowKind::Process) {
        row.doing = Activity::default();
    }
    frame.rows.sort_by_key(|r| (r.kind, r.key, r.account));
    frame.exited.sort_by_key(|r| (r.ident.ppid, r.ident.comm, r.exited_processes, r.life_ns));
    frame
}

fn run_ns(row: &Row) -> u64 {
    row.delta.get(Counter::RunNs).expect("run_ns")
}

/// Identity 3, and the rows as the summands of the books.
fn books(frame: &Frame) {
    let b = &frame.books;
    assert_eq!(b.total_ns, CPUS as u64 * frame.length_ns());
    assert_eq!(b.residual_ns, 0, "{b:?}");
    assert!(frame.exact);
    let rows: u64 = frame.rows.iter().map(run_ns).sum();
    let exited: u64 = frame.exited.iter().map(run_ns).sum();
    assert_eq!(rows + exited, b.tasks_ns + b.exited_ns, "{b:?}");
    assert_eq!(b.tasks_ns + b.exited_ns + b.idle_ns + b.irq_ns.unwrap_or(0), b.total_ns);
}

/// Identity 2: the states of a thread sum to its life in the window, with or without an event.
fn lives(frame: &Frame) {
    for row in frame.rows.iter().chain(&frame.exited) {
        assert_eq!(row.delta.states_ns(), Some(row.life_ns), "{row:?}");
        assert!(row.kind == RowKind::Exited || row.life_ns <= frame.length_ns());
        assert!(row.letter != 'Z' || row.life_ns == 0);
    }
}

fn counted(letters: impl Iterator<Item = char>) -> Census {
    let mut census = Census::default();
    for letter in letters {
        census.total += 1;
        match letter {
            'R' => census.running += 1,
            'D' => census.blocked += 1,
            'T' => census.stopped += 1,
            'Z' => census.zombie += 1,
            _ => census.sleeping += 1,
        }
    }
    census
}

/// The header agrees with the rows: the states, and the CPU time of living and of exited rows.
fn headed(processes: &Frame) {
    assert_eq!(processes.processes, counted(processes.rows.iter().map(|row| row.letter)));
    let rows: u64 = processes.rows.iter().map(run_ns).sum();
    let exited: u64 = processes.exited.iter().map(run_ns).sum();
    let b = &processes.books;
    assert_eq!(rows, b.tasks_ns + processes.exited_in_rows_ns);
    assert_eq!(exited, b.exited_ns - processes.exited_in_rows_ns);
    let told = BooksText::new(processes, false).expect("a window with a length");
    for (account, ns) in [(Account::Tasks, rows), (Account::Exited, exited)] {
        let shown = told.parts.iter().find(|(of, _)| *of == account).and_then(|(_, n)| *n);
        let exact = ns as f64 * 10_000.0 / processes.length_ns() as f64;
        assert!(shown.is_some_and(|n| (n as f64 - exact).abs() < 1.0), "{shown:?} {exact}");
    }
}

/// Compares the census with a count of all tasks.
fn census(machine: &Machine, book: &Book) {
    let letters = || machine.tasks.values().map(|t| (t.key, letter(t.state)));
    assert_eq!(book.census(), counted(letters().map(|(_, letter)| letter)));
    let runs = |tgid| letters().any(|(key, letter)| key.tgid == tgid && letter == 'R');
    // A reused number belongs to its present process.
    let leaders: BTreeMap<u32, char> = letters()
        .filter(|(key, _)| key.is_leader())
        .map(|(key, letter)| ((key.tgid, key.start_ns), letter))
        .collect::<BTreeMap<_, _>>()
        .into_iter()
        .map(|((tgid, _), letter)| (tgid, if runs(tgid) { 'R' } else { letter }))
        .collect();
    assert_eq!(book.process_census(), counted(leaders.into_values()));
    for (tgid, entry) in book.processes() {
        let threads = machine.tasks.values().filter(|t| t.key.tgid == tgid).count();
        assert_eq!(entry.tasks.len(), threads, "process {tgid}");
    }
}

/// CPU+: each exited task counts once, under its nearest living ancestor. Exited threads of a
/// living process are part of the process.
fn children(machine: &Machine, frame: &Frame) {
    let lives = |p: &ProcessRef| {
        let leader = machine.leader(p.tgid);
        leader.is_some_and(|(_, t)| t.key.start_ns == p.start_ns)
    };
    let mut wanted: BTreeMap<u32, u64> = BTreeMap::new();
    for gone in &machine.exits.closed {
        if gone.of.tgid != 0 && lives(&gone.of) {
            continue;
        }
        let ancestor = gone.ancestors.iter().take_while(|a| a.tgid != 0).find(|a| lives(a));
        let ns = |counter| gone.did.get(counter).expect("known");
        // Unless the whole window measured interrupts, they are a part of what they interrupted.
        let irq_ns = if frame.books.irq_ns.is_some() { 0 } else { ns(Counter::IrqNs) };
        *wanted.entry(ancestor.map_or(0, |a| a.tgid)).or_default() += ns(Counter::RunNs) + irq_ns;
    }
    for row in frame.rows.iter().filter(|r| r.key.is_leader()) {
        let children = row.children.and_then(|c| c.get(Counter::RunNs));
        let theirs = wanted.get(&row.key.tgid).copied().unwrap_or(0);
        assert_eq!(children, Some(theirs), "children of {:?}", row.key);
    }
    let zombies = machine.tasks.values().filter(|t| t.state == MicroState::Zombie).count();
    assert_eq!(frame.tasks.zombie as usize, zombies);
}
