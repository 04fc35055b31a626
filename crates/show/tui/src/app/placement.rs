//! The place of processes: the CPUs on which they may run, or their control group.

use super::target::ProcessAction;
use exactop_model::text::cpu_list::CpuList;

/// A new place for processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Run every thread only on these CPUs.
    Cpus(CpuList),
    /// Move to this control group; its name is escaped, as the pages show it.
    Group(String),
}

impl Placement {
    /// The place of an action's answer. `None`: nothing was typed.
    pub(super) fn parse(deed: ProcessAction, text: &str) -> Option<Result<Placement, String>> {
        match deed {
            _ if text.is_empty() => None,
            ProcessAction::Affinity => Some(text.parse().map(Placement::Cpus)),
            _ => Some(Ok(Placement::Group(text.into()))),
        }
    }

    /// The result in words.
    pub(crate) fn done(&self) -> String {
        match self {
            Placement::Cpus(cpus) => format!("CPUs {cpus} set"),
            Placement::Group(group) => format!("group {group} set"),
        }
    }
}
