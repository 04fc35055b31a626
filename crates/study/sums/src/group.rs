//! Groups: the rows of a range, and their keys while names are still being read.

use exactop_model::owner::Owner;
use std::fmt;

/// A row's name, safe for every output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Name, escaped.
    pub name: String,
    /// PID and start of a single process.
    pub process: Option<(u32, u64)>,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some((pid, _)) => f.pad(&format!("{} ({pid})", self.name)),
            None => f.pad(&self.name),
        }
    }
}

/// Key of an owner while windows are read, before all names are known. The kernel's numbers are
/// unique within a boot; command names hold across boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    /// Index of the boot; `None` if the owner has no number.
    pub boot: Option<usize>,
    pub owner: Owner,
}

impl Id {
    pub const fn new(owner: Owner, boot: usize) -> Id {
        Id { boot: if owner.has_number() { Some(boot) } else { None }, owner }
    }
}

/// The unit of a control group: the outermost service, scope or the like in its path. For a user's
/// systemd, that unit's name follows the user's. Without a unit, the innermost slice.
pub fn unit_of(path: &str) -> Option<String> {
    const KINDS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];
    let is_unit = |part: &&str| KINDS.iter().any(|kind| part.ends_with(kind));
    let mut units = path.split('/').filter(is_unit);
    let Some(first) = units.next() else {
        return path.rsplit('/').find(|part| part.ends_with(".slice")).map(String::from);
    };
    let is_of_user = first.starts_with("user@") && first.ends_with(".service");
    Some(match units.next().filter(|_| is_of_user) {
        Some(unit) => format!("{first}/{unit}"),
        None => first.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_outermost_and_a_users_own_is_added() {
        for (path, unit) in [
            ("/system.slice/cron.service", Some("cron.service")),
            (
                "/user.slice/user-1.slice/user@1.service/app.slice/a.service/x",
                Some("user@1.service/a.service"),
            ),
            ("/system.slice/a.service/cron.service", Some("a.service")),
            ("/user.slice/user-1.slice/session-2.scope", Some("session-2.scope")),
            ("/user.slice", Some("user.slice")),
            ("/", None),
            ("/docker/12ab", None),
        ] {
            assert_eq!(unit_of(path).as_deref(), unit, "{path}");
        }
    }
}
