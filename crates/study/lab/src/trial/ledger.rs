//! What the ledger measured in a trial: the workers with all their children, and other tasks on the
//! lab's CPUs.

use super::workers::Workers;
use crate::record::{Point, WorkerFigures};
use exactop_model::ledger::window::{CpuDelta, TaskDelta};
use exactop_model::{Book, Counter, Counters, Window};

/// Most generations between a worker and a descendant.
const GENERATIONS: usize = 8;

/// Fills in all fields except the value.
pub fn fill(point: &mut Point, window: &Window, book: &Book, workers: &Workers, cpus: &[usize]) {
    point.window_ns = window.length_ns();
    point.workers = workers
        .started
        .iter()
        .map(|started| of_worker(started.pid, workers.name(started.worker), window, book))
        .collect();
    let ours = |cpu: &&CpuDelta| cpus.contains(&(cpu.time.cpu as usize));
    let on: Vec<_> = window.cpus.iter().filter(ours).collect();
    let whole = (point.window_ns * on.len().max(1) as u64) as f64;
    let pct = |ns: u64| 100.0 * ns as f64 / whole;
    let tasks: u64 = on.iter().map(|cpu| cpu.time.task_ns).sum();
    point.foreign_pct = descendants_ns(window, book).map(|own| pct(tasks.saturating_sub(own)));
    let unnamed = on.iter().map(|cpu| cpu.time.unnamed_ns + cpu.time.no_name_ns).sum();
    point.unnamed_pct = Some(pct(unnamed));
    let steal: Option<Vec<u64>> = on.iter().map(|cpu| cpu.time.steal_ns).collect();
    point.steal_pct = steal.map(|all| pct(all.iter().sum()));
    let ticks = window.cpu_ticks.iter().filter(|(cpu, _)| cpus.contains(&(*cpu as usize)));
    let (irq, all) =
        ticks.fold((0, 0), |(irq, all), (_, t)| (irq + t.irq + t.softirq, all + t.total()));
    point.irq_pct = (all > 0).then(|| 100.0 * irq as f64 / all as f64);
    // The largest residual: signs must not cancel.
    point.residual_ns = window.cpus.iter().map(|cpu| cpu.residual_ns).max_by_key(|off| off.abs());
    let errors = exactop_model::ErrorKind::ALL.iter().map(|&kind| window.errors.get(kind)).sum();
    point.errors = Some(errors);
    let cost_pct = 100.0 * window.cost.user_ns as f64 / point.window_ns.max(1) as f64;
    point.cost_pct = Some(cost_pct);
}

/// CPU time of all processes that this one started, including exited ones.
fn descendants_ns(window: &Window, book: &Book) -> Option<u64> {
    let me = std::process::id();
    let living = window.tasks.iter().filter(|task| {
        let (tgid, ppid) = (task.sample.key.tgid, task.sample.ident.ppid);
        tgid != me && descends(tgid, ppid, me, book)
    });
    let dead = window
        .exited
        .iter()
        .filter(|exited| exited.sample.ancestors.iter().any(|ancestor| ancestor.tgid == me));
    let all = living.map(|task| &task.delta).chain(dead.map(|exited| &exited.delta));
    all.map(|delta| delta.get(Counter::RunNs)).sum()
}

/// A process and all its descendants, including exited ones.
fn of_worker(pid: u32, name: String, window: &Window, book: &Book) -> WorkerFigures {
    let ours = |t: &&TaskDelta| descends(t.sample.key.tgid, t.sample.ident.ppid, pid, book);
    let living = window.tasks.iter().filter(ours).map(|task| &task.delta);
    let dead = window.exited.iter().filter(|exited| {
        let above = exited.sample.ancestors.iter().any(|ancestor| ancestor.tgid == pid);
        above || exited.sample.of.tgid == pid
    });
    let all: Vec<&Counters> = living.chain(dead.map(|exited| &exited.delta)).collect();
    let sum = |counter: Counter| all.iter().map(|delta| delta.get(counter)).sum();
    WorkerFigures {
        name,
        run_ns: sum(Counter::RunNs),
        lat_ns: sum(Counter::LatNs),
        throttle_ns: sum(Counter::ThrottleNs),
        migrations: sum(Counter::Migrations),
        vcx: sum(Counter::Vcx),
        icx: sum(Counter::Icx),
    }
}

fn descends(tgid: u32, ppid: u32, from: u32, book: &Book) -> bool {
    let parent = |tgid: u32| {
        let leader = book.process(tgid)?.leader?;
        Some(book.task(leader)?.ident.ppid)
    };
    let (mut tgid, mut above) = (tgid, Some(ppid));
    for _ in 0..GENERATIONS {
        if tgid == from {
            return true;
        }
        let Some(next) = above.filter(|&next| next > 1) else { return false };
        (tgid, above) = (next, parent(next));
    }
    false
}
