//! Everything that descends from a process, added up over its whole life: also what was daemonised,
//! double-forked, reaped by nobody, or orphaned, because descent is inherited at birth.

use crate::error::SourceError;
use crate::ledger::{Ledger, Options};
use crate::source::{Request, Source, SplitOptions, When};
use exactop_model::run::Tree as Totals;
use exactop_model::{AccountId, Book, Comm, Counter, MicroState, Needs, Window};
use rustc_hash::FxHashMap;

fn add(totals: &mut Totals, window: &Window) {
    for task in window.tasks.iter().filter(|t| t.sample.followed) {
        // First seen after its first window: what it did is not known, and must not make the whole
        // sum unknown.
        if task.delta.get(Counter::RunNs).is_none() {
            totals.exact = false;
            continue;
        }
        totals.delta.add(&task.delta);
        totals.life_ns += task.life_ns;
    }
    for group in window.exited.iter().filter(|e| e.sample.followed) {
        totals.delta.add(&group.delta);
        totals.life_ns += group.life_ns;
        let name = totals.exited.entry(group.sample.comm).or_default();
        name.processes += group.processes;
        name.run_ns += group.delta.get(Counter::RunNs).unwrap_or(0);
    }
    for cpu in &window.cpus {
        if let Some(ns) = cpu.time.watched_ns.filter(|&ns| ns > 0) {
            *totals.cpus.entry(cpu.time.cpu).or_default() += ns;
        }
        totals.unnamed_ns += cpu.time.unnamed_ns + cpu.time.no_group_ns;
    }
    for (kind, count) in window.errors.nonzero() {
        totals.errors.add(kind, count);
    }
    totals.exact &= window.errors.inexact() == 0 && window.cpus.iter().all(|c| c.residual_ns == 0);
}

/// A ledger that follows a tree.
pub struct Tree {
    ledger: Ledger,
    book: Book,
    request: Request,
    totals: Totals,
    /// What those of the tree who live have used in windows that are over, ns, and their names.
    earlier: FxHashMap<AccountId, (Comm, u64)>,
}

impl Tree {
    /// Attaches the ledger; user time is told from system time exactly if asked.
    ///
    /// # Errors
    /// Why there is no ledger.
    pub fn open(exact_split: bool) -> Result<Tree, SourceError> {
        let split = if exact_split { When::Always } else { When::Never };
        let split = SplitOptions { split, irq: When::Never, ..SplitOptions::default() };
        let ledger = Ledger::open(&Options { split, calibrate: false, ..Options::default() })?;
        let request = Request { needs: Needs::NONE, watch: None };
        let mut tree = Tree {
            ledger,
            book: Book::new(),
            request,
            totals: Totals::default(),
            earlier: FxHashMap::default(),
        };
        tree.ledger.follow_children();
        tree.advance()?;
        Ok(tree)
    }

    /// Ends a window and adds it up. Windows should not be longer than a second or two: groups of
    /// the exited are kept until their window was read.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn advance(&mut self) -> Result<(), SourceError> {
        let snapshot = self.ledger.snapshot(&self.request)?;
        if let Some(window) = self.book.advance(snapshot) {
            add(&mut self.totals, &window);
            add_sleepers(&mut self.totals, &self.book, &window);
            self.remember(&window);
        }
        Ok(())
    }

    /// An exited group holds what its tasks used in the window they died in. What they used before
    /// goes to the name of their process.
    fn remember(&mut self, window: &Window) {
        for task in window.tasks.iter().filter(|t| t.sample.followed) {
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

    /// Forgets what was so far.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn begin_again(&mut self) -> Result<(), SourceError> {
        self.advance()?;
        self.totals = Totals::default();
        self.earlier.clear();
        Ok(())
    }

    /// What the tree did up to the last window's end.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// Tasks of the tree that did nothing in the window were in their state all the while.
fn add_sleepers(totals: &mut Totals, book: &Book, window: &Window) {
    let changed: std::collections::HashSet<_> =
        window.tasks.iter().map(|t| t.sample.account).collect();
    totals.living = 0;
    for account in book.processes().flat_map(|(_, process)| process.tasks.iter().copied()) {
        let Some(sample) = book.task(account).filter(|sample| sample.followed) else { continue };
        // The dead whom nobody has reaped yet live no more.
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
