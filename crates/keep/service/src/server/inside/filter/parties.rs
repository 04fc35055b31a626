//! The parties of the blame book that a reader in a PID namespace may see: every task of the party
//! is inside. A party is known by its processes, and by the tasks that exited in the window.

use exactop_model::blame::Party;
use exactop_model::{ExitSample, TaskSample};
use rustc_hash::FxHashMap;

/// Processes of a party in this window.
#[derive(Debug, Default)]
struct Members {
    inside: usize,
    outside: usize,
}

impl Members {
    fn count(&mut self, is_inside: bool) -> &mut usize {
        match is_inside {
            true => &mut self.inside,
            false => &mut self.outside,
        }
    }
}

/// All parties, and where their processes are.
#[derive(Debug, Default)]
pub(super) struct Parties {
    members: FxHashMap<Party, Members>,
    /// Processes that left their party in this window. The window's book still has their waits.
    left: Vec<(Party, bool)>,
}

impl Parties {
    /// A process has a party now, and had another one before.
    pub fn change(&mut self, before: Option<Party>, now: Option<Party>, is_inside: bool) {
        if before != now {
            self.left.extend(before.map(|party| (party, is_inside)));
            if let Some(party) = now {
                *self.members.entry(party).or_default().count(is_inside) += 1;
            }
        }
    }

    /// Processes of a party exited in this window.
    pub fn exit(&mut self, party: Option<Party>, is_inside: bool) {
        self.change(None, party, is_inside);
        self.change(party, None, is_inside);
    }

    /// True if a process of this party was inside in this window, and none outside.
    pub fn is_inside(&self, party: &Party) -> bool {
        self.members.get(party).is_some_and(|of| of.inside > 0 && of.outside == 0)
    }

    /// Forgets the parties that processes left in this window.
    pub fn end_window(&mut self) {
        for (party, is_inside) in self.left.drain(..) {
            let Some(members) = self.members.get_mut(&party) else { continue };
            *members.count(is_inside) -= 1;
            if members.inside + members.outside == 0 {
                self.members.remove(&party);
            }
        }
    }
}

/// The party of a process; `None` for another thread than its leader, which has its leader's name.
pub(super) fn of_task(task: &TaskSample) -> Option<Party> {
    task.key.is_leader().then(|| Party::from_ident(&task.ident))
}

/// The party of exited tasks; `None` if their user is unknown.
pub(super) fn of_exit(exit: &ExitSample) -> Option<Party> {
    let (cgroup_id, session) =
        (exit.cgroup_id.unwrap_or_default(), exit.session.unwrap_or_default());
    Some(Party { cgroup_id, uid: exit.uid?, session, comm: exit.comm, kthread: false })
}
