//! Snapshots of the simulated machine, like a source's: cumulative counters at the end of a window.

use crate::population::{Process, EXITED, PROCESSES, SECOND};
use crate::samples;
use exactop_model::blame::{Blame, Booked, Culprit, Party, Waits};
use exactop_model::ledger::audit::{Difference, TaskAudit};
use exactop_model::ledger::snapshot::{CostSample, ProcessRef};
use exactop_model::ledger::system::{Memory, StatTicks, System};
use exactop_model::{
    Comm, Counter, Counters, CpuSample, ExitSample, Ident, MicroState, Provenance, Quality,
    Snapshot, SourceKind, TaskKey, TaskSample,
};

/// Length of its windows, ns.
pub const WINDOW: u64 = 2 * SECOND;

/// Start of its first window.
pub const T0: u64 = 100 * SECOND;

/// Number of windows before the first window of a test.
const UNSEEN: u64 = 39;

/// A tenth of a per cent of one CPU per window, ns.
const TENTH: u64 = WINDOW / 1000;

/// The machine after `n` windows. In the first one, each process uses exactly what the tables say,
/// in later ones a little more or less. Sources other than the ledger do not see exits.
pub fn snapshot(source: SourceKind, n: u64, watch: Option<u32>) -> Snapshot {
    let ledger = source == SourceKind::Ledger;
    let windows = UNSEEN + n;
    let mut snapshot = samples::snapshot(source, T0 + n * WINDOW);
    snapshot.tasks = PROCESSES.iter().flat_map(|p| tasks(p, n)).collect();
    snapshot.exited = exited(windows);
    let sum = |counter| {
        let tasks = snapshot.tasks.iter().map(|t| &t.counters);
        let all = tasks.chain(snapshot.exited.iter().map(|e| &e.counters));
        all.filter_map(|c| c.get(counter)).sum::<u64>()
    };
    let used = (sum(Counter::RunNs), sum(Counter::StealNs));
    snapshot.cpus = (0..2).map(|n| cpu(n, used, windows)).collect();
    snapshot.system = system(n);
    snapshot.cost = CostSample { user_ns: 700_000 * windows, ..CostSample::default() };
    if !ledger {
        without_ledger(&mut snapshot);
        return snapshot;
    }
    snapshot.provenance = exact();
    snapshot.born = Some(3512 * windows);
    (snapshot.repaired_ns, snapshot.repaired_wait_ns) = (Some(0), Some(0));
    snapshot.cost.bpf_ns = Some(100_000 * windows);
    snapshot.cost.bpf_events = Some(14_000 * windows);
    snapshot.blame = Some(blame());
    snapshot.watch = watch;
    for cpu in snapshot.cpus.iter_mut().filter(|_| watch.is_some()) {
        let share = u64::from(cpu.cpu + 1) * windows;
        (cpu.watched_ns, cpu.watched_dispatches) = (Some(share * 100_000_000), Some(share * 812));
    }
    snapshot
}

/// The two loops keep the database and each other off the CPU.
fn blame() -> Blame {
    let party = |pid: u32| {
        let p = PROCESSES.iter().find(|p| p.pid == pid).expect("a process");
        let (comm, kthread) = (Comm::new(p.comm.as_bytes()), p.is_kthread());
        Party { cgroup_id: 42, uid: p.uid, session: 0, comm, kthread }
    };
    let (sh, postgres, kernel) = (party(22_417), party(812), party(14));
    let mut blame = Blame::default();
    let pairs = [
        (postgres, Culprit::Task(sh), 9),
        (postgres, Culprit::Task(kernel), 1),
        (sh, Culprit::Task(sh), 310),
        (sh, Culprit::Task(postgres), 4),
        (sh, Culprit::Brief, 2),
    ];
    for (victim, culprit, tenths) in pairs {
        let (ns, times) = (tenths * TENTH, tenths);
        blame.book(Some(victim), culprit, Booked { ns, times });
        let waits = Waits { lat_ns: ns as i64, dispatches: times as i64, in_flight_delta_ns: 0 };
        blame.wait(Some(victim), waits);
    }
    blame
}

fn exact() -> Provenance {
    let (irq, steal, counters) = (Quality::Exact, Quality::Exact, [Quality::Exact; Counter::COUNT]);
    let (audit_run, audit_lat) = (Quality::Exact, Quality::Exact);
    let none = Provenance::new(SourceKind::Ledger);
    Provenance { irq, steal, counters, audit_run, audit_lat, ..none }
}

/// The figures of ticks and /proc.
fn without_ledger(snapshot: &mut Snapshot) {
    let told = [Counter::RunNs, Counter::UtimeNs, Counter::StimeNs];
    snapshot.exited.clear();
    for task in &mut snapshot.tasks {
        let mut counters = Counters::unknown();
        for counter in told {
            counters.set(counter, task.counters.get(counter).expect("it is set for everyone"));
        }
        (task.counters, task.state) = (counters, MicroState::Unknown);
    }
    for cpu in &mut snapshot.cpus {
        cpu.idle_ns += cpu.irq_ns.take().expect("it is set for both");
        (cpu.irq_idle_ns, cpu.steal_idle_ns) = (None, cpu.steal_ns);
        (cpu.switches, cpu.missed_switches) = (None, None);
    }
    let reason = Some("not permitted to load BPF programs: run it as root".into());
    let ticks = Provenance::by_ticks(snapshot.provenance.source);
    snapshot.provenance = Provenance { reason, ..ticks };
}

/// CPU time of a thread over a number of windows, of which the last is the `n`-th. The first thread
/// has half of the process's time.
fn run_ns(p: &Process, thread: u32, n: u64) -> u64 {
    let mut all = p.cpu * TENTH * (UNSEEN + n);
    if p.cpu > 0 {
        all += n * n.saturating_sub(1) * 7919 * u64::from(p.pid) % TENTH;
    }
    match (thread, p.threads) {
        (0, 1) => all,
        (0, _) => all - all / 2,
        _ => all / 2 / u64::from(p.threads - 1),
    }
}

fn key(p: &Process) -> TaskKey {
    TaskKey { tgid: p.pid, tid: p.pid, start_ns: u64::from(p.pid) * SECOND }
}

fn tasks(p: &Process, n: u64) -> impl Iterator<Item = TaskSample> + '_ {
    let ident = Ident {
        ppid: p.ppid,
        comm: Comm::new(p.comm.as_bytes()),
        uid: p.uid,
        cgroup_id: Some(42),
        prio: 120,
        kthread: p.is_kthread(),
        ..Ident::default()
    };
    (0..p.threads).map(move |thread| {
        let mut key = key(p);
        (key.tid, key.start_ns) = (p.pid + thread, key.start_ns + u64::from(thread));
        let mut task = samples::task(key.tid.into(), key, ident);
        (task.state, task.letter) = match p.cpu {
            200.. => (MicroState::Run, 'R'),
            _ if p.is_kthread() => (MicroState::Sleep, 'I'),
            _ => (MicroState::Sleep, 'S'),
        };
        task.since_ns = T0 - UNSEEN * WINDOW;
        task.last_cpu = Some(p.pid % 2);
        task.counters = counters(p.cpu, run_ns(p, thread, n), WINDOW * (UNSEEN + n));
        task.audit = audit((p.cpu * (UNSEEN + n)) as i64);
        task
    })
}

/// The kernel's stamps are 3 us older than ours at every switch, and each wait has a small error.
fn audit(switches: i64) -> TaskAudit {
    TaskAudit {
        run: Difference { error_ns: 0, bias_ns: -3_000 * switches },
        lat: Difference { error_ns: 7 * switches, bias_ns: 3_000 * switches },
        repairs: 0,
    }
}

/// Counters of a task that uses `cpu` tenths of a per cent of one CPU. Its states sum to its life.
fn counters(cpu: u64, run: u64, life: u64) -> Counters {
    let (lat, steal) = (if cpu > 50 { run / 4 } else { run / 100 }, run / 100);
    let rest = life - run - lat - steal;
    let (lock, block, throttle) =
        if cpu > 0 { (rest / 4, rest / 10, rest / 20) } else { (0, 0, 0) };
    let mut counters = Counters::zero();
    for (counter, value) in [
        (Counter::RunNs, run),
        (Counter::StealNs, steal),
        (Counter::LatNs, lat),
        (Counter::LockNs, lock),
        (Counter::BlockNs, block),
        (Counter::ThrottleNs, throttle),
        (Counter::SleepNs, rest - lock - block - throttle),
        (Counter::UtimeNs, run * 6 / 10),
        (Counter::StimeNs, run * 4 / 10),
        (Counter::Vcx, run / 500_000),
        (Counter::Icx, run / 3_000_000),
        (Counter::Wakeups, run / 400_000),
        (Counter::Dispatches, run / 300_000),
        (Counter::Migrations, run / 20_000_000),
    ] {
        counters.set(counter, value);
    }
    counters
}

fn exited(windows: u64) -> Vec<ExitSample> {
    let group = |(n, &(ppid, comm, processes, cpu)): (usize, &(u32, &str, u64, u64))| {
        let parent = PROCESSES.iter().find(|p| p.pid == ppid).map(key);
        let mut ancestors = [ProcessRef::default(); 8];
        // A parent that has exited gets a PID that no process has.
        ancestors[0] = parent.map_or(ProcessRef { tgid: 30_000, start_ns: 1 }, |key| ProcessRef {
            tgid: key.tgid,
            start_ns: key.start_ns,
        });
        let run = cpu * TENTH * windows;
        let mut group = samples::exited(n as u64 + 1, ancestors, Comm::new(comm.as_bytes()));
        group.cgroup_id = Some(42);
        (group.processes, group.tasks) = (processes * windows, processes * windows);
        (group.life_ns, group.counters) = (2 * run, counters(cpu, run, 2 * run));
        group
    };
    EXITED.iter().enumerate().map(group).collect()
}

/// Half of the used time. Interrupts hit only idle CPUs.
fn cpu(cpu: u32, (run, steal): (u64, u64), windows: u64) -> CpuSample {
    let mine = |all: u64| (all + u64::from(cpu)) / 2;
    let (task_ns, steal, irq) = (mine(run), mine(steal), 1_500_000 * windows);
    CpuSample {
        task_ns,
        irq_ns: Some(irq),
        irq_idle_ns: Some(irq),
        steal_ns: Some(steal),
        idle_ns: WINDOW * windows - task_ns - irq - steal,
        switches: Some(4000 * windows),
        missed_switches: Some(0),
        ..samples::cpu(cpu)
    }
}

const MIB: u64 = 1 << 20;

fn system(n: u64) -> System {
    let windows = UNSEEN + n;
    let ticks = StatTicks {
        user: 245 * windows,
        system: 152 * windows,
        idle: windows,
        steal: 2 * windows,
        ..StatTicks::default()
    };
    System {
        wall_s: Some(1_700_000_000 + 2 * n as i64),
        local_time: Some("20:03:48".into()),
        uptime_s: Some(105.0 * 86_400.0 + 14.0 * 3600.0 + 53.0 * 60.0),
        users: Some(2),
        load: Some([2.52, 1.57, 0.79]),
        memory: Some(Memory {
            total: 3972 * MIB,
            free: 1843 * MIB,
            available: 3481 * MIB,
            cache: 1740 * MIB,
            swap_total: 4096 * MIB,
            swap_free: 3789 * MIB,
        }),
        ticks: Some(ticks),
        cpu_ticks: vec![(0, ticks), (1, ticks)],
        forks: Some(3526 * windows),
        ..System::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::{arranged, frame};
    use exactop_model::{Ask, FrameOptions, IdleRows, SourceKind};

    #[test]
    fn its_books_close_in_every_window() {
        let options =
            FrameOptions { threads: true, still: IdleRows::All, ..FrameOptions::default() };
        let ask = Ask { options, ..Ask::default() };
        for beat in 0..50 {
            let frame = arranged(&ask, beat);
            assert!(frame.exact && frame.books.residual_ns == 0, "{beat}: {:?}", frame.books);
            for row in frame.rows.iter().filter(|row| row.life_ns > 0) {
                assert_eq!(row.delta.states_ns(), Some(row.life_ns), "{beat}: {row:?}");
            }
        }
        let books = frame(SourceKind::Procfs, false).books;
        assert_eq!((books.residual_ns, books.exited_ns), (0, 0), "{books:?}");
        assert!(books.unnamed_ns > 0, "what exited has no name");
    }
}
