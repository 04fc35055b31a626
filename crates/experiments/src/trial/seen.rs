//! What the ledger saw of a trial: the workers with all their children, and who else was on the
//! lab's CPUs.

use super::counter;
use super::workers::Workers;
use crate::record::{Point, WorkerSeen};
use exactop_model::{Book, Counter, Counters, Window};

/// Generations between a worker and its grandchildren.
const GENERATIONS: usize = 8;

/// Fills in all but the value.
pub fn fill(point: &mut Point, window: &Window, book: &Book, workers: &Workers, cpus: &[usize]) {
    point.window_ns = window.length_ns();
    point.workers = workers
        .started
        .iter()
        .map(|started| of_worker(started.pid, workers.name(started.worker), window, book))
        .collect();
    let ours = |cpu: &&exactop_model::window::CpuDelta| cpus.contains(&(cpu.time.cpu as usize));
    let on: Vec<_> = window.cpus.iter().filter(ours).collect();
    let whole = (point.window_ns * on.len().max(1) as u64) as f64;
    let pct = |ns: u64| 100.0 * ns as f64 / whole;
    let tasks: u64 = on.iter().map(|cpu| cpu.time.task_ns).sum();
    let own = descendants_ns(window, book);
    point.foreign_pct = Some(pct(tasks.saturating_sub(own)));
    let unnamed = on.iter().map(|cpu| cpu.time.unnamed_ns + cpu.time.nameless_ns).sum();
    point.unnamed_pct = Some(pct(unnamed));
    let steal: Option<Vec<u64>> = on.iter().map(|cpu| cpu.time.steal_ns).collect();
    point.steal_pct = steal.map(|all| pct(all.iter().sum()));
    let ticks = window.cpu_ticks.iter().filter(|(cpu, _)| cpus.contains(&(*cpu as usize)));
    let (irq, all) =
        ticks.fold((0, 0), |(irq, all), (_, t)| (irq + t.irq + t.softirq, all + t.total()));
    point.irq_pct = (all > 0).then(|| 100.0 * irq as f64 / all as f64);
    // Signs must not cancel each other.
    let off = window.cpus.iter().map(|cpu| cpu.residual_ns).max_by_key(|off| off.abs());
    point.residual_ns = Some(off.unwrap_or(0));
    let errors = exactop_model::ErrorKind::ALL.iter().map(|&kind| window.errors.get(kind)).sum();
    point.errors = Some(errors);
    let cost_pct = 100.0 * window.cost.user_ns as f64 / point.window_ns.max(1) as f64;
    point.cost_pct = Some(cost_pct);
}

/// What all processes ran that this one started, the dead included: nothing else is ours.
fn descendants_ns(window: &Window, book: &Book) -> u64 {
    let me = std::process::id();
    let living = window.tasks.iter().filter(|task| {
        let (tgid, ppid) = (task.sample.key.tgid, task.sample.ident.ppid);
        tgid != me && descends(tgid, ppid, me, book)
    });
    let dead = window
        .exited
        .iter()
        .filter(|exited| exited.sample.ancestors.iter().any(|ancestor| ancestor.tgid == me));
    let run = |delta: &Counters| counter(delta, Counter::RunNs);
    living.map(|t| run(&t.delta)).sum::<u64>() + dead.map(|e| run(&e.delta)).sum::<u64>()
}

/// A process and all its descendants, the dead included.
fn of_worker(pid: u32, name: String, window: &Window, book: &Book) -> WorkerSeen {
    let mut seen = WorkerSeen { name, ..WorkerSeen::default() };
    for task in &window.tasks {
        if descends(task.sample.key.tgid, task.sample.ident.ppid, pid, book) {
            add(&mut seen, &task.delta);
        }
    }
    for exited in &window.exited {
        let above = exited.sample.ancestors.iter().any(|ancestor| ancestor.tgid == pid);
        if above || exited.sample.of.tgid == pid {
            add(&mut seen, &exited.delta);
        }
    }
    seen
}

fn add(seen: &mut WorkerSeen, delta: &Counters) {
    seen.run_ns += counter(delta, Counter::RunNs);
    seen.lat_ns += counter(delta, Counter::LatNs);
    seen.throttle_ns += counter(delta, Counter::ThrottleNs);
    seen.migrations += counter(delta, Counter::Migrations);
    seen.vcx += counter(delta, Counter::Vcx);
    seen.icx += counter(delta, Counter::Icx);
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
