//! Keys by which time is summed: the one list of their names, for options, settings, labels and
//! tables.

use crate::ledger::named::UNKNOWN;
use crate::text::did_you_mean::nearest;
use std::fmt;

/// Key by which time is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grouping {
    /// Command name of the process; kernel workers by pool.
    Command,
    /// Effective user of the task.
    User,
    /// Control group of the task, without the groups below it.
    Cgroup,
    /// systemd unit of the control group.
    Unit,
    /// Container of the control group.
    Container,
    /// Pod of the control group.
    Pod,
    /// Kubernetes namespace of the control group.
    Namespace,
    /// Process; exited processes by command name.
    Process,
    /// Session of the process (setsid(2)).
    Session,
    /// The whole machine.
    Host,
}

impl Grouping {
    /// All keys for the time of one machine.
    pub const MACHINE: [Grouping; 9] = [
        Grouping::Command,
        Grouping::User,
        Grouping::Cgroup,
        Grouping::Unit,
        Grouping::Container,
        Grouping::Pod,
        Grouping::Namespace,
        Grouping::Process,
        Grouping::Session,
    ];

    /// Pages of totals, in the order of the key that turns them. The process list is a page of its
    /// own.
    pub const PAGES: [Grouping; 8] = [
        Grouping::Command,
        Grouping::User,
        Grouping::Cgroup,
        Grouping::Unit,
        Grouping::Container,
        Grouping::Pod,
        Grouping::Namespace,
        Grouping::Session,
    ];

    /// Labels of metrics and columns of `charges`, in their order.
    pub const LABELS: [Grouping; 7] = [
        Grouping::Namespace,
        Grouping::Pod,
        Grouping::Container,
        Grouping::Unit,
        Grouping::Command,
        Grouping::User,
        Grouping::Session,
    ];

    /// Keys of the fleet's tables.
    pub const FLEET: [Grouping; 6] = [
        Grouping::Host,
        Grouping::Namespace,
        Grouping::Pod,
        Grouping::Container,
        Grouping::Unit,
        Grouping::Command,
    ];

    /// Name in options, settings, JSON and labels.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// Help of the option.
    pub const fn help(self) -> &'static str {
        self.words().1
    }

    /// Name of the row for tasks without an owner of this kind.
    pub const fn none(self) -> &'static str {
        self.words().2
    }

    /// Name, help and name of the row for the rest.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        const UNKNOWN_EXITED: &str = "(exited, owner unknown)";
        match self {
            Grouping::Command => (
                "command",
                "Command names, exited processes included; the kernel's workers by pool",
                UNKNOWN_EXITED,
            ),
            Grouping::User => ("user", "Users; exited processes as of their exit", UNKNOWN_EXITED),
            Grouping::Cgroup => {
                ("cgroup", "Control groups, each without the groups below it", UNKNOWN)
            }
            Grouping::Unit => {
                ("unit", "systemd units, the outermost of each path; else slices", "(in no unit)")
            }
            Grouping::Container => (
                "container",
                "Containers, by name; those of pods as NAMESPACE/POD/CONTAINER",
                "(in no container)",
            ),
            Grouping::Pod => ("pod", "Pods, as NAMESPACE/POD", "(in no pod)"),
            Grouping::Namespace => ("namespace", "Namespaces of kubernetes", "(in no namespace)"),
            Grouping::Process => {
                ("process", "Single processes; exited ones by command name", UNKNOWN_EXITED)
            }
            Grouping::Session => {
                ("session", "Sessions, by id and leader; exited tasks as of their exit", "-")
            }
            Grouping::Host => ("host", "Machines", "(no host)"),
        }
    }

    /// True if the control group decides the owner.
    pub const fn is_of_group(self) -> bool {
        match self {
            Grouping::Cgroup
            | Grouping::Unit
            | Grouping::Container
            | Grouping::Pod
            | Grouping::Namespace => true,
            Grouping::Command
            | Grouping::User
            | Grouping::Process
            | Grouping::Session
            | Grouping::Host => false,
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// The name is none of `offered`.
    pub fn parse(word: &str, offered: &[Grouping]) -> Result<Grouping, UnknownGrouping> {
        let found = offered.iter().copied().find(|by| by.name() == word);
        found.ok_or_else(|| {
            let offered: Vec<&'static str> = offered.iter().map(|by| by.name()).collect();
            let meant = nearest(word, offered.iter().copied());
            let meant = offered.iter().copied().find(|name| Some(*name) == meant);
            UnknownGrouping { word: word.into(), meant, offered }
        })
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`Grouping`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGrouping {
    /// The text.
    pub word: String,
    /// The name that the user probably meant.
    pub meant: Option<&'static str>,
    /// The names that are accepted here.
    pub offered: Vec<&'static str>,
}

impl fmt::Display for UnknownGrouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is none of {}", self.word.escape_debug(), self.offered.join(", "))?;
        match self.meant {
            Some(meant) => write!(f, ": did you mean '{meant}'?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownGrouping {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_parses_only_where_it_is_offered() {
        for offered in
            [&Grouping::MACHINE[..], &Grouping::PAGES, &Grouping::LABELS, &Grouping::FLEET]
        {
            for by in Grouping::MACHINE.into_iter().chain([Grouping::Host]) {
                let is_offered = offered.contains(&by);
                assert_eq!(Grouping::parse(by.name(), offered).is_ok(), is_offered, "{by}");
            }
        }
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        let error = Grouping::parse("comand", &Grouping::LABELS).expect_err("a slip").to_string();
        let words = "namespace, pod, container, unit, command, user, session";
        assert_eq!(error, format!("'comand' is none of {words}: did you mean 'command'?"));
        let error = Grouping::parse("p\x1bid", &Grouping::FLEET).expect_err("no word");
        assert_eq!(error.to_string().matches('\x1b').count(), 0);
    }
}
