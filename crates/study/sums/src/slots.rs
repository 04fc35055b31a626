//! Pieces of a range: windows, or several joined if there are too many.

use crate::accounts::Accounts;
use rustc_hash::FxHashMap;

/// Most pieces; above it, each two are joined.
const MOST: usize = 480;

/// CPU time of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// CPU time, ns.
    pub run_ns: u64,
    pub(crate) irq_ns: u64,
    pub(crate) steal_ns: u64,
    /// Units of the requested work.
    pub work: u64,
    /// A part of the work is unknown.
    pub work_unknown: bool,
}

impl Sum {
    pub(crate) fn add(&mut self, other: &Sum) {
        self.run_ns += other.run_ns;
        self.irq_ns += other.irq_ns;
        self.steal_ns += other.steal_ns;
        self.work += other.work;
        self.work_unknown |= other.work_unknown;
    }

    pub(crate) fn fold_irq(&mut self) {
        self.run_ns += std::mem::take(&mut self.irq_ns);
    }

    pub(crate) fn fold_steal(&mut self) {
        self.run_ns += std::mem::take(&mut self.steal_ns);
    }
}

/// CPU time that a CPU spent on tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuUse {
    pub busy_ns: u64,
    pub length_ns: u64,
}

/// A piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// Beginning, ns since the epoch.
    pub from_wall_ns: i128,
    /// End, ns since the epoch.
    pub to_wall_ns: i128,
    /// Total length of its windows, ns.
    pub length_ns: u64,
    /// Number of its windows.
    pub windows: u64,
    /// It begins where the piece before ends, without a gap or a boot between.
    pub goes_on: bool,
    /// Its accounts.
    pub accounts: Accounts,
    /// CPU time of each row, by row number.
    pub rows: FxHashMap<u32, Sum>,
    /// Use of each CPU.
    pub cpus: FxHashMap<u32, CpuUse>,
}

impl Slot {
    pub(crate) fn join(&mut self, later: Slot) {
        if self.windows == 0 {
            *self = later;
            return;
        }
        self.to_wall_ns = later.to_wall_ns;
        self.length_ns += later.length_ns;
        self.windows += later.windows;
        self.accounts.join(&later.accounts);
        for (row, sum) in later.rows {
            self.rows.entry(row).or_default().add(&sum);
        }
        for (cpu, used) in later.cpus {
            let own = self.cpus.entry(cpu).or_default();
            own.busy_ns += used.busy_ns;
            own.length_ns += used.length_ns;
        }
    }
}

/// Collects pieces.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Windows per piece.
    each: u64,
    done: Vec<Slot>,
}

impl Slots {
    pub fn new() -> Slots {
        Slots { each: 1, done: Vec::new() }
    }

    pub fn take(&mut self, window: Slot) {
        match self.done.last_mut() {
            Some(last) if last.windows < self.each && window.goes_on => last.join(window),
            _ => {
                if self.done.len() == MOST {
                    self.halve();
                }
                self.done.push(window);
            }
        }
    }

    /// Joins each two pieces; across gaps only if there are too many gaps.
    fn halve(&mut self) {
        self.each *= 2;
        self.done = joined(std::mem::take(&mut self.done), 2, Gaps::Part);
        if self.done.len() > MOST - MOST / 4 {
            self.done = joined(std::mem::take(&mut self.done), 2, Gaps::Ignored);
        }
    }

    pub fn into_done(self) -> Vec<Slot> {
        self.done
    }
}

/// Treatment of gaps when pieces are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// A gap ends a piece.
    Part,
    /// Gaps are ignored.
    Ignored,
}

/// Joins each `each` pieces.
fn joined(slots: Vec<Slot>, each: usize, gaps: Gaps) -> Vec<Slot> {
    let mut out: Vec<Slot> = Vec::with_capacity(slots.len().div_ceil(each));
    let mut taken = each;
    for slot in slots {
        match out.last_mut() {
            Some(last) if taken < each && (slot.goes_on || gaps == Gaps::Ignored) => {
                last.join(slot);
                taken += 1;
            }
            _ => {
                out.push(slot);
                taken = 1;
            }
        }
    }
    out
}

/// Joins pieces so that at most `most` remain; the rest joins the last.
pub(crate) fn at_most(slots: &[Slot], most: usize) -> Vec<Slot> {
    let each = slots.len().div_ceil(most.max(1)).max(1);
    let mut out = joined(slots.to_vec(), each, Gaps::Ignored);
    if out.len() > 1 && !slots.len().is_multiple_of(each) {
        if let (Some(rest), Some(last)) = (out.pop(), out.last_mut()) {
            last.join(rest);
        }
    }
    out
}

/// Joins pieces for drawing: about `most`, none across a gap.
pub(crate) fn to_draw(slots: &[Slot], most: usize) -> Vec<Slot> {
    let each = slots.len().div_ceil(most.max(1)).max(1);
    joined(slots.to_vec(), each, Gaps::Part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_gaps_do_not_make_unlimited_pieces() {
        for goes_on in [0, 1, 2, 3, 50, 5000] {
            let mut slots = Slots::new();
            for n in 0..5000 {
                let (from, windows) = (10 * n, 1);
                let goes_on = goes_on > 0 && n % goes_on > 0;
                let (from_wall_ns, to_wall_ns) = (from.into(), i128::from(from) + 10);
                let slot = Slot {
                    from_wall_ns,
                    to_wall_ns,
                    length_ns: 10,
                    windows,
                    goes_on,
                    ..Slot::default()
                };
                slots.take(slot);
            }
            let done = slots.into_done();
            assert!(done.len() <= MOST, "{}", done.len());
            assert!(done.len() >= MOST / 8, "{}", done.len());
            assert_eq!(done.iter().map(|slot| slot.windows).sum::<u64>(), 5000);
        }
    }
}
