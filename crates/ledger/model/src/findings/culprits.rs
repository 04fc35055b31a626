//! Who had the CPU while a program waited, from the window's blame book.

use super::{Finding, FindingKind};
use crate::blame::{Blame, Culprit, Party};
use crate::ledger::book::Book;
use crate::ledger::key::Comm;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// Most culprits of a finding; the worst stay.
const MOST: usize = 2;

/// The part of a program's waits that is behind one culprit.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// The culprit.
    pub who: CulpritOwner,
    /// Part of all booked waits but those for a quota, 0..1.
    pub part: f64,
}

/// A culprit of a program's waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CulpritOwner {
    /// Another program, and the path of its control group, raw bytes, if it was read.
    Program(Comm, Option<Vec<u8>>),
    /// Threads of the program itself.
    Own,
    /// Kernel threads of this name.
    Kernel(Comm),
    /// Any other.
    Other(Culprit),
}

/// The worst culprits of some parties.
pub(crate) fn culprits(
    blame: &Blame,
    is_victim: impl Fn(&Party) -> bool,
    book: &Book,
) -> Vec<Behind> {
    let booked = || {
        let is_theirs = |victim: &Option<Party>| victim.as_ref().is_some_and(&is_victim);
        let pairs = blame.pairs.iter().filter(move |((victim, _), _)| is_theirs(victim));
        pairs.filter(|((_, culprit), _)| *culprit != Culprit::Throttled)
    };
    let victims: FxHashSet<Option<Party>> = booked().map(|((victim, _), _)| *victim).collect();
    let mut sums: FxHashMap<CulpritOwner, u64> = FxHashMap::default();
    for ((_, culprit), booked) in booked() {
        let who = match culprit {
            Culprit::Task(party) if victims.contains(&Some(*party)) => CulpritOwner::Own,
            Culprit::Task(party) if party.kthread => CulpritOwner::Kernel(party.comm),
            Culprit::Task(party) => {
                let path = book.group(party.cgroup_id).map(|group| group.path.clone());
                CulpritOwner::Program(party.comm, path)
            }
            other => CulpritOwner::Other(*other),
        };
        *sums.entry(who).or_default() += booked.ns;
    }
    let all_ns = sums.values().sum::<u64>().max(1);
    let mut sums: Vec<(CulpritOwner, u64)> = sums.into_iter().collect();
    sums.sort_by(|(who, ns), (other, less)| (Reverse(ns), who).cmp(&(Reverse(less), other)));
    let behind = |(who, ns)| Behind { who, part: ns as f64 / all_ns as f64 };
    sums.into_iter().take(MOST).map(behind).collect()
}

/// Moves each finding on a cause above the first finding that names it as its worst culprit.
pub(super) fn causes_first(found: &mut [Finding]) {
    for at in 0..found.len() {
        let FindingKind::Waited(waited) = &found[at].what else { continue };
        let Some(worst) = waited.culprits.first() else { continue };
        let is_cause = |finding: &Finding| match (&finding.what, &worst.who) {
            (FindingKind::ShortLived(lives), CulpritOwner::Program(comm, _)) => {
                lives.comm == *comm || lives.under == Some(*comm)
            }
            (FindingKind::Stolen { .. }, CulpritOwner::Other(Culprit::Steal)) => true,
            _ => false,
        };
        if let Some(cause) = (at + 1..found.len()).find(|&n| is_cause(&found[n])) {
            found[at..=cause].rotate_right(1);
        }
    }
}
