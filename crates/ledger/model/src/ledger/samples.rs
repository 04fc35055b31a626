//! Samples of a task, an exited group, a CPU and a machine to which nothing has happened yet, for code that makes
//! snapshots up: it sets only what its subject is.

use crate::ledger::audit::{ExitAudit, TaskAudit};
use crate::ledger::key::Comm;
use crate::ledger::provenance::{Provenance, SourceKind};
use crate::ledger::snapshot::{CostSample, ProcessRef};
use crate::ledger::system::System;
use crate::{
    AccountId, Counters, CpuSample, ErrorCounts, ExitSample, Ident, MicroState, Snapshot, TaskKey,
    TaskSample,
};

/// A task that sleeps, and did all along.
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

/// An exited group that nobody is in.
pub fn exited(account: u64, ancestors: [ProcessRef; 8], comm: Comm) -> ExitSample {
    ExitSample {
        account: AccountId(account),
        of: ProcessRef::default(),
        ancestors,
        comm,
        cgroup_id: None,
        uid: None,
        tree: 0,
        processes: 0,
        tasks: 0,
        life_ns: 0,
        counters: Counters::zero(),
        audit: ExitAudit::default(),
    }
}

/// A CPU that is online, with steal measured.
pub fn cpu(cpu: u32) -> CpuSample {
    let (steal_ns, steal_idle_ns) = (Some(0), Some(0));
    CpuSample { cpu, online: true, steal_ns, steal_idle_ns, ..CpuSample::default() }
}

/// A machine without anybody.
pub fn snapshot(source: SourceKind, at_ns: u64) -> Snapshot {
    Snapshot {
        at_ns,
        provenance: Provenance::new(source),
        complete: true,
        tasks: Vec::new(),
        gone: Vec::new(),
        exited: Vec::new(),
        moves: Vec::new(),
        groups: Vec::new(),
        cpus: Vec::new(),
        watch: None,
        born: None,
        errors: ErrorCounts::default(),
        repaired_ns: None,
        repaired_wait_ns: None,
        system: System::default(),
        cost: CostSample::default(),
        outside: None,
    }
}
