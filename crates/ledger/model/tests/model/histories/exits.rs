//! What ended, in groups as a source keeps them, and one by one to check those against.

use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{Comm, Counters, ExitSample};
use exactop_testkit::samples;

/// A task that ended, with what it did in the window it ended in.
#[derive(Clone, Copy, Debug)]
pub struct Gone {
    /// Its process, where only the thread ended.
    pub of: ProcessRef,
    pub ancestors: [ProcessRef; 8],
    pub comm: Comm,
    pub processes: u64,
    pub life_ns: u64,
    pub did: Counters,
}

struct Group {
    sample: ExitSample,
    /// Windows in which nobody was added.
    idle: u32,
}

#[derive(Default)]
pub struct Exits {
    groups: Vec<Group>,
    accounts: u64,
    /// Everyone who ended in the window that is open.
    pub gone: Vec<Gone>,
    /// The same for the window closed last.
    pub closed: Vec<Gone>,
}

impl Exits {
    /// Adds to the group of its process or parent and name.
    pub fn add(&mut self, gone: Gone) {
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

    /// Groups that nobody came to for two windows are given up; their like gets a new account.
    pub fn next_window(&mut self) {
        self.closed = std::mem::take(&mut self.gone);
        for group in &mut self.groups {
            group.idle += 1;
        }
        self.groups.retain(|g| g.idle < 3);
    }
}
