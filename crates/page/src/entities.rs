//! Whose figures the rows of a page are, and which of them have a row of their own.

use exactop_model::{Book, Comm, Counter, Counters, Row, RowKind, TaskKey, TaskSample};
use rustc_hash::FxHashMap;

/// Who it is, in all of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // Their names say it.
pub(crate) enum Who {
    Process {
        boot: u32,
        tgid: u32,
        start_ns: u64,
    },
    /// What exited below a process that lives, of one name and in one control group; if its threads
    /// alone ended, it is a row of the process itself.
    Exited {
        boot: u32,
        parent: u32,
        parent_start_ns: u64,
        comm: Comm,
        cgroup_id: Option<u64>,
    },
}

impl Who {
    /// Whose row it is.
    pub fn of(row: &Row, boot: u32, book: &Book) -> Who {
        match row.kind {
            RowKind::Exited => {
                let parent = row.ident.ppid;
                let leader = book.process(parent).and_then(|process| book.task(process.leader?));
                let parent_start_ns = leader.map_or(0, |task| task.key.start_ns);
                let (comm, cgroup_id) = (row.ident.comm, row.ident.cgroup_id);
                Who::Exited { boot, parent, parent_start_ns, comm, cgroup_id }
            }
            _ => Who::Process { boot, tgid: row.key.tgid, start_ns: row.key.start_ns },
        }
    }

    /// The process of a task.
    pub fn of_task(task: &TaskSample, boot: u32, book: &Book) -> Who {
        let TaskKey { tgid, start_ns, .. } = book.leader(task).key;
        Who::Process { boot, tgid, start_ns }
    }
}

/// What speaks for a row of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Weight {
    /// CPU time used, and wanted.
    total_ns: u64,
    /// The largest part of a window.
    most: f64,
    /// The windows in which it was seen first and last.
    first: u32,
    last: u32,
}

impl Weight {
    /// Seen in this window for the first time.
    pub fn from(at: u32) -> Weight {
        Weight { first: at, last: at, ..Weight::default() }
    }

    /// Takes what it did in a window.
    pub fn add(&mut self, delta: &Counters, at: u32, length_ns: u64) {
        let wanted = [Counter::RunNs, Counter::StealNs, Counter::LatNs, Counter::ThrottleNs];
        let parts = wanted.iter().filter_map(|&counter| delta.get(counter));
        // A recording says what it likes.
        let ns = parts.fold(0u64, u64::saturating_add);
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

/// A row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its number.
    pub number: u32,
    /// The windows in which it was seen first and last. What it did outside of them, if it lived, is
    /// nothing.
    pub first: u32,
    pub last: u32,
}

/// Those that have rows of their own, numbered, the heaviest first: those that used most in all, and
/// those that used most in one window, in turn, while there is room.
pub(crate) fn choose(
    weights: &FxHashMap<Who, Weight>,
    slots: &[u32],
    room: usize,
) -> FxHashMap<Who, Place> {
    let mut by_total: Vec<(&Who, &Weight)> = weights.iter().collect();
    by_total.sort_by(|(a, x), (b, y)| y.total_ns.cmp(&x.total_ns).then_with(|| a.cmp(b)));
    let mut by_most = by_total.clone();
    by_most.sort_by(|(_, x), (_, y)| y.most.total_cmp(&x.most));
    let in_turn = by_total.into_iter().zip(by_most).flat_map(|(total, most)| [total, most]);
    let (mut chosen, mut left) = (FxHashMap::default(), room);
    for (who, weight) in in_turn {
        let number = chosen.len() as u32;
        if chosen.contains_key(who) {
            continue;
        }
        let Some(rest) = left.checked_sub(weight.cells(slots)) else { break };
        left = rest;
        let Weight { first, last, .. } = *weight;
        chosen.insert(*who, Place { number, first, last });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(tgid: u32) -> Who {
        Who::Process { boot: 0, tgid, start_ns: 1 }
    }

    fn weights(of: &[(u32, u64, f64)]) -> FxHashMap<Who, Weight> {
        let weight =
            |&(tgid, total_ns, most)| (who(tgid), Weight { total_ns, most, first: 0, last: 1 });
        of.iter().map(weight).collect()
    }

    #[test]
    fn who_was_large_for_a_moment_has_a_row_as_who_was_large_in_all() {
        let of = weights(&[(1, 900, 0.1), (2, 800, 0.1), (3, 5, 1.0), (4, 700, 0.1)]);
        let chosen = choose(&of, &[0, 1], 4);
        assert_eq!(chosen.len(), 2);
        let number = |tgid| chosen.get(&who(tgid)).map(|place| place.number);
        assert_eq!((number(1), number(3)), (Some(0), Some(1)));
    }

    #[test]
    fn all_have_one_where_there_is_room() {
        let of = weights(&[(1, 900, 0.1), (2, 0, 0.0), (3, 5, 1.0)]);
        assert_eq!(choose(&of, &[0, 1], 6).len(), 3);
        assert_eq!(choose(&of, &[0, 1], 0).len(), 0);
    }
}
