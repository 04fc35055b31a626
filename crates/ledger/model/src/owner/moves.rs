//! Settles moves between control groups.
//!
//! At each move the ledger adds the task's figures *so far* in the window to the pair (from, to). The
//! window holds a task's figures under the group in which the task ends the window. So the order of
//! moves is neither recorded nor needed.
//!
//! Example: a task uses 10 in a, 20 in b and 40 in a. The window holds 70 under a, with moves a→b
//! of 10 and b→a of 30. The balance of each group, given minus taken, is +10 − 30 = −20 for a and
//! +30 − 10 = +20 for b. Addition has no order, so chains, moves there and back and several tasks at
//! once come out right. Partial sums may be negative; only the balance counts.

use crate::ledger::counters::{Counter, Counters};
use crate::ledger::snapshot::GroupMove;
use std::collections::BTreeMap;

/// Figures that the window holds under one group and that were used in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub from: u64,
    /// All known.
    pub used: Counters,
}

/// For each group that holds the figures: those used in other groups. The result does not depend on
/// the order of the moves.
pub(super) fn transfers(moves: &[GroupMove]) -> BTreeMap<u64, Vec<Transfer>> {
    let mut sums: BTreeMap<(u64, u64), Counters> = BTreeMap::new();
    for moved in moves.iter().filter(|moved| moved.from != moved.to) {
        let sum = sums.entry((moved.to, moved.from)).or_insert_with(Counters::zero);
        moved.used.known().for_each(|(counter, used)| sum.bump(counter, used));
    }
    let mut settled: BTreeMap<(u64, u64), Counters> = BTreeMap::new();
    for &counter in Counter::ALL {
        settle(&sums, counter, &mut settled);
    }
    let mut transfers: BTreeMap<u64, Vec<Transfer>> = BTreeMap::new();
    for ((to, from), used) in settled {
        transfers.entry(to).or_default().push(Transfer { from, used });
    }
    transfers
}

/// Settles one counter: groups with a positive balance get from groups with a negative one. Pairs
/// between which a task moved come first.
fn settle(
    sums: &BTreeMap<(u64, u64), Counters>,
    counter: Counter,
    settled: &mut BTreeMap<(u64, u64), Counters>,
) {
    let mut balance: BTreeMap<u64, i128> = BTreeMap::new();
    for (&(to, from), used) in sums {
        let used = i128::from(used.get(counter).unwrap_or(0));
        *balance.entry(from).or_default() += used;
        *balance.entry(to).or_default() -= used;
    }
    let mut debts = BTreeMap::new();
    let mut claims = BTreeMap::new();
    for (group, balance) in balance {
        let side = if balance < 0 { &mut debts } else { &mut claims };
        side.insert(group, u64::try_from(balance.unsigned_abs()).unwrap_or(u64::MAX));
    }
    let mut pay = |to: u64, debt: &mut u64, from: u64, claim: &mut u64| {
        let part = (*debt).min(*claim);
        if part > 0 {
            *debt -= part;
            *claim -= part;
            settled.entry((to, from)).or_insert_with(Counters::zero).bump(counter, part);
        }
    };
    for &(to, from) in sums.keys() {
        if let (Some(debt), Some(claim)) = (debts.get_mut(&to), claims.get_mut(&from)) {
            pay(to, debt, from, claim);
        }
    }
    debts.retain(|_, debt| *debt > 0);
    claims.retain(|_, claim| *claim > 0);
    let mut claims = claims.into_iter();
    let mut next = claims.next();
    for (to, mut debt) in debts {
        while let Some((from, claim)) = next.as_mut().filter(|_| debt > 0) {
            pay(to, &mut debt, *from, claim);
            if *claim == 0 {
                next = claims.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::samples;

    fn moved(from: u64, to: u64, run_ns: u64) -> GroupMove {
        samples::moved(from, to, [(Counter::RunNs, run_ns)])
    }

    fn run(moves: &[GroupMove]) -> Vec<(u64, u64, u64)> {
        let of = |(to, all): (u64, Vec<Transfer>)| {
            let run_ns = |transfer: &Transfer| transfer.used.get(Counter::RunNs).expect("known");
            all.into_iter().map(move |transfer| (to, transfer.from, run_ns(&transfer)))
        };
        transfers(moves).into_iter().flat_map(of).collect()
    }

    #[test]
    fn moves_to_and_fro_and_in_chains_settle_in_any_order() {
        // 10 in 1, 20 in 2, 40 in 1.
        assert_eq!(run(&[moved(1, 2, 10), moved(2, 1, 30)]), [(1, 2, 20)]);
        assert_eq!(run(&[moved(2, 1, 30), moved(1, 2, 10)]), [(1, 2, 20)]);
        // 10 in 1, 20 in 2, then 3.
        assert_eq!(run(&[moved(2, 3, 30), moved(1, 2, 10)]), [(3, 1, 10), (3, 2, 20)]);
        assert_eq!(run(&[moved(1, 2, 10), moved(2, 3, 30)]), [(3, 1, 10), (3, 2, 20)]);
        // A circle leaves nothing to transfer.
        assert_eq!(run(&[moved(1, 2, 10), moved(2, 1, 10), moved(3, 3, 5)]), []);
    }
}
