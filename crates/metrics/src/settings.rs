//! What is set: what groups are made of, and how many there may be.

/// What a group is told by: a label of its series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Namespace of its pod.
    Namespace,
    /// Pod.
    Pod,
    /// Container.
    Container,
    /// Unit of systemd.
    Unit,
    /// Command name of the process.
    Command,
    /// Effective user; of what exited that at its end, where the source tells it.
    User,
}

impl Dimension {
    /// Every one, in the order of the labels.
    pub const ALL: [Dimension; 6] = [
        Dimension::Namespace,
        Dimension::Pod,
        Dimension::Container,
        Dimension::Unit,
        Dimension::Command,
        Dimension::User,
    ];

    /// The label, and the word in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Namespace => "namespace",
            Dimension::Pod => "pod",
            Dimension::Container => "container",
            Dimension::Unit => "unit",
            Dimension::Command => "command",
            Dimension::User => "user",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Dimension> {
        Dimension::ALL.into_iter().find(|dimension| dimension.name() == name)
    }

    /// Whether it is a name of the control group.
    pub(crate) const fn is_of_cgroup(self) -> bool {
        !matches!(self, Dimension::Command | Dimension::User)
    }
}

/// What is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What groups are told by, each once. With none, all is one group.
    pub by: Vec<Dimension>,
    /// How many groups have a series of their own, beside `~other` and `~left`.
    pub groups: usize,
    /// How long a new group stands at 0 before it counts; 0: for one scrape. Where several servers
    /// scrape, the longest of their intervals, so that each has seen the 0.
    pub zero_for_ns: u64,
    /// Tell user and system time of groups.
    pub modes: bool,
    /// Tell what groups waited for.
    pub waits: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            by: vec![
                Dimension::Namespace,
                Dimension::Pod,
                Dimension::Container,
                Dimension::Unit,
                Dimension::Command,
            ],
            groups: 100,
            zero_for_ns: 0,
            modes: true,
            waits: true,
        }
    }
}

impl Settings {
    /// Whether groups are told by one of these.
    pub(crate) fn has(&self, dimension: Dimension) -> bool {
        self.by.contains(&dimension)
    }

    /// Whether the control group matters.
    pub(crate) fn by_cgroup(&self) -> bool {
        self.by.iter().any(|dimension| dimension.is_of_cgroup())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_is_found_by_its_name() {
        for dimension in Dimension::ALL {
            assert_eq!(Dimension::named(dimension.name()), Some(dimension));
        }
        assert_eq!(Dimension::named("pid"), None);
    }
}
