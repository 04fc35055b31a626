//! Sums a stretch, window by window.

use crate::accounts::Accounts;
use crate::group::{Group, Id};
use crate::measure::Work;
use crate::names::Names;
use crate::pairs::Pairs;
use crate::short::Short;
use crate::slots::{CpuUse, Slot, Slots, Sum};
use crate::still::{StateTime, StateTracker};
use crate::stretch::{Stretch, Total};
use exactop_model::blame::rows::{BlamedSums, KEYS};
use exactop_model::ledger::exactness::WindowState;
use exactop_model::owner::{share, Bearer, Charge, Grouping, Owner, Share};
use exactop_model::{Books, Counter, Counters, Quality, Window};
use exactop_recording::{Gap, Recording, RecordingError, Replay, Span, TimeRange, Windows};
use rustc_hash::FxHashMap;

/// A stretch that is being read.
pub(crate) struct Summing {
    stretch: Stretch,
    work: Option<Work>,
    names: Names,
    ids: FxHashMap<Id, u32>,
    order: Vec<Id>,
    totals: Vec<Total>,
    blamed: BlamedSums,
    /// Length of the windows with a blame book, ns.
    blamed_ns: u64,
    slots: Slots,
    still: StateTracker,
    /// Qualities of the counters in the last window.
    qualities: [Quality; Counter::COUNT],
    /// End of the last window, CLOCK_MONOTONIC ns.
    until_ns: Option<u64>,
}

impl Summing {
    pub fn new(by: Grouping, work: Option<Work>) -> Summing {
        let stretch = Stretch {
            by,
            machine: None,
            later: Vec::new(),
            anonymous: false,
            cpus: 0,
            spans: None,
            windows: 0,
            length_ns: 0,
            gaps: Vec::new(),
            inexact: 0,
            sees_exits: true,
            accounts: Accounts::default(),
            rows: Vec::new(),
            pairs: None,
            slots: Vec::new(),
            short: Short::default(),
        };
        Summing {
            stretch,
            work,
            names: Names::default(),
            ids: FxHashMap::default(),
            order: Vec::new(),
            totals: Vec::new(),
            blamed: BlamedSums::default(),
            blamed_ns: 0,
            slots: Slots::new(),
            still: StateTracker::default(),
            qualities: [Quality::Missing; Counter::COUNT],
            until_ns: None,
        }
    }

    /// Adds a window.
    pub fn window(&mut self, window: &Window, span: Span, replay: &Replay) {
        self.enter(replay);
        self.names.learn_users(replay);
        let goes_on = self.until_ns == Some(window.t0_ns);
        if !goes_on {
            self.leave();
        }
        let mut slot = Slot {
            from_wall_ns: span.wall_t0_ns(),
            to_wall_ns: span.wall_t1_ns(),
            length_ns: window.length_ns(),
            windows: 1,
            goes_on,
            ..Slot::default()
        };
        self.rows(window, replay, &mut slot);
        if let Some(blame) = window.blame.as_ref().filter(|_| KEYS.contains(&self.stretch.by)) {
            let user = &mut |uid| replay.user(uid);
            self.blamed.add(blame, self.stretch.by, replay.book(), user);
            self.blamed_ns += window.length_ns();
        }
        match goes_on {
            true => self.ended(window, replay),
            false => self.begin(window, replay),
        }
        if !goes_on || self.qualities != window.end.provenance.counters {
            self.forget_unmeasured(window, replay);
        }
        for cpu in &window.cpus {
            let busy_ns = cpu.time.task_ns.saturating_add(cpu.time.unnamed_ns);
            let used = CpuUse { busy_ns, length_ns: window.length_ns() };
            slot.cpus.insert(cpu.time.cpu, used);
        }
        let named = |part: fn(&Sum) -> u64| slot.rows.values().map(part).sum();
        let books = Books::from_window(window);
        slot.accounts.add(&books, named(|sum| sum.irq_ns), named(|sum| sum.steal_ns));
        let stretch = &mut self.stretch;
        stretch.inexact += u64::from(window.state() == WindowState::Inexact);
        stretch.sees_exits &= window.end.provenance.source.sees_exits();
        stretch.cpus = stretch.cpus.max(window.cpus.len());
        stretch.windows += 1;
        stretch.length_ns += slot.length_ns;
        stretch.accounts.join(&slot.accounts);
        let from = stretch.spans.map_or(slot.from_wall_ns, |(from, _)| from);
        stretch.spans = Some((from, slot.to_wall_ns));
        stretch.short.take(&slot);
        self.until_ns = Some(window.t1_ns);
        self.slots.take(slot);
    }

    /// Adds gaps before the next window, or after the last.
    pub fn gaps(&mut self, gaps: &[Gap]) {
        self.stretch.gaps.extend_from_slice(gaps);
        self.leave();
    }

    /// Notes the machine of the next windows.
    fn enter(&mut self, replay: &Replay) {
        let Some(machine) = replay.reader().machine() else { return };
        self.stretch.anonymous |= replay.reader().is_anonymous();
        if !self.names.enter(&machine.boot_id) {
            return;
        }
        match self.stretch.machine {
            None => self.stretch.machine = Some(machine.clone()),
            Some(_) => self.stretch.later.push(machine.clone()),
        }
        // Another boot's clock may have the same value.
        self.leave();
    }

    /// Charges all time of the window to owners. A task that only waited is charged at its next
    /// event.
    fn rows(&mut self, window: &Window, replay: &Replay, slot: &mut Slot) {
        let (by, book) = (self.stretch.by, replay.book());
        let books = Books::from_window(window);
        let told = (books.irq_ns.is_some(), books.steal_ns.is_some());
        share(window, [], &mut |share: Share<'_>| {
            let owner = share.owner(by, book);
            let row = self.post(self.names.id(owner), &share.charge, told, slot);
            self.names.learn_from_book(by, owner, book);
            let Bearer::Task(task) = share.bearer else { return };
            if share.is_moved {
                return;
            }
            self.names.learn(owner, &task.sample, replay);
            let now = (task.sample.account, task.sample.state);
            let stood = self.still.changes(now, row, (window.t0_ns, window.t1_ns));
            self.stood(stood);
        });
        // Exited threads belong to their process, if it lives.
        for exit in &window.exited {
            if let Some(process) = book.living(exit.sample.of) {
                self.names.learn(Owner::of_exit(by, &exit.sample, book), process, replay);
            }
        }
        if by.is_of_group() {
            self.names.groups(window, book);
        }
    }

    /// Starts consecutive windows: notes all other living tasks.
    fn begin(&mut self, window: &Window, replay: &Replay) {
        let book = replay.book();
        for &account in book.processes().flat_map(|(_, process)| &process.tasks) {
            let Some(task) = book.task(account).filter(|_| !self.still.has(account)) else {
                continue;
            };
            let owner = Owner::of_task(self.stretch.by, task, book);
            self.names.learn(owner, task, replay);
            self.names.learn_from_book(self.stretch.by, owner, book);
            let row = self.number(self.names.id(owner));
            let since_ns = window.t0_ns.max(task.since_ns);
            self.still.changes((account, task.state), row, (since_ns, since_ns));
        }
    }

    /// A counter that is not measured is unknown for tasks without an event, too.
    fn forget_unmeasured(&mut self, window: &Window, replay: &Replay) {
        self.qualities = window.end.provenance.counters;
        for (account, row) in self.still.rows() {
            let task = replay.book().still_in(account, window);
            // A zombie has nothing to measure.
            let Some(task) = task.filter(|task| task.life_ns > 0) else { continue };
            let counters = &mut self.totals[row as usize].counters;
            for &counter in Counter::ALL {
                if task.delta.get(counter).is_none() {
                    counters.forget(counter);
                }
            }
        }
    }

    /// Removes exited tasks.
    fn ended(&mut self, window: &Window, replay: &Replay) {
        let book = replay.book();
        if self.still.len() != book.census().total as usize {
            let ended = self.still.end(|account| book.task(account).is_some(), window.t0_ns);
            self.stood(ended);
        }
    }

    /// Ends consecutive windows.
    fn leave(&mut self) {
        if let Some(until_ns) = self.until_ns.take() {
            let stood = self.still.leave(until_ns);
            self.stood(stood);
        }
    }

    fn stood(&mut self, stood: impl IntoIterator<Item = StateTime>) {
        for stood in stood {
            let counters = &mut self.totals[stood.row as usize].counters;
            stood.counters().for_each(|counter| counters.bump(counter, stood.ns));
        }
    }

    fn sum(&self, charge: &Charge<'_>, (irq, steal): (bool, bool)) -> Sum {
        let delta = charge.counters;
        // Time that is unknown in a first window is in no account of its books either.
        let part = |counter, told: bool| delta.get(counter).filter(|_| told).map_or(0, |ns| ns);
        let work = match self.work {
            None => Some(0),
            Some(Work::Exits) => Some(charge.exited),
            Some(Work::Events(counter)) => delta.get(counter),
        };
        Sum {
            run_ns: part(Counter::RunNs, true),
            irq_ns: part(Counter::IrqNs, irq),
            steal_ns: part(Counter::StealNs, steal),
            work: work.map_or(0, |work| work),
            work_unknown: work.is_none(),
        }
    }

    fn number(&mut self, id: Id) -> u32 {
        let next = self.order.len() as u32;
        let number = *self.ids.entry(id).or_insert(next);
        if number == next {
            self.order.push(id);
            let group = Group { name: String::new(), process: None };
            let sum = Sum::default();
            self.totals.push(Total { group, sum, counters: Counters::zero(), exits: 0 });
        }
        number
    }

    fn post(&mut self, id: Id, charge: &Charge<'_>, told: (bool, bool), slot: &mut Slot) -> u32 {
        let sum = self.sum(charge, told);
        let number = self.number(id);
        slot.rows.entry(number).or_default().add(&sum);
        let total = &mut self.totals[number as usize];
        total.sum.add(&sum);
        total.counters.add(charge.counters);
        total.exits += charge.exited;
        number
    }

    /// Resolves names and merges rows with equal names.
    pub fn finish(mut self) -> Stretch {
        self.leave();
        let Summing { mut stretch, names, order, totals, slots, blamed, blamed_ns, .. } = self;
        stretch.pairs = Pairs::from_sums(blamed, blamed_ns);
        let mut numbers: FxHashMap<Group, u32> = FxHashMap::default();
        let mut place = Vec::with_capacity(order.len());
        for (id, total) in order.into_iter().zip(totals) {
            let group = names.group(stretch.by, id);
            let next = stretch.rows.len() as u32;
            let number = *numbers.entry(group.clone()).or_insert(next);
            place.push(number);
            if number == next {
                stretch.rows.push(Total { group, ..total });
                continue;
            }
            let row = &mut stretch.rows[number as usize];
            row.sum.add(&total.sum);
            row.counters.add(&total.counters);
            row.exits += total.exits;
        }
        stretch.slots = slots.into_done();
        for slot in &mut stretch.slots {
            for (number, sum) in std::mem::take(&mut slot.rows) {
                slot.rows.entry(place[number as usize]).or_default().add(&sum);
            }
        }
        if stretch.accounts.irq_ns().is_none() {
            stretch.fold_irq();
        }
        if stretch.accounts.steal_ns().is_none() {
            stretch.fold_steal();
        }
        stretch
    }
}

impl Stretch {
    /// Reads a stretch.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read.
    pub fn read(
        recording: Recording,
        when: TimeRange,
        by: Grouping,
        work: Option<Work>,
    ) -> Result<Stretch, RecordingError> {
        let mut windows = Windows::from_recording(recording, when)?;
        let mut summing = Summing::new(by, work);
        loop {
            let more = windows.advance()?;
            if !windows.gaps().is_empty() {
                summing.gaps(windows.gaps());
            }
            if !more {
                return Ok(summing.finish());
            }
            let replay = windows.replay();
            if let Some((window, span)) = replay.window().zip(replay.span()) {
                summing.window(window, span, replay);
            }
        }
    }
}
