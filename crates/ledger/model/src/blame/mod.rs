//! The blame book: who had the CPU while a task waited for it.
//!
//! The ledger books each wait to pairs of a waiting party and a culprit. A party is what an owner
//! under every key is made of, so [`rows`](rows::Blamed) under every key are sums of the same pairs.
//! For each party, its waits equal its pairs and the change of what is in flight: waits as of the
//! window's end that no dispatch has ended yet. Waits come from the tasks' own accounts and pairs from the
//! CPUs', so a difference is a residual.

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
    /// True if a process with this leader is of this party.
    pub(crate) fn is_of(&self, leader: &Ident) -> bool {
        let Ident { comm, uid, session, cgroup_id, kthread, .. } = leader;
        // An id that is not known is 0 in the book.
        let ids = (cgroup_id.unwrap_or_default(), session.unwrap_or_default());
        (self.cgroup_id, self.session) == ids
            && (self.comm, self.uid, self.kthread) == (*comm, *uid, *kthread)
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
    /// The wait began before the stays that the CPU remembers.
    Older,
    /// A task without an account, or no room in the table.
    Other,
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
    fn add(&mut self, other: &Booked) {
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
