//! Exited tasks, in groups as a source keeps them, and one by one to check the groups.

use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{Comm, Counters, ExitSample};
use exactop_testkit::samples;

/// An exited task with its use in the window of the exit.
#[derive(Clone, Copy, Debug)]
pub struct ExitedTask {
    /// The process, if only a thread exited.
    pub of: ProcessRef,
    pub ancestors: [ProcessRef; 8],
    pub comm: Comm,
    pub processes: u64,
    pub life_ns: u64,
    pub did: Counters,
}

struct Group {
    sample: ExitSample,
    /// Number of windows without an exit.
    idle: u32,
}

#[derive(Default)]
pub struct Exits {
    groups: Vec<Group>,
    accounts: u64,
    /// Tasks that exited in the open window.
    pub gone: Vec<ExitedTask>,
    /// Tasks that exited in the last closed window.
    pub closed: Vec<ExitedTask>,
}

impl Exits {
    /// Adds a task to the group of its process, or of its parent and name.
    pub fn add(&mut self, gone: ExitedTask) {
        self.gone.push(gone);
        let same = |g: &&mut Group| {
            let s = &g.sample;
            s.of == gone.of && s.ancestors[0] == gone.ancestors[0] && s.comm == gone.comm
        };
        if !self.groups.iter_mut().any(|g| same(&g)) {
            self.accounts += 1;
            let empty = samples::exited(self.accounts, gone.ancestors, gone.comm);
            self.groups.push(Group { sample: ExitSample { of: gone.of, ..empty }, idle: 0 });
        }
        let Some(group) = self.groups.iter_mut().find(same) else { return };
        group.idle = 0;
        group.sample.tasks += 1;
        group.sample.processes += gone.processes;
        group.sample.life_ns += gone.life_ns;
        group.sample.counters.add(&gone.did);
    }

    pub fn samples(&self) -> Vec<ExitSample> {
        self.groups.iter().map(|g| g.sample).collect()
    }

    /// Begins the next window. A group without exits for two windows ends; a later exit gets a new
    /// account.
    pub fn next_window(&mut self) {
        self.closed = std::mem::take(&mut self.gone);
        for group in &mut self.groups {
            group.idle += 1;
        }
        self.groups.retain(|g| g.idle < 3);
    }
}
