//! Sums up all descendants of a process over their whole life. Descent is inherited at birth, so
//! daemonised, double-forked, orphaned and never reaped processes count too.

mod slowest;

use crate::error::SourceError;
use crate::ledger::{Ledger, Options, OWN_TREE};
use crate::procfs::ticks::own_cpu_ns;
use crate::source::{MeasurePolicy, Request, Source, SplitOptions};
use crate::system::SystemReader;
use exactop_model::ledger::audit::Audit;
use exactop_model::ledger::exactness::{RepairedTasks, Repairs, WindowState};
use exactop_model::run::{Slowest, Tree as Totals};
use exactop_model::{AccountId, Book, Books, Comm, Counter, MicroState, Tap, Window};
use rustc_hash::FxHashMap;
use slowest::Watcher;
use std::collections::BTreeMap;
use std::path::Path;

fn add(totals: &mut Totals, repaired: &mut RepairedTasks, window: &Window, tree: u32) {
    for task in window.tasks.iter().filter(|t| t.sample.tree == tree) {
        // The task is new to the source but lived before: its use is unknown and must not make the
        // whole sum unknown.
        if task.delta.get(Counter::RunNs).is_none() {
            totals.exact = false;
            totals.state = WindowState::Inexact;
            totals.late_tasks += 1;
            continue;
        }
        totals.delta.add(&task.delta);
        totals.life_ns += task.life_ns;
    }
    for group in window.exited.iter().filter(|e| e.sample.tree == tree) {
        totals.delta.add(&group.delta);
        totals.life_ns += group.life_ns;
        let name = totals.exited.entry(group.sample.comm).or_default();
        name.processes += group.processes;
        name.run_ns += group.delta.get(Counter::RunNs).unwrap_or(0);
    }
    for cpu in &window.cpus {
        if let (Some(cpus), Some(ns)) = (&mut totals.cpus, cpu.time.watched_ns.filter(|&ns| ns > 0))
        {
            *cpus.entry(cpu.time.cpu).or_default() += ns;
        }
        totals.unnamed_ns += cpu.time.unnamed_ns + cpu.time.no_name_ns;
    }
    for (kind, count) in window.errors.nonzero() {
        totals.errors.add(kind, count);
    }
    let missed = window.missed_switches();
    let state = window.state();
    totals.exact &= state != WindowState::Inexact;
    totals.state = totals.state.max(state);
    totals.residual_ns = totals.residual_ns.saturating_add(residual_ns(window));
    totals.missed_switches = totals.missed_switches.zip(missed).map(|(all, more)| all + more);
    repaired.add(window);
    totals.repaired.add(&Repairs::from_window(window), repaired);
    let tasks = window.tasks.iter().filter(|t| t.sample.tree == tree);
    let exited = window.exited.iter().filter(|e| e.sample.tree == tree);
    totals.audit.add(&Audit::from_deltas(&window.end.provenance, tasks, exited));
}

/// The larger residual of a window: of its books, or of its CPUs.
fn residual_ns(window: &Window) -> u64 {
    let of_cpus = window.cpus.iter().map(|cpu| cpu.residual_ns.unsigned_abs());
    let of_cpus = of_cpus.fold(0, u64::saturating_add);
    Books::from_window(window).residual_ns.unsigned_abs().max(of_cpus)
}

/// A ledger that follows a tree.
pub struct Tree {
    source: Box<dyn Source>,
    tree: u32,
    /// True if the source follows no other tree, so that its CPUs hold the time of this one.
    is_alone: bool,
    book: Book,
    totals: Totals,
    /// Tasks repaired so far, on the whole machine.
    repaired: RepairedTasks,
    /// Use of the tree's living tasks in earlier windows, ns, with their names.
    earlier: FxHashMap<AccountId, (Comm, u64)>,
    /// Listener for single exits, or the reason why it is missing.
    exits: Result<Watcher, String>,
    /// A tap that gets everything, with the machine's values for it.
    tap: Option<(Box<dyn Tap>, SystemReader)>,
}

impl Tree {
    /// Attaches the ledger. With `exact_split` it measures user and system time exactly.
    ///
    /// # Errors
    /// The ledger cannot be opened.
    pub fn open(exact_split: bool, tap: Option<Box<dyn Tap>>) -> Result<Tree, SourceError> {
        let mut ledger = Tree::ledger(exact_split)?;
        ledger.follow_children();
        Tree::begun(Box::new(ledger), OWN_TREE, true, tap)
    }

    /// Uses a source that follows this process's children under this tree number, possibly among
    /// others.
    pub fn on(
        source: Box<dyn Source>,
        tree: u32,
        tap: Option<Box<dyn Tap>>,
    ) -> Result<Tree, SourceError> {
        Tree::begun(source, tree, false, tap)
    }

    fn ledger(exact_split: bool) -> Result<Ledger, SourceError> {
        let split = if exact_split { MeasurePolicy::Always } else { MeasurePolicy::Never };
        let split = SplitOptions { split, irq: MeasurePolicy::Never, ..SplitOptions::default() };
        Ledger::open(&Options { split, calibrate: false, blame: None, ..Options::default() })
    }

    fn begun(
        source: Box<dyn Source>,
        tree: u32,
        is_alone: bool,
        tap: Option<Box<dyn Tap>>,
    ) -> Result<Tree, SourceError> {
        let mut tree = Tree {
            source,
            tree,
            is_alone,
            book: Book::new(),
            totals: Totals::default(),
            repaired: RepairedTasks::default(),
            earlier: FxHashMap::default(),
            exits: Watcher::open(tree),
            tap: tap.map(|tap| (tap, SystemReader::open(Path::new("/proc")))),
        };
        tree.advance()?;
        tree.forget();
        Ok(tree)
    }

    /// Ends a window and adds it up. A window should not be longer than one or two seconds, because
    /// exited groups are kept until their window is read.
    pub fn advance(&mut self) -> Result<(), SourceError> {
        self.end_window(false)
    }

    /// Ends the last window now. A daemon's window otherwise ends at an instant that its readers
    /// share.
    pub fn finish(&mut self) -> Result<(), SourceError> {
        self.end_window(true)?;
        if let (Ok(watcher), Ok(slowest)) = (&mut self.exits, &mut self.totals.slowest) {
            watcher.finish(slowest);
        }
        Ok(())
    }

    fn end_window(&mut self, at_once: bool) -> Result<(), SourceError> {
        // Read right before the snapshot, so that both cover the same window.
        let system = self.tap.as_mut().map(|(_, system)| system.read());
        let mut snapshot = self.source.snapshot(&Request { at_once, ..Request::default() })?;
        if self.source.has_begun_anew() {
            return Err(SourceError::Unavailable {
                what:
                    "the daemon restarted or closed the connection, so the rest of the run is unknown"
                        .into(),
                advice: "run the command again".into(),
            });
        }
        if let (Some((tap, _)), Some(system)) = (&mut self.tap, system) {
            snapshot.system = system;
            snapshot.cost.user_ns = own_cpu_ns();
            tap.snapshot(&snapshot, &self.book);
        }
        if let Some(window) = self.book.advance(snapshot) {
            add(&mut self.totals, &mut self.repaired, &window, self.tree);
            add_sleepers(&mut self.totals, &self.book, &window, self.tree);
            self.remember(&window);
            if let (Ok(watcher), Ok(slowest)) = (&mut self.exits, &mut self.totals.slowest) {
                watcher.window(&window, &self.book, slowest);
            }
        }
        Ok(())
    }

    /// Keeps the earlier use of living tasks. An exited group holds only the use in the window of
    /// the exit; earlier use is added under the name of the process.
    fn remember(&mut self, window: &Window) {
        for task in window.tasks.iter().filter(|t| t.sample.tree == self.tree) {
            let leader = self.book.process(task.sample.key.tgid).and_then(|p| p.leader);
            let leader = leader.and_then(|leader| self.book.task(leader));
            let comm = leader.map_or(task.sample.ident.comm, |leader| leader.ident.comm);
            let (name, run_ns) = self.earlier.entry(task.sample.account).or_insert((comm, 0));
            *name = comm;
            *run_ns += task.delta.get(Counter::RunNs).unwrap_or(0);
        }
        let (book, exited) = (&self.book, &mut self.totals.exited);
        self.earlier.retain(|&account, &mut (comm, run_ns)| {
            let lives = book.task(account).is_some();
            if !lives {
                exited.entry(comm).or_default().run_ns += run_ns;
            }
            lives
        });
    }

    /// Drops all sums so far.
    pub fn begin_again(&mut self) -> Result<(), SourceError> {
        self.end_window(true)?;
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        if let Ok(watcher) = &mut self.exits {
            watcher.begin_again();
        }
        self.totals = self.nothing_yet();
        self.repaired = RepairedTasks::default();
        self.earlier.clear();
    }

    fn nothing_yet(&self) -> Totals {
        let slowest = self.exits.as_ref().map(|_| Slowest::default()).map_err(String::clone);
        let cpus = self.is_alone.then(BTreeMap::new);
        Totals { slowest, cpus, ..Totals::default() }
    }

    /// Sums of the tree up to the last window's end.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// Adds tasks of the tree without an event in the window: each was in its state throughout.
fn add_sleepers(totals: &mut Totals, book: &Book, window: &Window, tree: u32) {
    let changed: std::collections::HashSet<_> =
        window.tasks.iter().map(|t| t.sample.account).collect();
    totals.living = 0;
    for account in book.processes().flat_map(|(_, process)| process.tasks.iter().copied()) {
        let Some(sample) = book.task(account).filter(|sample| sample.tree == tree) else {
            continue;
        };
        // A process that exited and was not reaped does not count as living.
        totals.living += u64::from(sample.state != MicroState::Zombie);
        if changed.contains(&account) {
            continue;
        }
        if let Some(still) = book.still(account, window.t0_ns) {
            totals.delta.add(&still.delta);
            totals.life_ns += still.life_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::{Counters, SourceKind};

    /// Totals of a run with one window, changed by `change`.
    fn totals(change: impl Fn(&mut Window)) -> Totals {
        let (mut window, _) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        window.tasks[2].sample.tree = 1;
        change(&mut window);
        let mut totals = Totals::default();
        add(&mut totals, &mut RepairedTasks::default(), &window, 1);
        totals
    }

    #[test]
    fn the_reason_of_an_inexact_run_is_kept() {
        let fine = totals(|_| ());
        assert!(fine.exact && fine.state == WindowState::Exact && fine.life_ns > 0);
        assert_eq!((fine.residual_ns, fine.late_tasks), (0, 0));
        let open = totals(|window| {
            window.cpus[0].residual_ns = -7;
            window.cpus[1].residual_ns = 5;
        });
        assert_eq!((open.state, open.residual_ns), (WindowState::Inexact, 12));
        let late = totals(|window| window.tasks[2].delta = Counters::unknown());
        // Its use is missing in the books, too.
        assert_eq!((late.state, late.late_tasks), (WindowState::Inexact, 1));
        assert!(!late.exact && late.life_ns == 0);
    }

    #[test]
    fn a_task_repaired_in_every_window_counts_once() {
        let (mut window, _) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        window.tasks[2].audit.as_mut().expect("it is not new").repairs = 1;
        window.repaired_tasks = Some(1);
        let (mut totals, mut repaired) = (Totals::default(), RepairedTasks::default());
        add(&mut totals, &mut repaired, &window, 1);
        add(&mut totals, &mut repaired, &window, 1);
        assert_eq!((totals.state, totals.repaired.tasks), (WindowState::Repaired, Some(1)));
    }
}
