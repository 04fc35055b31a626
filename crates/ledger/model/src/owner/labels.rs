//! Sums by several keys at once, under labels, for metrics and the fleet's tables.
//!
//! Names come from the system and may be hostile: here they are escaped and limited in length
//! before they become labels.

use super::{share, Charge, Grouping, Owner, Share};
use crate::ledger::book::Book;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::key::Ident;
use crate::ledger::named::Named;
use crate::ledger::window::Window;
use crate::text::escape::escape;
use rustc_hash::FxHashMap;

/// Kinds of wait, in the order of [`Usage::waits_ns`].
pub const WAITS: [(&str, Counter); 4] = [
    ("runqueue", Counter::LatNs),
    ("throttled", Counter::ThrottleNs),
    ("lock", Counter::LockNs),
    ("block", Counter::BlockNs),
];

/// Label of all groups without a place. No name of the system equals it, because a name that begins
/// with `~` gets a backslash.
pub const LABEL_OTHER: &str = "~other";
/// Label of the use of groups that lost their place.
pub const LABEL_LEFT: &str = "~left";
/// Label of an unknown name.
pub const LABEL_UNKNOWN: &str = "~unknown";
/// Label of all containers and pods that have an id and no name. With their ids, each new one would
/// add a label.
pub const LABEL_UNNAMED: &str = "~unnamed";

/// Longest label, in characters.
const LONGEST: usize = 128;

/// A sum over tasks. It has 128 bits: a machine with a thousand CPUs exceeds 64 bits in half a
/// year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time, ns.
    pub run_ns: u128,
    /// User part of it, ns.
    pub user_ns: u128,
    /// Kernel part of it, ns.
    pub system_ns: u128,
    /// Waits by kind, in the order of [`WAITS`], ns.
    pub waits_ns: [u128; 4],
    /// Kinds of wait that are unknown of a task in the sum.
    pub lacks: [bool; 4],
    /// Number of processes that exited.
    pub exited: u128,
}

impl Usage {
    /// Adds another sum.
    pub fn add(&mut self, other: &Usage) {
        self.run_ns += other.run_ns;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        for (sum, wait) in self.waits_ns.iter_mut().zip(other.waits_ns) {
            *sum += wait;
        }
        for (lacks, other) in self.lacks.iter_mut().zip(other.lacks) {
            *lacks |= other;
        }
        self.exited += other.exited;
    }

    /// CPU time that the tasks wanted, used or not, ns. Groups are ranked by it, so a starving
    /// group is not ranked low.
    pub fn demand_ns(&self) -> u128 {
        self.run_ns + self.waits_ns[0] + self.waits_ns[1]
    }

    /// Adds the known counters of a charge. Unknown time of a task's first window is not in the
    /// window's books either.
    fn post(&mut self, charge: &Charge<'_>) {
        let delta: &Counters = charge.counters;
        let known = |counter| u128::from(delta.get(counter).unwrap_or(0));
        let (user, system) = match delta.exact_split_ns() {
            Some((user, system)) => (user.into(), system.into()),
            None => (known(Counter::UtimeNs), known(Counter::StimeNs)),
        };
        self.run_ns += known(Counter::RunNs);
        self.user_ns += user;
        self.system_ns += system;
        for (sum, (_, counter)) in self.waits_ns.iter_mut().zip(WAITS) {
            *sum += known(counter);
        }
        for (lacks, (_, counter)) in self.lacks.iter_mut().zip(WAITS) {
            *lacks |= delta.lacks(counter);
        }
        self.exited += u128::from(charge.exited);
    }
}

/// Names of a control group, unescaped. `None`: the group belongs to no such thing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct CgroupNames {
    pub namespace: Option<String>,
    pub pod: Option<String>,
    pub container: Option<String>,
    pub unit: Option<String>,
}

impl From<&Named> for CgroupNames {
    fn from(named: &Named) -> CgroupNames {
        CgroupNames {
            namespace: named.namespace.clone(),
            pod: named.pod.clone(),
            container: named.container.clone(),
            unit: named.unit.clone(),
        }
    }
}

/// A source of names.
pub trait Names {
    /// Names of the control group with this id; `None`: unknown.
    fn cgroup(&self, id: u64) -> Option<CgroupNames>;

    /// Name of a user; `None`: the label is the number.
    fn user(&self, uid: u32) -> Option<String>;
}

/// The names of control groups that a window's book holds.
#[derive(Clone, Copy, Debug)]
pub struct BookNames<'a>(pub &'a Book);

impl Names for BookNames<'_> {
    fn cgroup(&self, id: u64) -> Option<CgroupNames> {
        Some(CgroupNames::from(&*self.0.group(id)?.named))
    }

    fn user(&self, _: u32) -> Option<String> {
        None
    }
}

/// No names: control groups belong to nothing, users have numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn cgroup(&self, _: u64) -> Option<CgroupNames> {
        Some(CgroupNames::default())
    }

    fn user(&self, _: u32) -> Option<String> {
        None
    }
}

/// The labels of a sum, in the order of the keys; `None`: the sum has no label of this key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(pub Vec<Option<String>>);

impl Labels {
    /// The same value for each key, for a group that is made up here.
    pub fn all(by: &[Grouping], value: &str) -> Labels {
        Labels(by.iter().map(|_| Some(value.to_string())).collect())
    }
}

/// All time of a window, by labels. `by` is a part of [`Grouping::LABELS`]. `book` yielded the window and
/// has not advanced since.
pub fn labelled(
    window: &Window,
    book: &Book,
    by: &[Grouping],
    names: &dyn Names,
) -> FxHashMap<Labels, Usage> {
    let mut sums: FxHashMap<Raw, Usage> = FxHashMap::default();
    share(window, book.stood(window), &mut |share| {
        sums.entry(Raw::from_share(&share, by, book)).or_default().post(&share.charge);
    });
    let mut naming = Naming::new(by, names, book);
    let mut labelled: FxHashMap<Labels, Usage> = FxHashMap::default();
    for (raw, usage) in sums {
        labelled.entry(naming.labels(&raw)).or_default().add(&usage);
    }
    labelled
}

/// The owners of a sum before they have names, in the order of [`Grouping::LABELS`]; `None`: the
/// key is not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Raw([Option<Owner>; Grouping::LABELS.len()]);

impl Raw {
    fn from_share(share: &Share<'_>, by: &[Grouping], book: &Book) -> Raw {
        Raw(Grouping::LABELS.map(|label| by.contains(&label).then(|| share.owner(label, book))))
    }

    fn from_ident(ident: &Ident, by: &[Grouping]) -> Raw {
        let owner = |label| Owner::from_ident(label, None, ident, ident);
        Raw(Grouping::LABELS.map(|label| by.contains(&label).then(|| owner(label))))
    }
}

/// Makes a label from a name of the system: escaped, limited in length and different from every
/// label made up here. A name that begins with `~` gets a backslash in front; no other escaped name
/// begins so.
fn value(name: &[u8]) -> String {
    bounded(escape(name))
}

/// Makes a label from an escaped name, as [`value`] does.
fn bounded(mut escaped: String) -> String {
    if escaped.starts_with('~') {
        escaped.insert(0, '\\');
    }
    if let Some((end, _)) = escaped.char_indices().nth(LONGEST) {
        escaped.truncate(end);
        escaped.push('…');
    }
    escaped
}

/// True for an id instead of a container's or pod's name: the first digits of a container's id,
/// with or without a user's unit in front, or the UID of a pod.
fn is_an_id(name: &str) -> bool {
    let id = name.rsplit('/').next().unwrap_or(name);
    let dashes = id.bytes().filter(|&b| b == b'-').count();
    let is_long_enough = matches!((id.len(), dashes), (12 | 32 | 64, 0) | (36, 4));
    is_long_enough && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// Cache of names for one window.
pub(crate) struct Naming<'a> {
    by: &'a [Grouping],
    names: &'a dyn Names,
    book: &'a Book,
    cgroups: FxHashMap<u64, Option<CgroupNames>>,
    users: FxHashMap<u32, String>,
}

impl<'a> Naming<'a> {
    pub fn new(by: &'a [Grouping], names: &'a dyn Names, book: &'a Book) -> Naming<'a> {
        Naming { by, names, book, cgroups: FxHashMap::default(), users: FxHashMap::default() }
    }

    /// Labels of a process with this leader.
    pub fn process(&mut self, leader: &Ident) -> Labels {
        self.labels(&Raw::from_ident(leader, self.by))
    }

    fn labels(&mut self, raw: &Raw) -> Labels {
        let owner = |by| raw.0[Grouping::LABELS.iter().position(|label| *label == by)?];
        Labels(self.by.iter().map(|&by| self.label(by, owner(by)?)).collect())
    }

    fn label(&mut self, by: Grouping, owner: Owner) -> Option<String> {
        match owner {
            Owner::User(Some(uid)) => Some(self.user(uid)),
            Owner::Group(id) => self.group(by, id),
            _ => Some(match owner.name(by, self.book) {
                (_, true) => LABEL_UNKNOWN.into(),
                (name, false) => bounded(name),
            }),
        }
    }

    fn group(&mut self, by: Grouping, id: Option<u64>) -> Option<String> {
        let names = self.names;
        let known = match id {
            Some(id) => self.cgroups.entry(id).or_insert_with(|| names.cgroup(id)).as_ref(),
            None => None,
        };
        let Some(known) = known else { return Some(LABEL_UNKNOWN.into()) };
        let (name, may_be_an_id) = match by {
            Grouping::Namespace => (&known.namespace, false),
            Grouping::Pod => (&known.pod, true),
            Grouping::Container => (&known.container, true),
            _ => (&known.unit, false),
        };
        name.as_ref().map(|name| match may_be_an_id && is_an_id(name) {
            true => LABEL_UNNAMED.into(),
            false => value(name.as_bytes()),
        })
    }

    fn user(&mut self, uid: u32) -> String {
        let names = self.names;
        let name =
            || names.user(uid).map_or_else(|| uid.to_string(), |name| value(name.as_bytes()));
        self.users.entry(uid).or_insert_with(name).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::key::Comm;

    #[test]
    fn no_system_name_equals_a_made_up_label() {
        for made_up in [LABEL_OTHER, LABEL_LEFT, LABEL_UNKNOWN, LABEL_UNNAMED] {
            assert_ne!(value(made_up.as_bytes()), made_up);
            assert_ne!(value(format!("\\{made_up}").as_bytes()), value(made_up.as_bytes()));
        }
        assert_eq!(value(b"~other"), "\\~other");
    }

    #[test]
    fn a_wait_that_is_unknown_of_one_task_is_unknown_of_the_sum() {
        let mut all = Counters::zero();
        let post = |counters: &Counters| {
            let mut usage = Usage::default();
            usage.post(&Charge { counters, tasks: 1, exited: 0 });
            usage.lacks
        };
        assert_eq!(post(&all), [false; 4]);
        assert_eq!(post(&Counters::unknown()), [false; 4], "its time is in no book");
        all.forget(Counter::ThrottleNs);
        assert_eq!(post(&all), [false, true, false, false]);
    }

    /// Names every container and pod by an id, as for new ones.
    struct Ids;

    impl Names for Ids {
        fn cgroup(&self, id: u64) -> Option<CgroupNames> {
            let container = match id % 3 {
                0 => format!("{id:012x}"),
                1 => format!("user@1000.service/{id:012x}"),
                _ => format!("{id:064x}"),
            };
            let uid = format!("9d2c0b1a-1f2e-4d3c-8b7a-{id:012}");
            let pod = if id.is_multiple_of(2) { uid } else { uid.replace('-', "") };
            let unit = Some("system.slice".into());
            Some(CgroupNames { container: Some(container), pod: Some(pod), unit, namespace: None })
        }

        fn user(&self, _: u32) -> Option<String> {
            None
        }
    }

    #[test]
    fn all_containers_and_pods_without_a_name_share_one_label() {
        let by = &Grouping::LABELS[..5];
        let book = Book::new();
        let mut naming = Naming::new(by, &Ids, &book);
        let owner = |by: Grouping, id| match by.is_of_group() {
            true => Owner::Group(Some(id)),
            false => Owner::Command(Comm::new(b"x")),
        };
        let raw =
            |id| Raw(Grouping::LABELS.map(|label| by.contains(&label).then(|| owner(label, id))));
        let first = naming.labels(&raw(0));
        let unnamed = Some(LABEL_UNNAMED.to_string());
        let unit = Some("system.slice".into());
        assert_eq!(first.0[..4], [None, unnamed.clone(), unnamed, unit]);
        assert!((1..100).all(|id| naming.labels(&raw(id)) == first));
        for name in
            ["web", "deadbeef", "cafe-cafe-cafe", "0123456789ab-web", "user@1000.service/x", ""]
        {
            assert!(!is_an_id(name), "{name}");
        }
    }

    #[test]
    fn labels_are_limited_in_length_and_escaped() {
        assert_eq!(value(b"a\nb\"\xff\\"), "a\\x0ab\"\\xff\\\\");
        let long = value("ü".repeat(1000).as_bytes());
        assert_eq!(long.chars().count(), LONGEST + 1);
        assert!(long.ends_with('…'));
        let widest = value(&[7; 4096]);
        assert!(widest.len() <= LONGEST * 4 + 3, "{}", widest.len());
    }
}
