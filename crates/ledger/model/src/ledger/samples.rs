//! Samples without any activity: a task, an exited group, a CPU and a machine. Code that makes up
//! snapshots starts with them and sets only the fields it needs.

use crate::ledger::audit::TaskAudit;
use crate::ledger::key::Comm;
use crate::ledger::provenance::{Provenance, SourceKind};
use crate::ledger::snapshot::{GroupMove, ProcessRef};
use crate::{
    AccountId, Counter, Counters, CpuSample, ExitSample, Ident, MicroState, Snapshot, TaskKey,
    TaskSample,
};

/// A task that has slept since its birth.
pub fn task(account: u64, key: TaskKey, ident: Ident) -> TaskSample {
    TaskSample {
        account: AccountId(account),
        key,
        ident,
        state: MicroState::Sleep,
        letter: 'S',
        since_ns: 0,
        last_cpu: None,
        threads: None,
        tree: 0,
        counters: Counters::zero(),
        audit: TaskAudit::default(),
    }
}

/// An exited group without tasks.
pub fn exited(account: u64, ancestors: [ProcessRef; 8], comm: Comm) -> ExitSample {
    ExitSample::empty(AccountId(account), ancestors, comm)
}

/// A move between two control groups with some figures.
pub fn moved<const N: usize>(from: u64, to: u64, used: [(Counter, u64); N]) -> GroupMove {
    let mut moved = GroupMove { from, to, ..GroupMove::default() };
    used.into_iter().for_each(|(counter, used)| moved.used.set(counter, used));
    moved
}

/// An online CPU, with steal measured.
pub fn cpu(cpu: u32) -> CpuSample {
    let (steal_ns, steal_idle_ns) = (Some(0), Some(0));
    CpuSample { cpu, online: true, steal_ns, steal_idle_ns, ..CpuSample::default() }
}

/// A machine without tasks.
pub fn snapshot(source: SourceKind, at_ns: u64) -> Snapshot {
    Snapshot::empty(Provenance::new(source), at_ns)
}
