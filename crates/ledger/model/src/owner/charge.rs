//! All time of a window, each part to its owner.

use super::moves::{transfers, Moved, Transfer, MOVED};
use super::{By, Owner};
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::window::{ExitDelta, TaskDelta, Window};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A part of a window's time. Nothing is ever taken back: the sum of all charges is the books' tasks and exited.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// Its counters. Unknown ones are unknown; sums of CPU time take those as nothing, as the books do.
    pub counters: &'a Counters,
    /// Tasks that did something in the window: 1 for a task's own part, else 0.
    pub tasks: u64,
    /// Processes that exited.
    pub exited: u64,
}

/// Whose figures a part is of.
#[derive(Clone, Copy, Debug)]
pub enum Bearer<'a> {
    /// A task that did something in the window.
    Task(&'a TaskDelta),
    /// A task to which nothing happened in the window: it spent it in one state.
    Still(&'a TaskDelta),
    /// A group of exited tasks.
    Exit(&'a ExitDelta),
}

/// A part of a window's time and everything that decides on its owner.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// Whose figures it is a part of.
    pub bearer: Bearer<'a>,
    /// The control group in which it was used.
    pub group: Option<u64>,
    /// True if it was used in a group that the task left within the window.
    pub is_moved: bool,
    /// How much it is.
    pub charge: Charge<'a>,
}

impl Share<'_> {
    /// Its owner. `book` stands at the window's end.
    pub fn owner(&self, by: By, book: &Book) -> Owner {
        match (by.is_of_group(), self.bearer) {
            (true, _) => Owner::Group(self.group),
            (_, Bearer::Task(task) | Bearer::Still(task)) => Owner::of_task(by, &task.sample, book),
            (_, Bearer::Exit(exit)) => Owner::of_exit(by, &exit.sample, book),
        }
    }
}

/// Charges all time of a window to its owners: tasks that did something, tasks that waited for a CPU or a quota
/// throughout, and what exited. `book` is the one that yielded the window, not advanced since.
pub fn charge(window: &Window, book: &Book, by: By, post: &mut impl FnMut(Owner, Charge<'_>)) {
    let still = book.waited_throughout(window);
    share(window, still, &mut |share| post(share.owner(by, book), share.charge));
}

/// Hands out the same parts before they have an owner, for sums by several things at once. `still`: the tasks to
/// which nothing happened that count for the caller.
///
/// Moves say how much was used in a group that was left, not by which of its tasks. So a group's sum is exact, as is
/// that of a command or a user. Where both are asked for at once, the time is taken from tasks of the group in a
/// fixed order: the youngest first, then what exited.
pub fn share(
    window: &Window,
    still: impl IntoIterator<Item = TaskDelta>,
    post: &mut impl FnMut(Share<'_>),
) {
    let transfers = transfers(&window.moves);
    let mut moved = BTreeMap::new();
    if !transfers.is_empty() {
        moved = deal(window, transfers);
    }
    let mut one = |bearer: Bearer<'_>, at, group, charge: Charge<'_>| {
        post_one(bearer, group, charge, moved.get(&at).map_or(&[], Vec::as_slice), post);
    };
    for (at, task) in window.tasks.iter().enumerate() {
        let charge = Charge { counters: &task.delta, tasks: 1, exited: 0 };
        one(Bearer::Task(task), Place::Task(at), task.sample.ident.cgroup_id, charge);
    }
    for (at, exit) in window.exited.iter().enumerate() {
        let charge = Charge { counters: &exit.delta, tasks: 0, exited: exit.processes };
        one(Bearer::Exit(exit), Place::Exit(at), exit.sample.cgroup_id, charge);
    }
    for task in still {
        let charge = Charge { counters: &task.delta, tasks: 0, exited: 0 };
        let group = task.sample.ident.cgroup_id;
        post_one(Bearer::Still(&task), group, charge, &[], post);
    }
}

/// Posts what a bearer used where it is told, and what it used elsewhere.
fn post_one(
    bearer: Bearer<'_>,
    group: Option<u64>,
    charge: Charge<'_>,
    moved: &[Transfer],
    post: &mut impl FnMut(Share<'_>),
) {
    if moved.is_empty() {
        return post(Share { bearer, group, is_moved: false, charge });
    }
    let mut own = *charge.counters;
    for transfer in moved {
        let mut part = Counters::zero();
        for (counter, ns) in MOVED.into_iter().zip(transfer.ns) {
            part.set(counter, ns);
            own.bump(counter, ns.wrapping_neg());
        }
        let charge = Charge { counters: &part, tasks: 0, exited: 0 };
        post(Share { bearer, group: Some(transfer.from), is_moved: true, charge });
    }
    post(Share { bearer, group, is_moved: false, charge: Charge { counters: &own, ..charge } });
}

/// A row of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Task(usize),
    Exit(usize),
}

/// Deals what was used elsewhere to the rows that it is told with. What no row has is dealt to none, and so is
/// charged once, where it is told.
fn deal(
    window: &Window,
    mut transfers: BTreeMap<u64, Vec<Transfer>>,
) -> BTreeMap<Place, Vec<Transfer>> {
    let mut dealt: BTreeMap<Place, Vec<Transfer>> = BTreeMap::new();
    for (place, group) in rows_in_order(window, &transfers) {
        let Some(left) = transfers.get_mut(&group) else { continue };
        let delta = match place {
            Place::Task(at) => &window.tasks[at].delta,
            Place::Exit(at) => &window.exited[at].delta,
        };
        // A row whose figure is not known has nothing that could be taken from it: it stays unknown.
        let mut has = MOVED.map(|counter| delta.get(counter).unwrap_or(0));
        for transfer in left {
            let ns = take(&mut transfer.ns, &mut has);
            if ns != Moved::default() {
                dealt.entry(place).or_default().push(Transfer { from: transfer.from, ns });
            }
        }
    }
    dealt
}

/// The rows of groups that tasks came into, in an order that does not depend on the window's.
fn rows_in_order(window: &Window, transfers: &BTreeMap<u64, Vec<Transfer>>) -> Vec<(Place, u64)> {
    let concerned = |id: Option<u64>| id.filter(|id| transfers.contains_key(id));
    let mut tasks = Vec::new();
    for (at, task) in window.tasks.iter().enumerate() {
        if let Some(id) = concerned(task.sample.ident.cgroup_id) {
            let order = (Reverse(task.sample.since_ns), task.sample.account.0);
            tasks.push((order, Place::Task(at), id));
        }
    }
    let mut exits = Vec::new();
    for (at, exit) in window.exited.iter().enumerate() {
        if let Some(id) = concerned(exit.sample.cgroup_id) {
            let run_ns = exit.delta.get(Counter::RunNs);
            exits.push(((exit.sample.account.0, run_ns), Place::Exit(at), id));
        }
    }
    tasks.sort_unstable();
    exits.sort_unstable();
    let tasks = tasks.into_iter().map(|(_, place, id)| (place, id));
    tasks.chain(exits.into_iter().map(|(_, place, id)| (place, id))).collect()
}

/// Takes from both what both have.
fn take(left: &mut Moved, has: &mut Moved) -> Moved {
    let mut taken = Moved::default();
    for (at, ns) in taken.iter_mut().enumerate() {
        *ns = left[at].min(has[at]);
        left[at] -= *ns;
        has[at] -= *ns;
    }
    taken
}
