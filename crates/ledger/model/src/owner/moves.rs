//! Settles moves between control groups.
//!
//! At each move the ledger adds the task's use *so far* in the window to the pair (from, to). The
//! window holds a task's figures under the group in which the task ends the window. So the order of
//! moves is neither recorded nor needed.
//!
//! Example: a task uses 10 in a, 20 in b and 40 in a. The window holds 70 under a, with moves a→b
//! of 10 and b→a of 30. The balance of each group, given minus taken, is +10 − 30 = −20 for a and
//! +30 − 10 = +20 for b. Addition has no order, so chains, moves there and back and several tasks at
//! once come out right. Partial sums may be negative; only the balance counts.

use crate::ledger::counters::Counter;
use crate::ledger::snapshot::GroupMove;
use std::collections::BTreeMap;

/// Counters of a move, in the order of [`Moved`].
pub(super) const MOVED: [Counter; 3] = [Counter::RunNs, Counter::LatNs, Counter::ThrottleNs];

/// Time by [`MOVED`], ns.
pub(super) type Moved = [u64; MOVED.len()];

/// Time that the window holds under one group and that was used in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub from: u64,
    pub ns: Moved,
}

/// For each group that holds the time: the time used in other groups. The result does not depend on
/// the order of the moves.
pub(super) fn transfers(moves: &[GroupMove]) -> BTreeMap<u64, Vec<Transfer>> {
    let mut sums: BTreeMap<(u64, u64), Moved> = BTreeMap::new();
    for moved in moves.iter().filter(|moved| moved.from != moved.to) {
        let ns = [moved.run_ns, moved.lat_ns, moved.throttle_ns];
        let sum = sums.entry((moved.to, moved.from)).or_default();
        sum.iter_mut().zip(ns).for_each(|(sum, ns)| *sum += ns);
    }
    let mut settled: BTreeMap<(u64, u64), Moved> = BTreeMap::new();
    for figure in 0..MOVED.len() {
        settle(&sums, figure, &mut settled);
    }
    let mut transfers: BTreeMap<u64, Vec<Transfer>> = BTreeMap::new();
    for ((to, from), ns) in settled {
        transfers.entry(to).or_default().push(Transfer { from, ns });
    }
    transfers
}

/// Settles one counter: groups with a positive balance get time from groups with a negative one.
/// Pairs between which a task moved come first.
fn settle(
    sums: &BTreeMap<(u64, u64), Moved>,
    figure: usize,
    settled: &mut BTreeMap<(u64, u64), Moved>,
) {
    let mut balance: BTreeMap<u64, i128> = BTreeMap::new();
    for (&(to, from), ns) in sums {
        *balance.entry(from).or_default() += i128::from(ns[figure]);
        *balance.entry(to).or_default() -= i128::from(ns[figure]);
    }
    let mut debts = BTreeMap::new();
    let mut claims = BTreeMap::new();
    for (group, ns) in balance {
        let side = if ns < 0 { &mut debts } else { &mut claims };
        side.insert(group, u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX));
    }
    let mut pay = |to: u64, debt: &mut u64, from: u64, claim: &mut u64| {
        let ns = (*debt).min(*claim);
        if ns > 0 {
            *debt -= ns;
            *claim -= ns;
            settled.entry((to, from)).or_default()[figure] += ns;
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

    fn moved(from: u64, to: u64, run_ns: u64) -> GroupMove {
        GroupMove { from, to, run_ns, ..GroupMove::default() }
    }

    fn run(moves: &[GroupMove]) -> Vec<(u64, u64, u64)> {
        let of = |(to, all): (u64, Vec<Transfer>)| {
            all.into_iter().map(move |transfer| (to, transfer.from, transfer.ns[0]))
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
