//! The change of the machine between two snapshots.

use crate::ledger::audit::Audit;
use crate::ledger::audited::repaired_tasks;
use crate::ledger::counters::{Counter, Counters};
use crate::ledger::provenance::Quality;
use crate::ledger::snapshot::{CostSample, CpuSample, GroupMove, Outside, Snapshot};
use crate::ledger::system::StatTicks;
use crate::ledger::window::{CpuDelta, ExitDelta, TaskDelta, Window};
use rustc_hash::FxHashMap;

/// True if interrupts were measured from the first snapshot to the second. If only a part of the
/// time was measured, interrupt time is added back to the tasks and idle time that it interrupted.
pub(crate) fn interrupts_are_measured(last: &Snapshot, now: &Snapshot) -> bool {
    last.measures_interrupts() && now.provenance.irq != Quality::Missing
}

/// Adds interrupt time back to the time of the tasks that it interrupted.
pub(crate) fn fold_interrupts<'a>(
    deltas: impl Iterator<Item = &'a mut Counters>,
    cpus: impl Iterator<Item = &'a mut CpuDelta>,
) {
    deltas.for_each(|delta| delta.fold(Counter::IrqNs, Counter::RunNs));
    for time in cpus.map(|c| &mut c.time) {
        if let (Some(all), Some(idle)) = (time.irq_ns.take(), time.irq_idle_ns.take()) {
            time.idle_ns = time.idle_ns.wrapping_add(idle);
            time.task_ns = time.task_ns.wrapping_add(all.wrapping_sub(idle));
        }
    }
}

/// The window between two snapshots; `tasks` and `exited` are computed already.
pub(crate) fn difference(
    last: &Snapshot,
    now: &Snapshot,
    mut tasks: Vec<TaskDelta>,
    mut exited: Vec<ExitDelta>,
) -> Window {
    let (t0_ns, t1_ns) = (last.at_ns, now.at_ns);
    let mut cpus = cpu_differences(last, now);
    let outside = now.outside.zip(last.outside);
    let mut outside = outside.map(|(now, then)| now.since(&then));
    let mut moves = moves_between(last, now);
    let mut end = now.clone();
    if !interrupts_are_measured(last, now) {
        end.provenance.miss_interrupts();
        let tasks = tasks.iter_mut().map(|t| &mut t.delta);
        let exited = exited.iter_mut().map(|e| &mut e.delta);
        fold_interrupts(tasks.chain(exited), cpus.iter_mut());
        outside.iter_mut().for_each(Outside::fold_interrupts);
        moves.iter_mut().for_each(|moved| moved.used.fold(Counter::IrqNs, Counter::RunNs));
    }
    let ticks_of = |now: Option<StatTicks>, then: Option<StatTicks>| {
        now.zip(then).map(|(now, then)| now.since(&then))
    };
    let then_ticks = |cpu| last.system.cpu_ticks.iter().find(|(n, _)| *n == cpu).map(|t| t.1);
    let audit = Audit::from_deltas(&now.provenance, tasks.iter(), exited.iter());
    // The same sources give both figures. A recording older than both has neither.
    let set_right = now.repaired_wait_ns.map(|_| repaired_tasks(&tasks, &exited));
    Window {
        t0_ns,
        t1_ns,
        audit,
        repaired_tasks: set_right,
        tasks,
        exited,
        moves,
        cpus,
        errors: now.errors.since(&last.errors),
        repaired_ns: minus(now.repaired_ns, last.repaired_ns),
        repaired_wait_ns: minus(now.repaired_wait_ns, last.repaired_wait_ns),
        born: now.born.zip(last.born).map(|(now, then)| now.saturating_sub(then)),
        ticks: ticks_of(now.system.ticks, last.system.ticks),
        cpu_ticks: now
            .system
            .cpu_ticks
            .iter()
            .filter_map(|&(cpu, t)| Some((cpu, ticks_of(Some(t), then_ticks(cpu))?)))
            .collect(),
        cost: CostSample {
            user_ns: now.cost.user_ns.saturating_sub(last.cost.user_ns),
            bpf_ns: minus(now.cost.bpf_ns, last.cost.bpf_ns),
            bpf_events: minus(now.cost.bpf_events, last.cost.bpf_events),
        },
        outside,
        blame: None,
        end,
    }
}

fn moves_between(last: &Snapshot, now: &Snapshot) -> Vec<GroupMove> {
    let before: FxHashMap<(u64, u64), &GroupMove> =
        last.moves.iter().map(|moved| ((moved.from, moved.to), moved)).collect();
    let since = |moved: &GroupMove| match before.get(&(moved.from, moved.to)) {
        Some(before) => moved.since(before),
        None => *moved,
    };
    now.moves.iter().map(since).filter(|moved| !moved.used.is_empty()).collect()
}

/// The difference, if both are known and it is not negative.
fn minus(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now?.checked_sub(then?)
}

fn cpu_differences(last: &Snapshot, now: &Snapshot) -> Vec<CpuDelta> {
    let length_ns = now.at_ns - last.at_ns;
    let same_watch = now.watch.is_some() && now.watch == last.watch;
    let watched = |now, then| minus(now, then).filter(|_| same_watch);
    now.cpus
        .iter()
        .filter_map(|cpu| {
            let then = last.cpus.iter().find(|c| c.cpu == cpu.cpu)?;
            let time = CpuSample {
                cpu: cpu.cpu,
                online: cpu.online,
                // Wrapping: a counter that ran backwards shows as an absurd residual.
                task_ns: cpu.task_ns.wrapping_sub(then.task_ns),
                unnamed_ns: cpu.unnamed_ns.wrapping_sub(then.unnamed_ns),
                idle_ns: cpu.idle_ns.wrapping_sub(then.idle_ns),
                no_name_ns: cpu.no_name_ns.wrapping_sub(then.no_name_ns),
                no_name_processes: cpu.no_name_processes.wrapping_sub(then.no_name_processes),
                offline_ns: cpu.offline_ns.wrapping_sub(then.offline_ns),
                irq_ns: minus(cpu.irq_ns, then.irq_ns),
                irq_idle_ns: minus(cpu.irq_idle_ns, then.irq_idle_ns),
                steal_ns: minus(cpu.steal_ns, then.steal_ns),
                steal_idle_ns: minus(cpu.steal_idle_ns, then.steal_idle_ns),
                switches: minus(cpu.switches, then.switches),
                missed_switches: minus(cpu.missed_switches, then.missed_switches),
                watched_ns: watched(cpu.watched_ns, then.watched_ns),
                watched_dispatches: watched(cpu.watched_dispatches, then.watched_dispatches),
            };
            let extra = time.irq_ns.unwrap_or(0) + time.steal_ns.unwrap_or(0);
            let sum = [time.task_ns, time.unnamed_ns, time.idle_ns, time.offline_ns, extra]
                .iter()
                .fold(0u64, |a, &b| a.wrapping_add(b));
            let residual_ns = length_ns.wrapping_sub(sum) as i64;
            (time.offline_ns < length_ns).then_some(CpuDelta { time, residual_ns })
        })
        .collect()
}
