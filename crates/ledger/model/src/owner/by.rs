//! What time is summed by: the one list of these words, for options, settings, labels and tables.

use crate::ledger::named::UNKNOWN;
use crate::text::did_you_mean::nearest;
use std::fmt;

/// What time is summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
    /// The command name of the process; the kernel's workers by pool.
    Command,
    /// The effective user of the task.
    User,
    /// The control group of the task, each for itself.
    Cgroup,
    /// The systemd unit of the control group.
    Unit,
    /// The container of the control group.
    Container,
    /// The pod of the control group.
    Pod,
    /// The Kubernetes namespace of the control group.
    Namespace,
    /// The process; exited processes by command name.
    Process,
    /// The machine: everything on it.
    Host,
}

impl By {
    /// Every way to sum one machine's time.
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

    /// The pages of totals, in the order in which a key turns them. The process list is a page of its own.
    pub const PAGES: [By; 7] =
        [By::Command, By::User, By::Cgroup, By::Unit, By::Container, By::Pod, By::Namespace];

    /// The labels of metrics and columns of `charges`, in their order.
    pub const LABELS: [By; 6] =
        [By::Namespace, By::Pod, By::Container, By::Unit, By::Command, By::User];

    /// What the tables of a fleet are summed by.
    pub const FLEET: [By; 6] =
        [By::Host, By::Namespace, By::Pod, By::Container, By::Unit, By::Command];

    /// Its word, in options, settings, JSON and labels.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What an option's help says of it.
    pub const fn help(self) -> &'static str {
        self.words().1
    }

    /// The row of tasks that have no owner of this kind.
    pub const fn none(self) -> &'static str {
        self.words().2
    }

    /// Its word, its help and the name of the rest.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        const UNTOLD: &str = "(exited, whose is not told)";
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

    /// True if the control group decides.
    pub const fn is_of_group(self) -> bool {
        match self {
            By::Cgroup | By::Unit | By::Container | By::Pod | By::Namespace => true,
            By::Command | By::User | By::Process | By::Host => false,
        }
    }

    /// Parses a word.
    ///
    /// # Errors
    /// The word is none of `offered`.
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

/// A word that names no [`By`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBy {
    /// The word.
    pub word: String,
    /// The word that was probably meant.
    pub meant: Option<&'static str>,
    /// Every word that is accepted here.
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
    fn every_word_is_parsed_where_it_is_offered_and_nowhere_else() {
        for offered in [&By::MACHINE[..], &By::PAGES, &By::LABELS, &By::FLEET] {
            for by in By::MACHINE.into_iter().chain([By::Host]) {
                let is_offered = offered.contains(&by);
                assert_eq!(By::parse(by.name(), offered).is_ok(), is_offered, "{by}");
            }
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_word_that_was_meant() {
        let error = By::parse("comand", &By::LABELS).expect_err("a slip").to_string();
        let words = "namespace, pod, container, unit, command, user";
        assert_eq!(error, format!("'comand' is none of {words}: did you mean 'command'?"));
        let error = By::parse("p\x1bid", &By::FLEET).expect_err("no word");
        assert_eq!(error.to_string().matches('\x1b').count(), 0);
    }
}
