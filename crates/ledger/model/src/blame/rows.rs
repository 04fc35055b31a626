//! The blame book under a key: victims, each with its culprits.

use super::{Blame, Booked, Culprit, Party, Waits};
use crate::owner::{Grouping, Owner, OwnerNames, LABEL_OTHER};
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Keys of the blame book.
pub const KEYS: [Grouping; 7] = [
    Grouping::Cgroup,
    Grouping::Container,
    Grouping::Pod,
    Grouping::Unit,
    Grouping::User,
    Grouping::Session,
    Grouping::Command,
];

/// Name of [`Culprit::Hidden`] under every key.
pub const OTHER_USERS: &str = "other users";

/// What kind of culprit a row's wait was booked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[allow(missing_docs)] // Their names say it; see `Culprit`.
pub enum CulpritKind {
    /// Another owner.
    Group,
    /// The victim itself.
    Own,
    Interrupts,
    Steal,
    Idle,
    /// Kernel threads.
    Kernel,
    Throttled,
    Brief,
    Older,
    Other,
}

impl CulpritKind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Serialize for CulpritKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// A culprit of a victim. Serialized as in docs/reference/json.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CulpritRow {
    /// Name, escaped; of kernel threads their command name or pool.
    pub culprit: String,
    /// Its kind.
    pub kind: CulpritKind,
    /// What was booked to it.
    #[serde(flatten)]
    pub booked: Booked,
}

/// An owner whose tasks waited. Serialized as in docs/reference/json.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VictimRow {
    /// Name, escaped.
    pub victim: String,
    /// Waits of its tasks.
    #[serde(flatten)]
    pub waits: Waits,
    /// Its culprits, the worst first.
    pub culprits: Vec<CulpritRow>,
}

impl VictimRow {
    /// The part of its waits that has a culprit, ns.
    pub fn booked_ns(&self) -> u64 {
        self.culprits.iter().map(|culprit| culprit.booked.ns).sum()
    }
}

/// The blame book of a window under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// Start of the window, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End of the window.
    pub t1_ns: u64,
    /// The key.
    pub by: Grouping,
    /// Differences between waits and pairs, ns; the same under every key.
    pub residual_ns: u64,
    /// Victims, the longest wait first.
    pub rows: Vec<VictimRow>,
}

/// A row while it is summed: waits, and culprits by kind and name.
#[derive(Debug, Default)]
struct Sum {
    waits: Waits,
    culprits: BTreeMap<(CulpritKind, String), Booked>,
}

/// The blame books of one window or more under a key, while they are summed.
#[derive(Debug, Default)]
pub struct BlamedSums {
    /// Number of windows.
    pub windows: u64,
    /// Differences between waits and pairs of each window, ns; the same under every key.
    pub residual_ns: u64,
    sums: BTreeMap<String, Sum>,
}

impl BlamedSums {
    /// Adds a window's book. `user` names a user.
    pub fn add(
        &mut self,
        blame: &Blame,
        by: Grouping,
        names: &dyn OwnerNames,
        user: &mut dyn FnMut(u32) -> Option<String>,
    ) {
        let mut name = |party: &Option<Party>| owner_name(party, by, names, user);
        let sums = &mut self.sums;
        for (party, waits) in &blame.waits {
            sums.entry(name(party)).or_default().waits.add(waits);
        }
        for ((victim, culprit), booked) in &blame.pairs {
            let row = name(victim);
            let kind_and_name = match culprit {
                Culprit::Task(party)
                    if party.may_be_own_of(victim) && name(&Some(*party)) == row =>
                {
                    (CulpritKind::Own, row.clone())
                }
                Culprit::Task(party) if party.kthread => (CulpritKind::Kernel, pool(party, names)),
                Culprit::Task(party) => (CulpritKind::Group, name(&Some(*party))),
                other => kind_and_name(*other),
            };
            sums.entry(row).or_default().culprits.entry(kind_and_name).or_default().add(booked);
        }
        self.windows += 1;
        self.residual_ns += blame.residual_ns();
    }

    /// Victims, the longest wait first.
    pub fn into_rows(self) -> Vec<VictimRow> {
        let mut rows: Vec<VictimRow> = self.sums.into_iter().map(row).collect();
        rows.sort_by_key(|row| Reverse(row.waits.lat_ns));
        rows
    }
}

impl Blamed {
    /// Sums a window's book. `user` names a user.
    pub fn new(
        blame: &Blame,
        (t0_ns, t1_ns): (u64, u64),
        by: Grouping,
        names: &dyn OwnerNames,
        user: &mut dyn FnMut(u32) -> Option<String>,
    ) -> Blamed {
        let mut sums = BlamedSums::default();
        sums.add(blame, by, names, user);
        Blamed { t0_ns, t1_ns, by, residual_ns: sums.residual_ns, rows: sums.into_rows() }
    }

    /// The book of some victims alone. The residual stays that of the whole book.
    #[must_use]
    pub fn retain_victims(mut self, is_shown: impl Fn(&str) -> bool) -> Blamed {
        self.rows.retain(|row| is_shown(&row.victim));
        self
    }
}

/// The name of a party's owner under a key, escaped. `user` names a user.
pub(super) fn owner_name(
    party: &Option<Party>,
    by: Grouping,
    names: &dyn OwnerNames,
    user: &mut dyn FnMut(u32) -> Option<String>,
) -> String {
    let Some(party) = party else { return LABEL_OTHER.into() };
    let ident = party.ident();
    match Owner::from_ident(by, None, &ident, &ident) {
        Owner::User(Some(uid)) => user(uid).unwrap_or_else(|| uid.to_string()),
        owner => owner.name(by, names).0,
    }
}

/// The pool or command name of kernel threads.
fn pool(party: &Party, names: &dyn OwnerNames) -> String {
    let ident = party.ident();
    Owner::from_ident(Grouping::Command, None, &ident, &ident).name(Grouping::Command, names).0
}

impl Culprit {
    /// Its kind. A task's is [`CulpritKind::Group`]: without a key no owner is the victim.
    pub fn kind(self) -> CulpritKind {
        match self {
            Culprit::Task(_) | Culprit::Hidden => CulpritKind::Group,
            Culprit::Interrupts => CulpritKind::Interrupts,
            Culprit::Steal => CulpritKind::Steal,
            Culprit::Idle => CulpritKind::Idle,
            Culprit::Throttled => CulpritKind::Throttled,
            Culprit::Brief => CulpritKind::Brief,
            Culprit::Older => CulpritKind::Older,
            Culprit::Other => CulpritKind::Other,
        }
    }
}

fn kind_and_name(culprit: Culprit) -> (CulpritKind, String) {
    let kind = culprit.kind();
    let name = match culprit {
        Culprit::Other => LABEL_OTHER,
        Culprit::Hidden => OTHER_USERS,
        _ => kind.name(),
    };
    (kind, name.into())
}

fn row((victim, sum): (String, Sum)) -> VictimRow {
    let culprit = |((kind, culprit), booked)| CulpritRow { culprit, kind, booked };
    let mut culprits: Vec<CulpritRow> = sum.culprits.into_iter().map(culprit).collect();
    culprits.sort_by_key(|culprit| Reverse(culprit.booked.ns));
    VictimRow { victim, waits: sum.waits, culprits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::key::Comm;

    fn party(comm: &[u8], uid: u32, kthread: bool) -> Party {
        Party { cgroup_id: 1, uid, session: 7, comm: Comm::new(comm), kthread }
    }

    fn book() -> Blame {
        let (web, batch, worker) =
            (party(b"web", 1, false), party(b"batch", 2, false), party(b"kworker/0:1", 0, true));
        let mut blame = Blame::default();
        let waits =
            |lat_ns, in_flight_delta_ns| Waits { lat_ns, dispatches: 1, in_flight_delta_ns };
        blame.wait(Some(web), waits(110, 10));
        blame.wait(None, waits(5, 0));
        for (culprit, ns) in [
            (Culprit::Task(batch), 60),
            (Culprit::Task(web), 20),
            (Culprit::Task(worker), 15),
            (Culprit::Brief, 5),
        ] {
            blame.book(Some(web), culprit, Booked { ns, times: 1 });
        }
        blame.book(None, Culprit::Other, Booked { ns: 5, times: 1 });
        blame
    }

    #[test]
    fn the_sums_agree_under_every_key_and_close() {
        let book = book();
        for by in KEYS {
            let blamed = Blamed::new(&book, (0, 1), by, &(), &mut |_| None);
            assert_eq!(blamed.residual_ns, 0, "{by}");
            assert_eq!(blamed.rows.iter().map(|row| row.waits.lat_ns).sum::<i64>(), 115, "{by}");
            for row in &blamed.rows {
                let closes = row.booked_ns() as i64 + row.waits.in_flight_delta_ns;
                assert_eq!(row.waits.lat_ns, closes, "{by} {}", row.victim);
            }
        }
    }

    #[test]
    fn a_culprit_is_another_owner_the_own_one_or_the_kernels() {
        let blamed = Blamed::new(&book(), (0, 1), Grouping::Command, &(), &mut |_| None);
        let told: Vec<_> =
            blamed.rows[0].culprits.iter().map(|c| (c.culprit.as_str(), c.kind.name())).collect();
        let pool = "kworker (each CPU's)";
        assert_eq!(
            told,
            [("batch", "group"), ("web", "own"), (pool, "kernel"), ("brief", "brief")]
        );
        assert_eq!(blamed.rows[1].victim, "~other");
    }

    /// The kworkers of this group and user are not the group and the user.
    #[test]
    fn a_kernel_thread_is_the_kernel_in_the_victims_own_group_and_user() {
        let (shell, worker) = (party(b"sh", 0, false), party(b"kworker/0:1", 0, true));
        let mut blame = Blame::default();
        for victim in [shell, worker] {
            blame.book(Some(victim), Culprit::Task(worker), Booked { ns: 5, times: 1 });
        }
        let kinds = |by| {
            let rows = Blamed::new(&blame, (0, 1), by, &(), &mut |_| None).rows;
            let mut kinds: Vec<_> =
                rows.iter().flat_map(|row| &row.culprits).map(|c| c.kind.name()).collect();
            kinds.sort_unstable();
            kinds
        };
        // The worker's own wait for workers is for its own owner.
        for by in [Grouping::Cgroup, Grouping::User, Grouping::Command] {
            assert_eq!(kinds(by), ["kernel", "own"], "{by}");
        }
    }

    #[test]
    fn a_missing_booking_is_a_residual_whatever_others_have_too_much() {
        let mut book = book();
        book.book(None, Culprit::Idle, Booked { ns: 4, times: 1 });
        let web = *book.waits.keys().find(|party| party.is_some()).expect("a party");
        book.pairs.remove(&(web, Culprit::Brief));
        assert_eq!(book.residual_ns(), 9);
    }
}
