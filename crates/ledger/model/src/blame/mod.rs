//! The blame book: who had the CPU while a task waited for it.
//!
//! The ledger books each wait to pairs of a waiting party and a culprit. A party is what an owner
//! under every key is made of, so [`rows`](rows::Blamed) under every key are sums of the same pairs.
//! For each party, its waits equal its pairs and the change of what is in flight: waits as of the
//! window's end that no dispatch has ended yet. Waits come from the tasks' own accounts and pairs from the
//! CPUs', so a difference is a residual.

pub mod labels;
pub mod rows;
pub mod size_rows;
pub mod sizes;

use crate::ledger::key::{Comm, Ident};
use rustc_hash::FxHashMap;
use serde::Serialize;
use sizes::Sizes;

/// What an owner under every key is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party {
    /// Control group by the kernel's id.
    pub cgroup_id: u64,
    /// Effective user.
    pub uid: u32,
    /// Session id, as in [`Ident::session`].
    pub session: u32,
    /// Command name of the process.
    pub comm: Comm,
    /// True for a kernel thread.
    pub kthread: bool,
}

impl Party {
    /// The party of a process with this leader. An id that is not known is 0 in the book.
    pub fn from_ident(leader: &Ident) -> Party {
        let Ident { comm, uid, session, cgroup_id, kthread, .. } = *leader;
        let (cgroup_id, session) = (cgroup_id.unwrap_or_default(), session.unwrap_or_default());
        Party { cgroup_id, uid, session, comm, kthread }
    }

    /// True if a process with this leader is of this party.
    pub(crate) fn is_of(&self, leader: &Ident) -> bool {
        *self == Party::from_ident(leader)
    }

    /// True if waits for this party may be for the victim's own owner. A kernel thread that keeps a
    /// user's task from running is the kernel, also in one group or under one user.
    pub(crate) fn may_be_own_of(&self, victim: &Option<Party>) -> bool {
        !self.kthread || victim.is_some_and(|victim| victim.kthread)
    }

    /// The identity of its tasks, as far as it decides their owner.
    pub(crate) fn ident(&self) -> Ident {
        Ident {
            comm: self.comm,
            uid: self.uid,
            session: Some(self.session),
            cgroup_id: Some(self.cgroup_id),
            kthread: self.kthread,
            ..Ident::default()
        }
    }
}

/// What a task waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Culprit {
    /// A task of this party was on the CPU.
    Task(Party),
    /// Interrupts took the CPU from the task on it, while they are measured.
    Interrupts,
    /// The hypervisor took the CPU from the task on it.
    Steal,
    /// The CPU was idle: it was waking up.
    Idle,
    /// The task's own quota was used up.
    Throttled,
    /// The wait was too short to look for a culprit.
    Brief,
    /// The wait began before the stays that the CPU remembers, or the kernel hid its end.
    Older,
    /// A task without an account, or no room in the table.
    Other,
    /// Tasks of all parties that the reader may not see.
    Hidden,
}

/// Waits of a party in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Time runnable without a CPU, throttled time included, summed over tasks, ns. Signed, because a
    /// difference of two accounts must show whatever it is.
    pub lat_ns: i64,
    /// How often its tasks came onto a CPU.
    pub dispatches: i64,
    /// Increase of the waits that are not booked yet, ns.
    pub in_flight_delta_ns: i64,
}

impl Waits {
    /// Adds other waits.
    pub fn add(&mut self, other: &Waits) {
        self.lat_ns += other.lat_ns;
        self.dispatches += other.dispatches;
        self.in_flight_delta_ns += other.in_flight_delta_ns;
    }

    /// Takes them away.
    pub fn take(&mut self, other: &Waits) {
        self.lat_ns -= other.lat_ns;
        self.dispatches -= other.dispatches;
        self.in_flight_delta_ns -= other.in_flight_delta_ns;
    }
}

/// Waits that were booked to a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Booked {
    /// Time, ns.
    pub ns: u64,
    /// Number of parts of waits: a culprit's stays on the CPU that a task waited for.
    pub times: u64,
}

impl Booked {
    /// Adds another pair's.
    pub fn add(&mut self, other: &Booked) {
        self.ns = self.ns.wrapping_add(other.ns);
        self.times += other.times;
    }
}

/// The blame book of a window. A party of `None` has no place in the table of parties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blame {
    /// The waits of each party.
    pub waits: FxHashMap<Option<Party>, Waits>,
    /// What was booked to each pair.
    pub pairs: FxHashMap<(Option<Party>, Culprit), Booked>,
    /// The histograms of each party's waits; empty if none are kept.
    pub sizes: FxHashMap<Option<Party>, Sizes>,
}

impl Blame {
    /// Adds to the waits of a party.
    pub fn wait(&mut self, party: Option<Party>, waits: Waits) {
        if waits != Waits::default() {
            self.waits.entry(party).or_default().add(&waits);
        }
    }

    /// Adds to a pair.
    pub fn book(&mut self, victim: Option<Party>, culprit: Culprit, booked: Booked) {
        self.pairs.entry((victim, culprit)).or_default().add(&booked);
    }

    /// Adds the next window.
    pub fn add(&mut self, next: &Blame) {
        for (party, waits) in &next.waits {
            self.wait(*party, *waits);
        }
        for ((victim, culprit), booked) in &next.pairs {
            self.book(*victim, *culprit, *booked);
        }
        for (party, sizes) in &next.sizes {
            self.sizes.entry(*party).or_default().add(sizes);
        }
    }

    /// The book for a reader that may not see every party. `seen` gives a party as the reader sees
    /// it. A hidden party is no victim, and as a culprit it is [`Culprit::Hidden`], so the waits of
    /// each victim still equal its pairs.
    #[must_use]
    pub fn seen(&self, mut seen: impl FnMut(Party) -> Option<Party>) -> Blame {
        let mut book = Blame::default();
        let mut victim = |party: Option<Party>| match party {
            Some(party) => seen(party).map(Some),
            None => Some(None),
        };
        for (party, waits) in &self.waits {
            if let Some(party) = victim(*party) {
                book.wait(party, *waits);
            }
        }
        for ((party, culprit), booked) in &self.pairs {
            let Some(party) = victim(*party) else { continue };
            let culprit = match *culprit {
                Culprit::Task(task) => match victim(Some(task)).flatten() {
                    Some(task) => Culprit::Task(task),
                    None => Culprit::Hidden,
                },
                other => other,
            };
            book.book(party, culprit, *booked);
        }
        for (party, sizes) in &self.sizes {
            if let Some(party) = victim(*party) {
                book.sizes.entry(party).or_default().add(sizes);
            }
        }
        book
    }

    /// Differences between the parties' waits and their histograms, summed without sign, ns.
    pub fn hist_residual_ns(&self) -> u64 {
        self.sizes.values().map(|sizes| sizes.residual_ns().unsigned_abs()).sum()
    }

    /// Differences between the parties' waits and their pairs, summed without sign, ns.
    pub fn residual_ns(&self) -> u64 {
        let mut left: FxHashMap<Option<Party>, i64> = FxHashMap::default();
        for (party, waits) in &self.waits {
            *left.entry(*party).or_default() += waits.lat_ns - waits.in_flight_delta_ns;
        }
        for ((victim, _), booked) in &self.pairs {
            let left = left.entry(*victim).or_default();
            *left = left.wrapping_sub(booked.ns as i64);
        }
        left.values().map(|left| left.unsigned_abs()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn party(number: u8) -> Party {
        let comm = Comm::new(&[b'a' + number]);
        Party { cgroup_id: number.into(), uid: 0, session: 0, comm, kthread: false }
    }

    fn culprit(number: u8) -> Culprit {
        match number {
            0 => Culprit::Brief,
            1 => Culprit::Other,
            number => Culprit::Task(party(number - 2)),
        }
    }

    /// A book of six parties and none, and which of the parties the reader may see.
    fn books() -> impl Strategy<Value = (Blame, [bool; 6])> {
        let victim = 0..7_u8;
        let pair = (victim.clone(), 0..8_u8, 0..1_000_u64);
        let wait = (victim, -1_000..1_000_i64, -10..10_i64);
        let lists = (prop::collection::vec(pair, 0..40), prop::collection::vec(wait, 0..10));
        (lists, any::<[bool; 6]>()).prop_map(|((pairs, waits), seen)| {
            let (mut book, victim) = (Blame::default(), |n: u8| (n < 6).then(|| party(n)));
            for (n, to, ns) in pairs {
                book.book(victim(n), culprit(to), Booked { ns, times: 1 });
            }
            for (n, lat_ns, in_flight_delta_ns) in waits {
                book.wait(victim(n), Waits { lat_ns, dispatches: 1, in_flight_delta_ns });
            }
            (book, seen)
        })
    }

    fn sums(book: &Blame, victim: Option<Party>, of: impl Fn(&Culprit) -> bool) -> Booked {
        let mut sum = Booked::default();
        for ((_, _), booked) in
            book.pairs.iter().filter(|((v, culprit), _)| *v == victim && of(culprit))
        {
            sum.add(booked);
        }
        sum
    }

    proptest! {
        #[test]
        fn hidden_culprits_are_one_and_the_sums_stay_the_same((book, may_see) in books()) {
            let is_seen = |party: &Party| may_see[party.cgroup_id as usize];
            let seen = book.seen(|party| is_seen(&party).then_some(party));
            let is_hidden = |culprit: &Culprit| match culprit {
                Culprit::Task(party) => !is_seen(party),
                culprit => *culprit == Culprit::Hidden,
            };
            for victim in (0..6).map(|n| Some(party(n))).chain([None]) {
                if victim.is_some_and(|party| !is_seen(&party)) {
                    prop_assert!(!seen.waits.contains_key(&victim));
                    prop_assert_eq!(sums(&seen, victim, |_| true), Booked::default());
                    continue;
                }
                prop_assert_eq!(seen.waits.get(&victim), book.waits.get(&victim));
                prop_assert_eq!(sums(&seen, victim, |_| true), sums(&book, victim, |_| true));
                let hidden = seen.pairs.get(&(victim, Culprit::Hidden)).copied();
                let summed = sums(&book, victim, is_hidden);
                prop_assert_eq!(hidden.unwrap_or_default(), summed);
                for number in 0..8 {
                    let pair = (victim, culprit(number));
                    let kept = Some(&pair).filter(|(_, culprit)| !is_hidden(culprit));
                    prop_assert_eq!(seen.pairs.get(&pair), kept.and_then(|pair| book.pairs.get(pair)));
                }
            }
            let mut left_out = book.clone();
            left_out.waits.retain(|victim, _| victim.is_none_or(|party| is_seen(&party)));
            left_out.pairs.retain(|(victim, _), _| victim.is_none_or(|party| is_seen(&party)));
            prop_assert_eq!(seen.residual_ns(), left_out.residual_ns());
        }
    }
}
