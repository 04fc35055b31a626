//! The place of processes: the CPUs on which they may run, or their control group.

use super::question::{Answer, Prompt, Question};
use super::target::{all, ProcessAction, Target};
use super::{Action, App};
use crate::app::action::HostAction;
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
    fn parse(deed: ProcessAction, text: &str) -> Option<Result<Placement, String>> {
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

/// The targets in words: one with its PID, several with their count.
fn in_words(targets: &[Target]) -> String {
    match targets {
        [target] => target.shown(),
        targets => all(targets),
    }
}

impl Prompt {
    /// Asks for the CPUs or the group of these processes.
    pub(super) fn for_placement(deed: ProcessAction, targets: Vec<Target>) -> Prompt {
        let whom = in_words(&targets);
        let label = match deed {
            ProcessAction::Affinity => format!("CPUs for {whom}, as in 0-3,5"),
            _ => format!("control group for {whom}, as in /a/b"),
        };
        Prompt::new(Question::Placement(deed, targets), label, None)
    }
}

/// Asks to confirm the typed place.
pub(super) fn confirm(deed: ProcessAction, targets: &[Target], text: &str) -> Answer {
    let placement = match Placement::parse(deed, text) {
        Some(Ok(placement)) => placement,
        Some(Err(why)) => return Answer::Bad(why),
        None => return Answer::Nothing,
    };
    let whom = in_words(targets);
    let label = match &placement {
        Placement::Cpus(cpus) => format!("run {whom} only on CPUs {cpus}?"),
        Placement::Group(group) => format!("move {whom} to group {group}?"),
    };
    Answer::Ask(Prompt::new(Question::PlacementConfirm(targets.to_vec(), placement), label, None))
}

impl App {
    /// Requests the confirmed place for the targets that are still the same processes.
    pub(super) fn on_placement(&mut self, targets: Vec<Target>, placement: Placement) -> Action {
        match self.still_there(targets) {
            targets if targets.is_empty() => Action::Draw,
            targets => Action::Host(HostAction::Place(targets, placement)),
        }
    }
}
