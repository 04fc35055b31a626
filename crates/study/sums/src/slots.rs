//! A stretch in pieces of time: windows, or as many of them together as there are too many.

use crate::accounts::Accounts;
use rustc_hash::FxHashMap;

/// So many pieces are kept at most; with one more, each two become one.
const MOST: usize = 480;

/// What one group used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Executing.
    pub run_ns: u64,
    pub(crate) irq_ns: u64,
    pub(crate) steal_ns: u64,
    /// Units of the work that was asked for.
    pub work: u64,
    /// Of some of it the work is not known.
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

/// How long a CPU executed tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuUse {
    pub busy_ns: u64,
    pub length_ns: u64,
}

/// A piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// When it begins, ns since the epoch.
    pub from_wall_ns: i128,
    /// When it ends.
    pub to_wall_ns: i128,
    /// How long its windows are together.
    pub length_ns: u64,
    /// How many they are.
    pub windows: u64,
    /// It begins where the one before ends: no gap and no boot lies between.
    pub goes_on: bool,
    /// Where the time went.
    pub accounts: Accounts,
    /// What each row used, by its number.
    pub rows: FxHashMap<u32, Sum>,
    /// How each CPU was used.
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

/// The pieces, as they come.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Windows of each.
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

    /// Each two become one; over gaps only where these are so many that there is no other way.
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

/// What becomes of gaps when pieces are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// A piece ends where one begins.
    Part,
    /// They do not matter.
    Ignored,
}

/// Each so many become one.
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

/// At most so many pieces, each of as many of those; what is left over belongs to the last.
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

/// About so many pieces, none of which goes over a gap: to be drawn.
pub(crate) fn to_draw(slots: &[Slot], most: usize) -> Vec<Slot> {
    let each = slots.len().div_ceil(most.max(1)).max(1);
    joined(slots.to_vec(), each, Gaps::Part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_gaps_do_not_make_pieces_without_end() {
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
