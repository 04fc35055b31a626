//! The audit of a window, over all of its tasks and exited groups.

use crate::ledger::audit::{
    Audit, AuditFigure, Difference, ExitAudit, ExitedDifference, TaskAudit, Worst,
};
use crate::ledger::key::TaskKey;
use crate::ledger::provenance::{Provenance, Quality};
use crate::ledger::window::{ExitDelta, TaskDelta};

impl Audit {
    /// Sums the audits of a window's tasks and exited groups.
    pub fn from_deltas<'a>(
        provenance: &Provenance,
        tasks: impl Iterator<Item = &'a TaskDelta> + Clone,
        exited: impl Iterator<Item = &'a ExitDelta> + Clone,
    ) -> Audit {
        let there = |quality| quality != Quality::Missing;
        let run = || audit_figure(tasks.clone(), exited.clone(), |a| a.run, |a| a.run);
        let lat = || audit_figure(tasks.clone(), exited.clone(), |a| a.lat, |a| a.lat);
        Audit {
            run: there(provenance.audit_run).then(run),
            lat: there(provenance.audit_lat).then(lat),
        }
    }
}

fn audit_figure<'a>(
    tasks: impl Iterator<Item = &'a TaskDelta>,
    exited: impl Iterator<Item = &'a ExitDelta>,
    of_task: fn(&TaskAudit) -> Difference,
    of_group: fn(&ExitAudit) -> ExitedDifference,
) -> AuditFigure {
    let mut held = AuditFigure::default();
    for task in tasks {
        // A task in its first window has no audit: its past is unknown.
        let Some(audit) = task.audit else { continue };
        let difference = of_task(&audit);
        let error_ns = difference.error_ns.unsigned_abs();
        let (key, comm) = (task.sample.key, task.sample.ident.comm);
        let whose = Worst { key, comm, exited: false, error_ns };
        held.add(error_ns, difference.bias_ns.unsigned_abs(), whose);
    }
    for group in exited {
        let difference = of_group(&group.audit);
        let of = group.sample.of;
        let key = TaskKey { tgid: of.tgid, start_ns: of.start_ns, ..TaskKey::default() };
        let error_ns = difference.worst_ns;
        let whose = Worst { key, comm: group.sample.comm, exited: true, error_ns };
        held.add(difference.error_ns, difference.bias_ns, whose);
    }
    held
}

pub(crate) fn repaired_tasks(tasks: &[TaskDelta], exited: &[ExitDelta]) -> u64 {
    let live = tasks.iter().filter(|t| t.audit.is_some_and(|a| a.repairs > 0)).count() as u64;
    exited.iter().fold(live, |sum, e| sum.saturating_add(e.audit.repaired))
}
