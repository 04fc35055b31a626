//! Whom figures belong to: by command, process, control group, unit or user.

use exactop_model::named::By as Named;
use exactop_model::workers::Workers;
use exactop_model::Comm;
use std::fmt;

/// What rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Everything of one command name: of the process that lives, else of what exited. The kernel's
    /// workers by pool: their names are numbers.
    Command,
    /// Control groups.
    Cgroup,
    /// Units of systemd, as control groups are named after them.
    Unit,
    /// Containers, as they were named when their control group was first seen.
    Container,
    /// Pods.
    Pod,
    /// Namespaces of kubernetes.
    Namespace,
    /// Users. Where it is not recorded whose exited tasks were (not by the ledger), they have a row of their own.
    User,
    /// Single processes; what exited, by its command name.
    Process,
}

impl By {
    /// Its name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            By::Command => "command",
            By::Cgroup => "cgroup",
            By::Unit => "unit",
            By::Container => "container",
            By::Pod => "pod",
            By::Namespace => "namespace",
            By::User => "user",
            By::Process => "process",
        }
    }
}

impl By {
    /// What the names of control groups say of it; `None`: it is not by those.
    pub(crate) const fn named(self) -> Option<Named> {
        match self {
            By::Unit => Some(Named::Unit),
            By::Container => Some(Named::Container),
            By::Pod => Some(Named::Pod),
            By::Namespace => Some(Named::Namespace),
            By::Command | By::Cgroup | By::User | By::Process => None,
        }
    }

    /// Whether it is by control groups, of which what exited has one, too.
    pub(crate) const fn by_groups(self) -> bool {
        matches!(self, By::Cgroup) || self.named().is_some()
    }
}

/// A row's name, harmless wherever it is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// What it is called, escaped.
    pub name: String,
    /// Of a single process.
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

/// The same while windows are read, when not all names are known yet. Numbers that the kernel gives
/// mean something within a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Command(Comm),
    Workers(Workers),
    Process(Process),
    Exited(Comm),
    Cgroup(Option<Numbered<u64>>),
    User(Option<Numbered<u32>>),
}

/// What has a number in a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Numbered<T> {
    /// Which boot of those that were read.
    pub boot: usize,
    pub number: T,
}

/// A process: its PID in a boot, and its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub pid: Numbered<u32>,
    pub start_ns: u64,
}

/// The unit that a control group was made for: the outermost service, scope or the like of its path, as what is below is
/// its own affair; of what a user's systemd started that unit's name behind it. Where there is none, the innermost slice.
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
    fn units_are_the_outermost_and_a_users_are_his() {
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
