//! Charges all time of a window to its owners.

use super::moves::{transfers, Transfer};
use super::{Grouping, Owner};
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::window::{ExitDelta, TaskDelta, Window};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A part of a window's time. A charge never takes time back: all charges sum to the books' tasks
/// and exited.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// Counters. An unknown CPU time counts as 0 in sums, as in the books. A part that was used in
    /// another group knows the same counters as the whole.
    pub counters: &'a Counters,
    /// 1 for the own part of a task with an event in the window, else 0.
    pub tasks: u64,
    /// Number of processes that exited.
    pub exited: u64,
}

/// The task or exited group that used a part.
#[derive(Clone, Copy, Debug)]
pub enum Bearer<'a> {
    /// A task with an event in the window.
    Task(&'a TaskDelta),
    /// A task without an event, which spent the window in one state.
    Still(&'a TaskDelta),
    /// A group of exited tasks.
    Exit(&'a ExitDelta),
}

/// A part of a window's time, with everything that decides its owner.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// The task or exited group that used it.
    pub bearer: Bearer<'a>,
    /// The control group in which it was used.
    pub group: Option<u64>,
    /// True if the task left that control group within the window.
    pub is_moved: bool,
    /// The part itself.
    pub charge: Charge<'a>,
}

impl Share<'_> {
    /// The owner under this key. `book` stands at the window's end.
    pub fn owner(&self, by: Grouping, book: &Book) -> Owner {
        match (by.is_of_group(), self.bearer) {
            (true, _) => Owner::Group(self.group),
            (_, Bearer::Task(task) | Bearer::Still(task)) => Owner::of_task(by, &task.sample, book),
            (_, Bearer::Exit(exit)) => Owner::of_exit(by, &exit.sample, book),
        }
    }
}

/// Charges all time of a window to its owners: tasks with an event, tasks that waited for a CPU or
/// a quota throughout, and exited tasks. `book` yielded the window and has not advanced since.
pub fn charge(
    window: &Window,
    book: &Book,
    by: Grouping,
    post: &mut impl FnMut(Owner, Charge<'_>),
) {
    let still = book.waited_throughout(window);
    share(window, still, &mut |share| post(share.owner(by, book), share.charge));
}

/// Posts all parts of a window's time without deciding their owner, for sums by several keys at
/// once. `still` holds the tasks without an event that the caller counts.
///
/// Moves give the time used in a group that tasks left, but not which of its tasks used it. So a
/// sum by group is exact, and so is a sum by command or by user. For a sum by both at once, the
/// time is taken from the tasks of the group in a fixed order: the youngest first, then exited
/// tasks.
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
        one(Bearer::Task(task), RowIndex::Task(at), task.sample.ident.cgroup_id, charge);
    }
    for (at, exit) in window.exited.iter().enumerate() {
        let charge = Charge { counters: &exit.delta, tasks: 0, exited: exit.processes };
        one(Bearer::Exit(exit), RowIndex::Exit(at), exit.sample.cgroup_id, charge);
    }
    for task in still {
        let charge = Charge { counters: &task.delta, tasks: 0, exited: 0 };
        let group = task.sample.ident.cgroup_id;
        post_one(Bearer::Still(&task), group, charge, &[], post);
    }
}

/// Posts the part that a task used in its own group and the parts that it used in other groups.
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
        transfer.used.known().for_each(|(counter, used)| own.bump(counter, used.wrapping_neg()));
        let charge = Charge { counters: &transfer.used, tasks: 0, exited: 0 };
        post(Share { bearer, group: Some(transfer.from), is_moved: true, charge });
    }
    post(Share { bearer, group, is_moved: false, charge: Charge { counters: &own, ..charge } });
}

/// Index of a row of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowIndex {
    Task(usize),
    Exit(usize),
}

/// Takes time that was used in other groups from the rows that hold it. Time that no row has is
/// left where it is and so is charged once.
fn deal(
    window: &Window,
    mut transfers: BTreeMap<u64, Vec<Transfer>>,
) -> BTreeMap<RowIndex, Vec<Transfer>> {
    let mut dealt: BTreeMap<RowIndex, Vec<Transfer>> = BTreeMap::new();
    for (place, group) in rows_in_order(window, &transfers) {
        let Some(left) = transfers.get_mut(&group) else { continue };
        let delta = match place {
            RowIndex::Task(at) => &window.tasks[at].delta,
            RowIndex::Exit(at) => &window.exited[at].delta,
        };
        // A row with an unknown figure has nothing to take; the figure stays unknown.
        let mut has = *delta;
        for transfer in left {
            let used = take(&mut transfer.used, &mut has);
            if !used.is_empty() {
                dealt.entry(place).or_default().push(Transfer { from: transfer.from, used });
            }
        }
    }
    dealt
}

/// The rows of groups that tasks moved into, in an order that does not depend on the window's
/// order.
fn rows_in_order(
    window: &Window,
    transfers: &BTreeMap<u64, Vec<Transfer>>,
) -> Vec<(RowIndex, u64)> {
    let concerned = |id: Option<u64>| id.filter(|id| transfers.contains_key(id));
    let mut tasks = Vec::new();
    for (at, task) in window.tasks.iter().enumerate() {
        if let Some(id) = concerned(task.sample.ident.cgroup_id) {
            let order = (Reverse(task.sample.since_ns), task.sample.account.0);
            tasks.push((order, RowIndex::Task(at), id));
        }
    }
    let mut exits = Vec::new();
    for (at, exit) in window.exited.iter().enumerate() {
        if let Some(id) = concerned(exit.sample.cgroup_id) {
            let run_ns = exit.delta.get(Counter::RunNs);
            exits.push(((exit.sample.account.0, run_ns), RowIndex::Exit(at), id));
        }
    }
    tasks.sort_unstable();
    exits.sort_unstable();
    let tasks = tasks.into_iter().map(|(_, place, id)| (place, id));
    tasks.chain(exits.into_iter().map(|(_, place, id)| (place, id))).collect()
}

/// Moves what both have from `left` and `has` into the result. A counter that `has` does not know
/// is unknown in the part, too.
fn take(left: &mut Counters, has: &mut Counters) -> Counters {
    let mut taken = Counters::zero();
    for &counter in Counter::ALL {
        let Some(there) = has.get(counter) else {
            taken.forget(counter);
            continue;
        };
        let part = left.get(counter).map_or(0, |moved| moved.min(there));
        taken.bump(counter, part);
        left.bump(counter, part.wrapping_neg());
        has.bump(counter, part.wrapping_neg());
    }
    taken
}
