//! Keys by which time is summed: the one list of their names, for options, settings, labels and
//! tables.

use crate::ledger::named::UNKNOWN;
use crate::text::did_you_mean::nearest;
use std::fmt;

/// Key by which time is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
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
    /// The whole machine.
    Host,
}

impl By {
    /// All keys for the time of one machine.
    pub const MACHINE: [By; 8] = [
        By::Command,
        By::User,
        By::Cgroup,
        By::Unit,
        By::Container,
        By::Pod,
        By::Namespace,
        By::Process,
    ];

    /// Pages of totals, in the order of the key that turns them. The process list is a page of its
    /// own.
    pub const PAGES: [By; 7] =
        [By::Command, By::User, By::Cgroup, By::Unit, By::Container, By::Pod, By::Namespace];

    /// Labels of metrics and columns of `charges`, in their order.
    pub const LABELS: [By; 6] =
        [By::Namespace, By::Pod, By::Container, By::Unit, By::Command, By::User];

    /// Keys of the fleet's tables.
    pub const FLEET: [By; 6] =
        [By::Host, By::Namespace, By::Pod, By::Container, By::Unit, By::Command];

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
        const UNTOLD: &str = "(exited, owner unknown)";
        match self {
            By::Command => (
                "command",
                "Command names, what exited included; the kernel's workers by pool",
                UNTOLD,
            ),
            By::User => ("user", "Users; of what exited, at its end", UNTOLD),
            By::Cgroup => ("cgroup", "Control groups, each for itself", UNKNOWN),
            By::Unit => {
                ("unit", "Units of systemd, the innermost outside of containers", "(in no unit)")
            }
            By::Container => (
                "container",
                "Containers, by name; those of pods as NAMESPACE/POD/CONTAINER",
                "(in no container)",
            ),
            By::Pod => ("pod", "Pods, as NAMESPACE/POD", "(in no pod)"),
            By::Namespace => ("namespace", "Namespaces of kubernetes", "(in no namespace)"),
            By::Process => ("process", "Single processes; what exited by command name", UNTOLD),
            By::Host => ("host", "Machines", "(no host)"),
        }
    }

    /// True if the control group decides the owner.
    pub const fn is_of_group(self) -> bool {
        match self {
            By::Cgroup | By::Unit | By::Container | By::Pod | By::Namespace => true,
            By::Command | By::User | By::Process | By::Host => false,
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// The name is none of `offered`.
    pub fn parse(word: &str, offered: &[By]) -> Result<By, UnknownBy> {
        let found = offered.iter().copied().find(|by| by.name() == word);
        found.ok_or_else(|| {
            let offered: Vec<&'static str> = offered.iter().map(|by| by.name()).collect();
            let meant = nearest(word, offered.iter().copied());
            let meant = offered.iter().copied().find(|name| Some(*name) == meant);
            UnknownBy { word: word.into(), meant, offered }
        })
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`By`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBy {
    /// The text.
    pub word: String,
    /// The name that the user probably meant.
    pub meant: Option<&'static str>,
    /// The names that are accepted here.
    pub offered: Vec<&'static str>,
}

impl fmt::Display for UnknownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is none of {}", self.word.escape_debug(), self.offered.join(", "))?;
        match self.meant {
            Some(meant) => write!(f, ": did you mean '{meant}'?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownBy {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_parses_only_where_it_is_offered() {
        for offered in [&By::MACHINE[..], &By::PAGES, &By::LABELS, &By::FLEET] {
            for by in By::MACHINE.into_iter().chain([By::Host]) {
                let is_offered = offered.contains(&by);
                assert_eq!(By::parse(by.name(), offered).is_ok(), is_offered, "{by}");
            }
        }
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        let error = By::parse("comand", &By::LABELS).expect_err("a slip").to_string();
        let words = "namespace, pod, container, unit, command, user";
        assert_eq!(error, format!("'comand' is none of {words}: did you mean 'command'?"));
        let error = By::parse("p\x1bid", &By::FLEET).expect_err("no word");
        assert_eq!(error.to_string().matches('\x1b').count(), 0);
    }
}
