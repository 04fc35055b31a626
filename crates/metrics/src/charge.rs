//! What each group did in a window.

use crate::settings::{Dimension, Settings};
use exactop_model::window::{ExitDelta, TaskDelta};
use exactop_model::{AccountId, Book, Comm, Counter, Counters, MicroState, TaskSample, Window};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is waited for, in the order of [`Charge::waits_ns`].
pub const WAITS: [(&str, Counter); 4] = [
    ("runqueue", Counter::LatNs),
    ("throttled", Counter::ThrottleNs),
    ("lock", Counter::LockNs),
    ("block", Counter::BlockNs),
];

/// A group before it has names: only what is set is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Their names say it.
pub struct Raw {
    pub comm: Comm,
    pub cgroup: Option<u64>,
    pub uid: Option<u32>,
}

/// What it did. The numbers of a machine with a thousand CPUs outgrow 64 bits in half a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Charge {
    pub run_ns: u128,
    pub user_ns: u128,
    pub system_ns: u128,
    /// By what is waited for, as [`WAITS`] has it.
    pub waits_ns: [u128; 4],
    /// Processes that exited.
    pub exited: u128,
}

impl Charge {
    /// What another did is this one's, too.
    pub fn add(&mut self, other: &Charge) {
        self.run_ns += other.run_ns;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        for (sum, wait) in self.waits_ns.iter_mut().zip(other.waits_ns) {
            *sum += wait;
        }
        self.exited += other.exited;
    }

    /// What it wanted of the CPUs, had or not: who starves is not small.
    pub fn demand_ns(&self) -> u128 {
        self.run_ns + self.waits_ns[0] + self.waits_ns[1]
    }

    /// What a first look does not know of a task is nobody's in the window's books either.
    fn post(&mut self, delta: &Counters) {
        let mut post = |sum: fn(&mut Charge) -> &mut u128, counter| {
            if let Some(value) = delta.get(counter) {
                *sum(self) += u128::from(value);
            }
        };
        post(|c| &mut c.run_ns, Counter::RunNs);
        let split = [Counter::UserNs, Counter::SystemNs];
        let exact = split.iter().all(|&counter| delta.get(counter).is_some());
        let [user, system] = if exact { split } else { [Counter::UtimeNs, Counter::StimeNs] };
        post(|c| &mut c.user_ns, user);
        post(|c| &mut c.system_ns, system);
        for (sum, (_, counter)) in self.waits_ns.iter_mut().zip(WAITS) {
            if let Some(value) = delta.get(counter) {
                *sum += u128::from(value);
            }
        }
    }
}

/// What everyone did in the window, by group. The book stands at its end.
pub fn charges(window: &Window, book: &Book, settings: &Settings) -> FxHashMap<Raw, Charge> {
    let mut charges: FxHashMap<Raw, Charge> = FxHashMap::default();
    for TaskDelta { sample, delta, .. } in &window.tasks {
        charges.entry(of_task(sample, book, settings)).or_default().post(delta);
    }
    for exit in &window.exited {
        let charge = charges.entry(of_exited(exit, book, settings)).or_default();
        charge.post(&exit.delta);
        charge.exited += u128::from(exit.processes);
    }
    if settings.by_cgroup() && !settings.has(Dimension::Command) && !settings.has(Dimension::User) {
        moves(window, &mut charges);
    }
    // Whoever waits all through the window is not told of: nothing happened to him.
    let told: FxHashSet<AccountId> = window.tasks.iter().map(|t| t.sample.account).collect();
    for sample in book.unchanged() {
        let Some(wait) = wait(sample.state).filter(|_| !told.contains(&sample.account)) else {
            continue;
        };
        let charge = charges.entry(of_task(sample, book, settings)).or_default();
        let from_ns = sample.since_ns.max(window.t0_ns);
        charge.waits_ns[wait] += u128::from(window.t1_ns.saturating_sub(from_ns));
    }
    charges
}

/// Which of [`WAITS`] a state is.
fn wait(state: MicroState) -> Option<usize> {
    let grows = |(_, counter): &(&str, Counter)| state.counters().contains(counter);
    WAITS.iter().position(grows)
}

fn raw(settings: &Settings, comm: Comm, cgroup: Option<u64>, uid: Option<u32>) -> Raw {
    Raw {
        comm: if settings.has(Dimension::Command) { comm } else { Comm::default() },
        cgroup: cgroup.filter(|_| settings.by_cgroup()),
        uid: uid.filter(|_| settings.has(Dimension::User)),
    }
}

/// The command is its process's, control group and user its own.
fn of_task(task: &TaskSample, book: &Book, settings: &Settings) -> Raw {
    let leader = || book.process(task.key.tgid).and_then(|process| book.task(process.leader?));
    let comm = match task.key.is_leader() || !settings.has(Dimension::Command) {
        true => task.ident.comm,
        false => leader().unwrap_or(task).ident.comm,
    };
    raw(settings, comm, task.ident.cgroup_id, Some(task.ident.uid))
}

/// Threads of a process that lives belong to it.
fn of_exited(exit: &ExitDelta, book: &Book, settings: &Settings) -> Raw {
    let sample = &exit.sample;
    let process = book.process(sample.of.tgid).filter(|_| sample.of.tgid != 0);
    let leader = process.and_then(|process| book.task(process.leader?));
    match leader.filter(|leader| leader.key.start_ns == sample.of.start_ns) {
        Some(leader) => raw(settings, leader.ident.comm, sample.cgroup_id, Some(leader.ident.uid)),
        None => raw(settings, sample.comm, sample.cgroup_id, sample.uid),
    }
}

/// What tasks had used before they changed their control group is that of the one they left. Which
/// command's it was is not told, so where groups have commands all of a window is the last one's.
fn moves(window: &Window, charges: &mut FxHashMap<Raw, Charge>) {
    let of = |id| Raw { comm: Comm::default(), cgroup: Some(id), uid: None };
    for moved in &window.moves {
        let Some(to) = charges.get_mut(&of(moved.to)) else { continue };
        // No more than there is: sums stay what they are.
        let take = |from: &mut u128, part: u64| {
            let part = u128::from(part).min(*from);
            *from -= part;
            part
        };
        let part = Charge {
            run_ns: take(&mut to.run_ns, moved.run_ns),
            waits_ns: [
                take(&mut to.waits_ns[0], moved.lat_ns),
                take(&mut to.waits_ns[1], moved.throttle_ns),
                0,
                0,
            ],
            ..Charge::default()
        };
        charges.entry(of(moved.from)).or_default().add(&part);
    }
}
