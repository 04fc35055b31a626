//! Identity of the page's rows, and the choice of those with a row of their own.

use exactop_model::{Book, Comm, Counter, Counters, Row, RowKind, TaskKey, TaskSample};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hash;

/// A thread of a process within a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub boot: u32,
    pub key: TaskKey,
}

/// A control group within a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupId {
    pub boot: u32,
    pub id: u64,
}

/// Identity of a row within a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // Their names say it.
pub(crate) enum EntityId {
    Process {
        boot: u32,
        tgid: u32,
        start_ns: u64,
    },
    /// Tasks that exited below a living process, of one name and in one control group. If only
    /// threads of it ended, it is a row of the process itself.
    Exited {
        boot: u32,
        parent: u32,
        parent_start_ns: u64,
        comm: Comm,
        cgroup_id: Option<u64>,
        uid: Option<u32>,
    },
}

impl EntityId {
    /// Identity of a row.
    pub fn from_row(row: &Row, boot: u32, book: &Book) -> EntityId {
        match row.kind {
            RowKind::Exited => {
                let parent = row.ident.ppid;
                let leader = book.process(parent).and_then(|process| book.task(process.leader?));
                let parent_start_ns = leader.map_or(0, |task| task.key.start_ns);
                let (comm, cgroup_id) = (row.ident.comm, row.ident.cgroup_id);
                let uid = row.exited_uid;
                EntityId::Exited { boot, parent, parent_start_ns, comm, cgroup_id, uid }
            }
            _ => EntityId::Process { boot, tgid: row.key.tgid, start_ns: row.key.start_ns },
        }
    }

    /// True for a living process.
    pub fn lives(&self, book: &Book) -> bool {
        let EntityId::Process { tgid, start_ns, .. } = *self else { return false };
        let leader = book.process(tgid).and_then(|process| book.task(process.leader?));
        leader.is_some_and(|leader| leader.key.start_ns == start_ns)
    }

    /// The row's name in the address of a page: the same for a process in every page of its boot.
    pub fn key(&self) -> String {
        match self {
            EntityId::Process { boot, tgid, start_ns } => format!("{boot}.{tgid}.{start_ns}"),
            EntityId::Exited { boot, parent, parent_start_ns, comm, cgroup_id, uid } => {
                let comm: String = comm.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                let cgroup_id = cgroup_id.map_or(0, |id| id);
                let uid = uid.map_or(String::new(), |uid| format!(".{uid}"));
                format!("x{boot}.{parent}.{parent_start_ns}.{comm}.{cgroup_id}{uid}")
            }
        }
    }

    /// The process of a task.
    pub fn of_task(task: &TaskSample, boot: u32, book: &Book) -> EntityId {
        let TaskKey { tgid, start_ns, .. } = book.leader(task).key;
        EntityId::Process { boot, tgid, start_ns }
    }
}

/// Rows without a place of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OtherRows {
    pub count: u64,
    /// True if the count is an upper bound, because forgotten rows that return count again.
    pub at_most: bool,
}

/// Reasons for a row of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Weight {
    /// CPU time used and wanted, ns.
    total_ns: u64,
    /// The largest part of a window.
    most: f64,
    /// The first and last windows in which it was seen.
    first: u32,
    last: u32,
}

impl Weight {
    /// First seen in this window.
    pub fn from(at: u32) -> Weight {
        Weight { first: at, last: at, ..Weight::default() }
    }

    /// Adds the CPU time that it used and wanted in a window.
    fn add(&mut self, ns: u64, at: u32, length_ns: u64) {
        self.total_ns = self.total_ns.saturating_add(ns);
        self.last = at;
        self.most = self.most.max(ns as f64 / length_ns.max(1) as f64);
    }

    /// Slots in which it may have figures.
    fn cells(&self, slots: &[u32]) -> usize {
        let slot = |at: u32| slots.get(at as usize).map_or(0, |&slot| slot as usize);
        slot(self.last) - slot(self.first) + 1
    }
}

/// CPU time used and wanted, ns.
pub(crate) fn wanted_ns(delta: &Counters) -> u64 {
    let wanted = [Counter::RunNs, Counter::StealNs, Counter::LatNs, Counter::ThrottleNs];
    let parts = wanted.iter().filter_map(|&counter| delta.get(counter));
    // A recording may hold any values.
    parts.fold(0u64, u64::saturating_add)
}

/// All rows so far; if there are too many, the most important ones.
#[derive(Debug)]
pub(crate) struct Weights<K = EntityId> {
    of: FxHashMap<K, Weight>,
    most: usize,
    /// Number of forgotten rows. A row that returns may count more than once.
    forgotten: u64,
}

impl<K: Copy + Ord + Hash> Weights<K> {
    /// With this most rows at once.
    pub fn new(most: usize) -> Weights<K> {
        Weights { of: FxHashMap::default(), most: most.max(4), forgotten: 0 }
    }

    /// Adds the CPU time that a row used and wanted in a window.
    pub fn add(&mut self, who: K, ns: u64, at: u32, length_ns: u64) {
        self.of.entry(who).or_insert_with(|| Weight::from(at)).add(ns, at, length_ns);
        if self.of.len() > self.most {
            self.forget();
        }
    }

    /// Keeps a quarter with the largest totals, and as many with the largest windows.
    fn forget(&mut self) {
        let (by_total, by_most) = sorted(&self.of);
        let quarter = self.most / 4;
        let kept = by_total.iter().take(quarter).chain(by_most.iter().take(quarter));
        let kept: FxHashMap<K, Weight> = kept.map(|(who, weight)| (**who, **weight)).collect();
        self.forgotten += (self.of.len() - kept.len()) as u64;
        self.of = kept;
    }

    /// Rows besides `chosen` ones.
    pub fn others(&self, chosen: usize) -> OtherRows {
        let left = self.of.len().saturating_sub(chosen) as u64;
        OtherRows { count: left + self.forgotten, at_most: self.forgotten > 0 }
    }
}

type Ranked<'a, K> = Vec<(&'a K, &'a Weight)>;

/// Rows by their total, and by their largest window.
fn sorted<K: Copy + Ord + Hash>(weights: &FxHashMap<K, Weight>) -> (Ranked<'_, K>, Ranked<'_, K>) {
    let mut by_total: Ranked<K> = weights.iter().collect();
    by_total.sort_by(|(a, x), (b, y)| y.total_ns.cmp(&x.total_ns).then_with(|| a.cmp(b)));
    let mut by_most = by_total.clone();
    by_most.sort_by(|(_, x), (_, y)| y.most.total_cmp(&x.most));
    (by_total, by_most)
}

/// A row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntityRow {
    pub number: u32,
    /// The first and last windows in which it was seen. If it lived outside of them, it was idle
    /// there.
    pub first: u32,
    pub last: u32,
}

impl EntityRow {
    /// True if the window is within the row's range.
    pub fn has(&self, at: u32) -> bool {
        (self.first..=self.last).contains(&at)
    }
}

/// Chooses rows of their own, numbered by weight: those with the largest totals and those with the
/// largest windows, in turn, while there is room.
pub(crate) fn choose<K: Copy + Ord + Hash>(
    weights: &Weights<K>,
    slots: &[u32],
    room: usize,
    rows: usize,
) -> FxHashMap<K, EntityRow> {
    let (by_total, by_most) = sorted(&weights.of);
    let in_turn = by_total.into_iter().zip(by_most).flat_map(|(total, most)| [total, most]);
    let (mut chosen, mut left) = (FxHashMap::default(), room);
    for (who, weight) in in_turn {
        let number = chosen.len() as u32;
        if chosen.contains_key(who) {
            continue;
        }
        if chosen.len() >= rows {
            break;
        }
        let Some(rest) = left.checked_sub(weight.cells(slots)) else { break };
        left = rest;
        let Weight { first, last, .. } = *weight;
        chosen.insert(*who, EntityRow { number, first, last });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(tgid: u32) -> EntityId {
        EntityId::Process { boot: 0, tgid, start_ns: 1 }
    }

    fn weights(of: &[(u32, u64, f64)]) -> Weights {
        let weight =
            |&(tgid, total_ns, most)| (who(tgid), Weight { total_ns, most, first: 0, last: 1 });
        Weights { of: of.iter().map(weight).collect(), ..Weights::new(100) }
    }

    #[test]
    fn a_row_large_for_a_moment_is_kept_like_one_large_in_total() {
        let of = weights(&[(1, 900, 0.1), (2, 800, 0.1), (3, 5, 1.0), (4, 700, 0.1)]);
        let chosen = choose(&of, &[0, 1], 4, 9);
        assert_eq!(chosen.len(), 2);
        let number = |tgid| chosen.get(&who(tgid)).map(|place| place.number);
        assert_eq!((number(1), number(3)), (Some(0), Some(1)));
    }

    #[test]
    fn all_have_one_where_there_is_room() {
        let of = weights(&[(1, 900, 0.1), (2, 0, 0.0), (3, 5, 1.0)]);
        assert_eq!(choose(&of, &[0, 1], 6, 9).len(), 3);
        assert_eq!(choose(&of, &[0, 1], 6, 2).len(), 2);
        assert_eq!(choose(&of, &[0, 1], 0, 9).len(), 0);
    }

    #[test]
    fn of_many_rows_the_important_ones_stay() {
        let mut weights = Weights::new(100);
        for tgid in 0..10_000 {
            weights.add(who(tgid), if tgid == 77 { 1000 } else { 1 }, tgid, 2000);
            assert!(weights.of.len() <= 100);
        }
        assert!(weights.of.contains_key(&who(77)));
        let others = weights.others(1);
        assert_eq!((others.count, others.at_most), (9999, true));
    }
}
