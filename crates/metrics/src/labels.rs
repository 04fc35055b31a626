//! What groups are called. Names come from the system, so they are hostile: escaped and bounded here,
//! before they are anybody's label.

use crate::charge::Raw;
use crate::settings::{Dimension, Settings};
use exactop_model::escape::escape;
use exactop_model::named::Named;
use rustc_hash::FxHashMap;

/// What a control group is called, as the system has it: not escaped. `None`: it is in no such thing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct CgroupNames {
    pub namespace: Option<String>,
    pub pod: Option<String>,
    pub container: Option<String>,
    pub unit: Option<String>,
}

impl CgroupNames {
    /// As windows have it.
    pub fn of(named: &Named) -> CgroupNames {
        CgroupNames {
            namespace: named.namespace.clone(),
            pod: named.pod.clone(),
            container: named.container.clone(),
            unit: named.unit.clone(),
        }
    }
}

/// Who knows names.
pub trait Names {
    /// What a control group is called, by its id; `None`: it is not known.
    fn cgroup(&self, id: u64) -> Option<CgroupNames>;

    /// What a user is called; `None`: his number stands for him.
    fn user(&self, uid: u32) -> Option<String>;
}

/// Nobody who knows: control groups are in nothing, users have numbers.
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

/// All groups that have no place. No name of the system is this: before a `~` in front a label has a backslash.
pub const OTHER: &str = "~other";
/// What groups had used that lost their place.
pub(crate) const LEFT: &str = "~left";
/// A name that is not known.
pub const UNKNOWN: &str = "~unknown";
/// All containers and pods of which nothing is known but an id: each that is made has another.
pub const UNNAMED: &str = "~unnamed";

/// The longest name, in characters.
const LONGEST: usize = 128;

/// A group's values of the dimensions that are set, in their order; `None`: it has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(pub Vec<Option<String>>);

impl Labels {
    /// With the same in each: a group made up here.
    pub fn all(by: &[Dimension], value: &str) -> Labels {
        Labels(by.iter().map(|_| Some(value.to_string())).collect())
    }
}

/// A name of the system as a label: harmless, bounded, and none that is made up here. What is escaped
/// begins with a backslash that no other name yields.
fn value(name: &[u8]) -> String {
    let mut escaped = escape(name);
    if escaped.starts_with('~') {
        escaped.insert(0, '\\');
    }
    if let Some((end, _)) = escaped.char_indices().nth(LONGEST) {
        escaped.truncate(end);
        escaped.push('…');
    }
    escaped
}

/// Whether it is an id that stands for a container or a pod without a name: the first digits, with the
/// unit of a user in front or without, or the UID of a pod.
fn is_an_id(name: &str) -> bool {
    let id = name.rsplit('/').next().unwrap_or(name);
    let dashes = id.bytes().filter(|&b| b == b'-').count();
    let is_long_enough = matches!((id.len(), dashes), (12 | 32 | 64, 0) | (36, 4));
    is_long_enough && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// Names, asked for once in a window.
pub struct Naming<'a> {
    settings: &'a Settings,
    names: &'a dyn Names,
    cgroups: FxHashMap<u64, Option<CgroupNames>>,
    users: FxHashMap<u32, String>,
}

impl<'a> Naming<'a> {
    /// Nothing was asked for yet.
    pub fn new(settings: &'a Settings, names: &'a dyn Names) -> Naming<'a> {
        let (cgroups, users) = (FxHashMap::default(), FxHashMap::default());
        Naming { settings, names, cgroups, users }
    }

    /// What a group is called.
    pub fn labels(&mut self, raw: &Raw) -> Labels {
        let by: &'a [Dimension] = &self.settings.by;
        Labels(by.iter().map(|&dimension| self.label(dimension, raw)).collect())
    }

    fn label(&mut self, dimension: Dimension, raw: &Raw) -> Option<String> {
        match dimension {
            Dimension::Command => Some(value(raw.comm.bytes())),
            Dimension::User => Some(raw.uid.map_or_else(|| UNKNOWN.into(), |uid| self.user(uid))),
            of_cgroup => {
                let Some(id) = raw.cgroup else { return Some(UNKNOWN.into()) };
                let names = self.names;
                let known = self.cgroups.entry(id).or_insert_with(|| names.cgroup(id));
                let Some(known) = known else { return Some(UNKNOWN.into()) };
                let (name, may_be_an_id) = match of_cgroup {
                    Dimension::Namespace => (&known.namespace, false),
                    Dimension::Pod => (&known.pod, true),
                    Dimension::Container => (&known.container, true),
                    _ => (&known.unit, false),
                };
                name.as_ref().map(|name| match may_be_an_id && is_an_id(name) {
                    true => UNNAMED.into(),
                    false => value(name.as_bytes()),
                })
            }
        }
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

    #[test]
    fn no_name_of_the_system_is_one_made_up_here() {
        for made_up in [OTHER, LEFT, UNKNOWN, UNNAMED] {
            assert_ne!(value(made_up.as_bytes()), made_up);
            assert_ne!(value(format!("\\{made_up}").as_bytes()), value(made_up.as_bytes()));
        }
        assert_eq!(value(b"~other"), "\\~other");
    }

    /// Containers and pods by their ids, as they come one after the other.
    struct Ids;

    impl Names for Ids {
        fn cgroup(&self, id: u64) -> Option<CgroupNames> {
            let container = match id % 3 {
                0 => format!("{id:012x}"),
                1 => format!("user@1000.service/{id:012x}"),
                _ => format!("{id:064x}"),
            };
            let uid = format!("9d2c0b1a-1f2e-4d3c-8b7a-{id:012}");
            let pod = if id % 2 == 0 { uid } else { uid.replace('-', "") };
            let unit = Some("system.slice".into());
            Some(CgroupNames { container: Some(container), pod: Some(pod), unit, namespace: None })
        }

        fn user(&self, _: u32) -> Option<String> {
            None
        }
    }

    #[test]
    fn containers_and_pods_without_a_name_are_one_however_many_come() {
        let settings = Settings::default();
        let mut naming = Naming::new(&settings, &Ids);
        let raw = |id| Raw { comm: exactop_model::Comm::new(b"x"), cgroup: Some(id), uid: None };
        let first = naming.labels(&raw(0));
        let unnamed = Some(UNNAMED.to_string());
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
    fn names_are_bounded_and_harmless() {
        assert_eq!(value(b"a\nb\"\xff\\"), "a\\x0ab\"\\xff\\\\");
        let long = value("ü".repeat(1000).as_bytes());
        assert_eq!(long.chars().count(), LONGEST + 1);
        assert!(long.ends_with('…'));
        let widest = value(&[7; 4096]);
        assert!(widest.len() <= LONGEST * 4 + 3, "{}", widest.len());
    }
}
