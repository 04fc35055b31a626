//! A window arranged for a view: rows ([`crate::frame::row`]) for tasks or processes, exited
//! groups, CPUs and the books.

pub mod belonging;
pub mod holdings;
pub mod named_sums;
pub mod row;
pub mod unlisted;
pub mod value;

use crate::cgroups::Groups;
use crate::findings::culprits::culprits;
use crate::findings::{self, Behind, Finding};
use crate::frame::named_sums::NamedSums;
pub use crate::frame::row::{Activity, Detail, Row, RowKind};
use crate::ledger::audit::Audit;
use crate::ledger::book::{Book, ProcessEntry};
pub use crate::ledger::books::Books;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::errors::ErrorCounts;
pub use crate::ledger::exactness::{Repairs, WindowState};
use crate::ledger::key::{AccountId, Ident, TaskKey};
use crate::ledger::provenance::{Provenance, Quality, SourceKind};
use crate::ledger::snapshot::{CostSample, ExitSample, ProcessRef};
use crate::ledger::system::{StatTicks, System};
use crate::ledger::window::{Census, CpuDelta, ExitDelta, TaskDelta, Window};
use crate::on_demand::SubjectWindows;
use crate::owner::{Grouping, Owner};
use rustc_hash::{FxHashMap, FxHashSet};

/// The figures of one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuRow {
    /// Where the CPU's time went.
    pub account: CpuDelta,
    /// The kernel's tick counts of this CPU, if read.
    pub ticks: Option<StatTicks>,
}

/// Everything that a view shows of one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Start of the window, CLOCK_MONOTONIC ns, exclusive.
    pub t0_ns: u64,
    /// End of the window, CLOCK_MONOTONIC ns, inclusive.
    pub t1_ns: u64,
    /// The balance of the window.
    pub books: Books,
    /// True for a window that is exact or repaired: residual 0, every missed event repaired, and a
    /// source that does not sample.
    pub exact: bool,
    /// The exactness of the window in three steps.
    pub state: WindowState,
    /// Context switches that the kernel counted but hid; `None` if the source lacks the kernel's
    /// count.
    pub missed_switches: Option<u64>,
    /// What was repaired in the window.
    pub repaired: Repairs,
    /// Differences between the tasks' run times and waits and the kernel's own counts.
    pub audit: Audit,
    /// Missed and impossible events in the window.
    pub errors: ErrorCounts,
    /// CPUs that were online.
    pub cpus: Vec<CpuRow>,
    /// The process whose time on each CPU is in the CPU rows; 0: the trees that the session
    /// follows.
    pub watch: Option<u32>,
    /// Tasks or processes, in no order.
    pub rows: Vec<Row>,
    /// Exited groups, merged by nearest living ancestor, comm and cgroup.
    pub exited: Vec<Row>,
    /// Time of the books' tasks and exited tasks that no row had, ns; it is a row of its own
    /// ([`unlisted`]). Below 0: more than one row had the time. Not 0: a fault in exactop, and the
    /// window is inexact.
    pub unlisted_ns: i64,
    /// Time of threads that exited in the window and is part of their living process's row, ns. The
    /// books count it as exited tasks.
    pub exited_in_rows_ns: u64,
    /// Processes by the state letter of their rows.
    pub processes: Census,
    /// Tasks by state.
    pub tasks: Census,
    /// Tasks born in the window, if known.
    pub born: Option<u64>,
    /// Processes that exited in the window, if known.
    pub died: Option<u64>,
    /// The kernel's tick counts over the window.
    pub ticks: Option<StatTicks>,
    /// The machine at the window's end.
    pub system: System,
    /// What measuring cost in the window.
    pub cost: CostSample,
    /// The source and the quality of its figures.
    pub provenance: Provenance,
    /// Windows of the watched process by subject, if the view asks for them. The first is complete
    /// one window after the watch begins; until then an earlier one may stand here.
    pub subjects: SubjectWindows,
    /// Control groups, if the view asks for them, or the reason why they are missing. The first
    /// window of groups is complete one window after the first request; until then an earlier one
    /// may stand here.
    pub groups: Option<Result<Groups, String>>,
    /// Totals, if the view asks for them ([`FrameOptions::by`]).
    pub sums: Option<NamedSums>,
    /// Findings of the window, the worst first, if the view asks for them.
    pub findings: Vec<Finding>,
    /// True if the source kept the blame book.
    pub keeps_blame: bool,
    /// Who had the CPU while tasks of the process [`FrameOptions::threads_of`] waited, the worst
    /// first; other processes with its name, user, session and control group included.
    pub kept_off: Vec<Behind>,
}

impl Frame {
    /// Length of the window, ns.
    pub fn length_ns(&self) -> u64 {
        self.t1_ns - self.t0_ns
    }

    /// True for figures since boot. They are not from a measured window.
    pub fn is_since_boot(&self) -> bool {
        self.t0_ns == 0
    }

    /// The residual, ns: the CPUs' time minus the sum of all accounts. `None` for figures since
    /// boot: there, ticks and clock differ without an error (suspend, CPUs that came online later).
    pub fn residual_ns(&self) -> Option<i64> {
        (!self.is_since_boot()).then_some(self.books.residual_ns)
    }

    /// End of the window on the clock of start times (CLOCK_BOOTTIME), ns.
    pub fn boottime_ns(&self) -> Option<u64> {
        self.system.boottime_ns()
    }

    /// True if the source can measure user and system time at the system calls but did not in this
    /// window. User and system time then come from the tick-sampled ratio.
    pub fn split_is_sampled(&self) -> bool {
        let exact_source = self.provenance.source == SourceKind::Ledger;
        exact_source && self.provenance.quality(Counter::UserNs) == Quality::Missing
    }
}

/// Which tasks that did nothing in the window get a row.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub enum IdleRows {
    /// No task.
    #[default]
    Hide,
    /// At most this number, lowest PIDs first, to fill a screen.
    Some(usize),
    All,
}

impl IdleRows {
    /// Most rows for tasks that did nothing.
    fn most(&self) -> usize {
        match self {
            IdleRows::Hide => 0,
            IdleRows::Some(n) => *n,
            IdleRows::All => usize::MAX,
        }
    }
}

/// How to arrange a window.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FrameOptions {
    /// One row for each thread instead of each process.
    pub threads: bool,
    /// Rows for tasks that did nothing.
    pub still: IdleRows,
    /// Also make one row for each thread of this process, still threads included, for the process's
    /// page. These additional rows have the kind `Task`.
    pub threads_of: Option<u32>,
    /// Also make totals by this key. Each row of an exited group then has one owner.
    pub by: Option<Grouping>,
    /// Also look for findings.
    pub findings: bool,
}

impl Frame {
    /// Arranges a window. `book` yielded the window and has not advanced since.
    pub fn new(window: &Window, book: &Book, options: &FrameOptions) -> Frame {
        let source = window.end.provenance.source;
        let sees_exits = source.sees_exits();
        let childless = sees_exits.then(|| nothing_yet(&window.end.provenance));
        let mut builder = Builder {
            window,
            book,
            childless,
            rows: Vec::new(),
            at: FxHashMap::default(),
            in_rows: FxHashSet::default(),
            by: options.by,
            still: Vec::new(),
        };
        if options.threads {
            builder.thread_rows(&options.still);
        } else {
            builder.process_rows(&options.still);
        }
        let mut exited = builder.exited_rows();
        builder.credit_parents(&exited);
        let books = Books::from_window(window);
        let unlisted_ns = unlisted::unlisted_ns(&books, builder.rows.iter().chain(&exited));
        // In every build with assertions, so in every test.
        debug_assert_eq!(unlisted_ns, 0, "the rows of a window and its books: {books:?}");
        exited.extend(unlisted::row(unlisted_ns));
        if !options.threads {
            builder.page_rows(options.threads_of);
        }
        let exited_in_rows_ns = builder.exited_in_rows_ns();
        let rows = builder.rows;
        let state = match unlisted_ns {
            0 => WindowState::from_window(window, &books),
            _ => WindowState::Inexact,
        };
        Frame {
            t0_ns: window.t0_ns,
            t1_ns: window.t1_ns,
            exact: state != WindowState::Inexact,
            state,
            missed_switches: window.missed_switches(),
            repaired: Repairs::from_window(window),
            audit: window.audit,
            books,
            errors: window.errors,
            cpus: cpu_rows(window),
            watch: window.end.watch,
            rows,
            unlisted_ns,
            exited_in_rows_ns,
            died: sees_exits.then(|| died(window)),
            exited,
            processes: book.process_census(),
            tasks: book.census(),
            subjects: SubjectWindows::default(),
            groups: None,
            sums: options.by.map(|by| NamedSums::from_window(window, book, by)),
            findings: if options.findings { findings::find(window, book) } else { Vec::new() },
            keeps_blame: window.blame.is_some(),
            kept_off: options.threads_of.map_or(Vec::new(), |pid| kept_off(window, book, pid)),
            born: window.born,
            ticks: window.ticks,
            system: window.end.system.clone(),
            cost: window.cost,
            provenance: window.end.provenance.clone(),
        }
    }
}

/// Who had the CPU while tasks of this process's party waited.
fn kept_off(window: &Window, book: &Book, pid: u32) -> Vec<Behind> {
    let leader = book.process(pid).and_then(|process| book.task(process.head()?));
    let Some((leader, blame)) = leader.zip(window.blame.as_ref()) else { return Vec::new() };
    culprits(blame, |party| party.is_of(&leader.ident), book)
}

struct Builder<'a> {
    window: &'a Window,
    book: &'a Book,
    /// The `children` counters of a row without exited children: zero if the source sees exits,
    /// else `None`.
    childless: Option<Counters>,
    rows: Vec<Row>,
    /// Index into `rows` by tgid: the process's row, or its leader's in the threads view.
    at: FxHashMap<u32, usize>,
    /// Indices of the window's exited groups that are part of their process's row.
    in_rows: FxHashSet<usize>,
    /// Key of the totals.
    by: Option<Grouping>,
    /// Memory for the still threads of one process at a time: with ten thousand idle processes,
    /// each would allocate a kilobyte.
    still: Vec<TaskDelta>,
}

/// Counters that are zero where the source measures them and unknown elsewhere.
fn nothing_yet(provenance: &Provenance) -> Counters {
    let mut zero = Counters::zero();
    for &counter in Counter::ALL {
        let measured = provenance.quality(counter) != Quality::Missing;
        if !measured && !provenance.source.keeps_books() {
            zero.forget(counter);
        }
    }
    zero
}

impl Builder<'_> {
    /// False for recordings of a version that did not count repairs.
    fn counts_repairs(&self) -> bool {
        self.window.end.provenance.source.keeps_books() && self.window.repaired_tasks.is_some()
    }

    fn row(&self, kind: RowKind, task: &TaskDelta) -> Row {
        Row {
            kind,
            account: Some(task.sample.account),
            key: task.sample.key,
            ident: task.sample.ident,
            exited_uid: None,
            letter: task.sample.letter,
            doing: Activity::from_task(task),
            last_cpu: task.sample.last_cpu,
            threads: task.sample.threads.or(Some(1)),
            exited_processes: 0,
            exited_tasks: 0,
            repairs: task.audit.filter(|_| self.counts_repairs()).map(|audit| audit.repairs),
            life_ns: task.life_ns,
            delta: task.delta,
            total: task.sample.counters,
            children: self.childless,
            detail: Detail::default(),
        }
    }

    /// The delta of a task without an event in the window.
    fn still(&self, account: AccountId) -> Option<TaskDelta> {
        self.book.still_in(account, self.window)
    }

    fn thread_rows(&mut self, still: &IdleRows) {
        let mut seen = FxHashSet::default();
        for task in &self.window.tasks {
            seen.insert(task.sample.account);
            self.push(RowKind::Task, task);
        }
        let accounts = self.book.processes().flat_map(|(_, p)| p.tasks.iter().copied());
        self.still_rows(RowKind::Task, accounts, still, |a| seen.contains(&a));
    }

    fn push(&mut self, kind: RowKind, task: &TaskDelta) {
        if task.sample.key.is_leader() {
            self.at.insert(task.sample.key.tgid, self.rows.len());
        }
        let row = self.row(kind, task);
        self.rows.push(row);
    }

    /// Makes rows for tasks that did nothing, lowest PIDs first. It reads only the needed part of
    /// `accounts`, which may have tens of thousands.
    fn still_rows(
        &mut self,
        kind: RowKind,
        accounts: impl Iterator<Item = AccountId>,
        still: &IdleRows,
        seen: impl Fn(AccountId) -> bool,
    ) {
        for account in accounts.filter(|&a| !seen(a)).take(still.most()) {
            let task = self.book.task(account).copied();
            match (kind, task) {
                (RowKind::Process, Some(task)) => self.process_row(task.key.tgid, &[]),
                _ => {
                    if let Some(task) = self.still(account) {
                        self.push(kind, &task);
                    }
                }
            }
        }
    }

    fn process_rows(&mut self, still: &IdleRows) {
        let mut changed: FxHashMap<u32, Vec<&TaskDelta>> = FxHashMap::default();
        for task in &self.window.tasks {
            changed.entry(task.sample.key.tgid).or_default().push(task);
        }
        // Rows are large: a vector that grows would keep two copies of them.
        let all = self.book.processes().size_hint().0;
        self.rows.reserve(changed.len() + still.most().min(all));
        for (tgid, tasks) in &changed {
            self.process_row(*tgid, tasks);
        }
        let leaders = self.book.processes().filter_map(|(_, p)| p.leader);
        let book = self.book;
        self.still_rows(RowKind::Process, leaders, still, |a| {
            book.task(a).is_some_and(|t| changed.contains_key(&t.key.tgid))
        });
        let window = self.window;
        for (at, exit) in window.exited.iter().enumerate() {
            if exit.sample.of.tgid != 0 && self.add_exited_threads(exit) {
                self.in_rows.insert(at);
            }
        }
    }

    /// Makes one row for a process from its changed threads and, from the book, its still ones.
    fn process_row(&mut self, tgid: u32, changed: &[&TaskDelta]) {
        let entry = self.book.process(tgid);
        let accounts = entry.iter().flat_map(|entry| &entry.tasks);
        let mut still = std::mem::take(&mut self.still);
        still.clear();
        let accounts = accounts.filter(|&&a| !changed.iter().any(|t| t.sample.account == a));
        still.extend(accounts.filter_map(|&a| self.still(a)));
        let all = || changed.iter().copied().chain(still.iter());
        let head = entry.and_then(ProcessEntry::head);
        let is_head = |task: &&TaskDelta| Some(task.sample.account) == head;
        let leader = all().find(|task| task.sample.key.is_leader());
        let head = leader.or_else(|| all().find(is_head)).or_else(|| all().next());
        let Some(head) = head else { return };
        let mut row = self.row(RowKind::Process, head);
        if leader.is_none() {
            row.ident.comm = self.book.leader(&head.sample).ident.comm;
        }
        row.threads =
            head.sample.threads.or(Some(all().map(|task| task.sample.threads.unwrap_or(1)).sum()));
        for task in all().filter(|task| !std::ptr::eq(*task, head)) {
            add(&mut row.delta, &task.delta);
            row.total.add(&task.sample.counters);
            row.life_ns += task.life_ns;
            row.repairs = both(row.repairs, task.audit.map(|audit| audit.repairs));
            if task.sample.letter == 'R' {
                row.letter = 'R';
            }
            if Activity::from_task(task).nearness() > row.doing.nearness() {
                row.doing = Activity::from_task(task);
            }
        }
        self.at.insert(tgid, self.rows.len());
        self.rows.push(row);
        self.still = still;
    }

    /// Adds threads that exited to the row of their living process. Returns false if the process
    /// has no row.
    fn add_exited_threads(&mut self, exit: &ExitDelta) -> bool {
        if !self.lives(exit.sample.of) {
            return false;
        }
        let tgid = exit.sample.of.tgid;
        if !self.at.contains_key(&tgid) {
            self.process_row(tgid, &[]);
        }
        let Some(&at) = self.at.get(&tgid) else { return false };
        let row = &mut self.rows[at];
        add(&mut row.delta, &exit.delta);
        row.total.add(&exit.delta);
        row.life_ns += exit.life_ns;
        row.exited_tasks += exit.tasks;
        row.repairs = both(row.repairs, Some(exit.audit.repaired));
        true
    }

    fn exited_in_rows_ns(&self) -> u64 {
        let in_rows = self.in_rows.iter().map(|&at| &self.window.exited[at]);
        in_rows.filter_map(|exit| exit.delta.get(Counter::RunNs)).sum()
    }

    fn page_rows(&mut self, tgid: Option<u32>) {
        let Some(entry) = tgid.and_then(|tgid| self.book.process(tgid)) else { return };
        for &account in &entry.tasks {
            let changed = self.window.tasks.iter().find(|t| t.sample.account == account);
            let task = changed.copied().or_else(|| self.still(account));
            if let Some(task) = task {
                let row = self.row(RowKind::Task, &task);
                self.rows.push(row);
            }
        }
    }

    fn lives(&self, process: ProcessRef) -> bool {
        let leader = self.book.process(process.tgid).and_then(|p| p.leader);
        leader.and_then(|a| self.book.task(a)).is_some_and(|t| t.key.start_ns == process.start_ns)
    }

    /// The nearest living ancestor; 0 if none lives.
    fn living_ancestor(&self, exit: &ExitSample) -> u32 {
        exit.ancestors.iter().find(|a| a.tgid != 0 && self.lives(**a)).map_or(0, |a| a.tgid)
    }

    /// Exited groups merged by nearest living ancestor, comm, cgroup, user and owner under the key
    /// of the totals, without those that are part of their process's row. In the threads view,
    /// exited threads of a living process get a row below it.
    fn exited_rows(&self) -> Vec<Row> {
        let mut merged: FxHashMap<_, Row> = FxHashMap::default();
        let exited = self.window.exited.iter().enumerate();
        for (_, exit) in exited.filter(|(at, _)| !self.in_rows.contains(at)) {
            let s = &exit.sample;
            let threads_only = s.of.tgid != 0 && self.lives(s.of);
            let ppid = if threads_only { s.of.tgid } else { self.living_ancestor(s) };
            let owner = self.by.map(|by| Owner::of_exit(by, s, self.book));
            let key = (ppid, threads_only, s.comm, s.cgroup_id, s.uid, owner);
            let row = merged.entry(key).or_insert_with(|| {
                let repairs = self.counts_repairs().then_some(0);
                Row { repairs, ..exited_row(s, ppid, threads_only) }
            });
            row.exited_processes += exit.processes;
            row.exited_tasks += exit.tasks;
            row.repairs = both(row.repairs, Some(exit.audit.repaired));
            row.life_ns += exit.life_ns;
            add(&mut row.delta, &exit.delta);
            row.total.add(&exit.delta);
        }
        merged.into_values().collect()
    }

    /// Adds each exited group to the row of its nearest living ancestor (column CPU+).
    fn credit_parents(&mut self, exited: &[Row]) {
        // Exited threads of a living process are not its descendants.
        for exit in exited.iter().filter(|e| e.key.tgid == 0 && e.ident.ppid != 0) {
            if !self.at.contains_key(&exit.ident.ppid) {
                self.still_parent(exit.ident.ppid);
            }
            let Some(&at) = self.at.get(&exit.ident.ppid) else { continue };
            if let Some(children) = &mut self.rows[at].children {
                children.add(&exit.delta);
            }
        }
    }

    /// Makes a row for a parent that did nothing itself but whose children exited.
    fn still_parent(&mut self, tgid: u32) {
        let as_threads = self.rows.first().is_some_and(|r| r.kind == RowKind::Task);
        if !as_threads {
            return self.process_row(tgid, &[]);
        }
        let leader = self.book.process(tgid).and_then(|p| p.leader);
        let task = leader.and_then(|a| self.still(a));
        if let Some(task) = task {
            self.push(RowKind::Task, &task);
        }
    }
}

/// Adds counters to a row's counters. A counter that is unknown on either side becomes unknown. The
/// time on CPUs is an exception: the books have the known part under the row and the rest as
/// unnamed.
fn add(row: &mut Counters, other: &Counters) {
    let run = [&*row, other].into_iter().filter_map(|counters| counters.get(Counter::RunNs));
    let run = run.reduce(u64::wrapping_add);
    row.add(other);
    if let Some(run) = run {
        row.set(Counter::RunNs, run);
    }
}

fn exited_row(sample: &ExitSample, ppid: u32, threads_only: bool) -> Row {
    let mut delta = Counters::zero();
    delta.forget(Counter::RunNs);
    Row {
        kind: RowKind::Exited,
        account: None,
        key: TaskKey { tgid: if threads_only { ppid } else { 0 }, ..TaskKey::default() },
        ident: Ident {
            ppid,
            comm: sample.comm,
            session: sample.session,
            cgroup_id: sample.cgroup_id,
            ..Ident::default()
        },
        exited_uid: sample.uid,
        letter: 'X',
        doing: Activity::default(),
        last_cpu: None,
        threads: Some(0),
        exited_processes: 0,
        exited_tasks: 0,
        repairs: None,
        life_ns: 0,
        delta,
        total: Counters::zero(),
        children: None,
        detail: Detail::default(),
    }
}

fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one + other)
}

fn cpu_rows(window: &Window) -> Vec<CpuRow> {
    window
        .cpus
        .iter()
        .map(|&account| CpuRow {
            account,
            ticks: window.cpu_ticks.iter().find(|t| t.0 == account.time.cpu).map(|t| t.1),
        })
        .collect()
}

/// Processes that exited, with those that have no exited group.
fn died(window: &Window) -> u64 {
    let no_name = window.cpus.iter().map(|cpu| cpu.time.no_name_processes);
    window.exited.iter().map(|e| e.processes).chain(no_name).sum()
}
