//! A simulated machine: snapshots like the ledger's, whose books balance.

use crate::blame::{self, Work};
use crate::plan::Host;
use crate::service::Service;
use exactop_model::blame::{Blame, Party};
use exactop_model::ledger::named::GroupName;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    ledger::samples, Comm, Counter, CpuSample, ExitSample, Ident, Provenance, Quality, Snapshot,
    SourceKind, TaskKey, TaskSample,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

/// Most of all CPUs that tasks use, per mille; the rest is for interrupts, the hypervisor and idle
/// time.
const MOST: u64 = 920;
/// Most of a CPU that a thread uses, per mille.
const THREAD: u64 = 600;
/// Interrupt time on each CPU per second, ns.
const IRQ: u64 = 1_200_000;
const SECOND: u64 = 1_000_000_000;
/// Counters of the waits, in the order of [`Service::waits`].
const WAITS: [Counter; 4] =
    [Counter::LatNs, Counter::ThrottleNs, Counter::LockNs, Counter::BlockNs];

/// Tasks of a service: threads of a living process, or all that exited.
enum Running {
    Lives(Vec<TaskSample>),
    Ends(Box<ExitSample>),
}

/// A machine since its boot.
pub struct Machine {
    services: Vec<(Service, Running)>,
    groups: Vec<Arc<GroupName>>,
    cpus: u32,
    /// Stolen time, per mille of run time.
    steal: u64,
    draw: StdRng,
    provenance: Provenance,
    /// First snapshot, and the number and length of the windows since.
    t0_ns: u64,
    windows: u64,
    window_ns: u64,
    run_ns: u64,
    steal_ns: u64,
    /// The last window's.
    blame: Blame,
}

impl Machine {
    /// A machine that is observed from `t0_ns` on.
    pub fn new(host: &Host, boot: u64, t0_ns: u64, window_ns: u64) -> Machine {
        let mut draw = StdRng::seed_from_u64(host.seed);
        let services = host.mix.services(&mut draw);
        // Later draws depend on the boot.
        let mut draw =
            StdRng::seed_from_u64(host.seed ^ (boot + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let steal = if draw.random_bool(0.3) { draw.random_range(0..30) } else { 0 };
        let mut machine = Machine {
            services: Vec::new(),
            groups: Vec::new(),
            cpus: host.cpus,
            steal,
            draw,
            provenance: exact(),
            t0_ns,
            windows: 0,
            window_ns,
            run_ns: 0,
            steal_ns: 0,
            blame: Blame::default(),
        };
        services.into_iter().enumerate().for_each(|(n, service)| machine.start(n as u32, service));
        machine
    }

    fn start(&mut self, n: u32, mut service: Service) {
        // The new service uses a quarter of a CPU on each host.
        if service.is_new {
            service.share = 2500 / self.cpus;
        }
        // Two hosts of one mix differ.
        service.share = (service.share * self.draw.random_range(70..130) / 100).max(1);
        let cgroup = u64::from(n) + 100;
        let path = format!("/{}", service.named.unit.as_deref().unwrap_or_default()).into_bytes();
        let named = Arc::new(service.named.clone());
        self.groups.push(Arc::new(GroupName { id: cgroup, path, named }));
        let comm = Comm::new(service.command.as_bytes());
        let tgid = 1000 + n * 1000;
        let running = if service.exits > 0 {
            let mut ancestors = [ProcessRef::default(); 8];
            ancestors[0] = ProcessRef { tgid: 1, start_ns: 1 };
            let mut sample = samples::exited(u64::from(n) + 1, ancestors, comm);
            sample.cgroup_id = Some(cgroup);
            Running::Ends(Box::new(sample))
        } else {
            let ident =
                Ident { ppid: 1, comm, cgroup_id: Some(cgroup), prio: 120, ..Ident::default() };
            let wanted = u64::from(service.share) * u64::from(self.cpus) / 10;
            let task = |thread: u32| {
                let key = TaskKey { tgid, tid: tgid + thread, start_ns: u64::from(tgid + thread) };
                let mut task = samples::task(key.tid.into(), key, ident);
                task.since_ns = self.t0_ns;
                task
            };
            Running::Lives((0..=(wanted / THREAD) as u32).map(task).collect())
        };
        self.services.push((service, running));
    }

    /// Next snapshot; the agent uses `slower` per cent more.
    pub fn snapshot(&mut self, slower: f64) -> Snapshot {
        let mut now =
            samples::snapshot(SourceKind::Ledger, self.t0_ns + self.windows * self.window_ns);
        now.provenance = self.provenance.clone();
        for (_, running) in &self.services {
            match running {
                Running::Lives(tasks) => now.tasks.extend_from_slice(tasks),
                Running::Ends(sample) => now.exited.push(**sample),
            }
        }
        now.cpus = (0..self.cpus).map(|cpu| self.cpu(cpu)).collect();
        if self.windows == 0 {
            now.groups = self.groups.clone();
        }
        now.blame = Some(std::mem::take(&mut self.blame));
        (now.born, now.repaired_ns, now.repaired_wait_ns) = (Some(0), Some(0), Some(0));
        self.work(slower);
        now
    }

    fn cpu(&self, cpu: u32) -> CpuSample {
        let part = |all: u64| (all + u64::from(cpu)) / u64::from(self.cpus);
        let (task_ns, steal_ns) = (part(self.run_ns), part(self.steal_ns));
        let seconds = self.windows * self.window_ns / SECOND;
        let irq_ns = IRQ * seconds;
        CpuSample {
            task_ns,
            steal_ns: Some(steal_ns),
            irq_ns: Some(irq_ns),
            irq_idle_ns: Some(irq_ns),
            idle_ns: self.window_ns * self.windows - task_ns - steal_ns - irq_ns,
            switches: Some(400 * seconds),
            missed_switches: Some(0),
            ..samples::cpu(cpu)
        }
    }

    /// Simulates a window.
    fn work(&mut self, slower: f64) {
        let all = u64::from(self.cpus) * self.window_ns;
        // Load varies by the hour, and each service has its own.
        let hour = (self.t0_ns + self.windows * self.window_ns) as f64 / 3.6e12;
        let tide = 1.0 + 0.25 * (hour * std::f64::consts::TAU / 24.0).sin();
        let draw = &mut self.draw;
        let mut wanted = |service: &Service| {
            let load = tide * f64::from(draw.random_range(850..1150)) / 1000.0;
            let more = if service.is_new { 1.0 + slower / 100.0 } else { 1.0 };
            (all as f64 * f64::from(service.share) / 10_000.0 * load * more) as u64
        };
        let wanted: Vec<u64> = self.services.iter().map(|(service, _)| wanted(service)).collect();
        let (sum, most) = (wanted.iter().sum::<u64>(), all / 1000 * MOST);
        let mut done = Vec::new();
        for ((service, running), wanted) in self.services.iter_mut().zip(wanted) {
            let fits = if sum > most {
                (u128::from(wanted) * u128::from(most) / u128::from(sum)) as u64
            } else {
                wanted
            };
            done.push(running.work(service, fits, self.steal, (self.cpus, self.window_ns)));
        }
        self.run_ns += done.iter().map(|work| work.run).sum::<u64>();
        self.steal_ns += done.iter().map(|work| work.steal).sum::<u64>();
        self.blame = blame::book(&done);
        self.windows += 1;
    }
}

impl Running {
    /// The party of its tasks in the blame book.
    fn party(&self) -> Party {
        match self {
            Running::Lives(tasks) => Party::from_ident(&tasks[0].ident),
            Running::Ends(sample) => {
                let ExitSample { comm, cgroup_id, .. } = **sample;
                Party::from_ident(&Ident { comm, cgroup_id, ..Ident::default() })
            }
        }
    }

    /// Work of the service in a window on `cpus` CPUs.
    fn work(
        &mut self,
        service: &Service,
        wanted: u64,
        steal: u64,
        (cpus, window_ns): (u32, u64),
    ) -> Work {
        let mut work = Work { party: self.party(), run: 0, steal: 0, lat: 0, throttle: 0 };
        match self {
            Running::Lives(tasks) => {
                let each = (wanted / tasks.len().max(1) as u64).min(window_ns / 100 * 95);
                let stolen = each * steal / 1000;
                for task in tasks.iter_mut() {
                    task.state_times(service, (each, stolen), window_ns, &mut work);
                }
            }
            Running::Ends(sample) => {
                let exits = u64::from(service.exits) * u64::from(cpus) * (window_ns / SECOND) / 10;
                let stolen = wanted * steal / 1000;
                sample.processes += exits;
                sample.tasks += exits;
                // Each process lives three times its run time.
                let life = 3 * (wanted + stolen);
                sample.life_ns += life;
                sample.state_times(service, (wanted, stolen), life, &mut work);
            }
        }
        work
    }
}

/// A sample whose life is divided into states.
trait Lives {
    fn counters(&mut self) -> &mut exactop_model::Counters;

    /// Divides all of a life into states; the rest is sleep. Adds to the service's work.
    fn state_times(
        &mut self,
        service: &Service,
        (run, steal): (u64, u64),
        life: u64,
        work: &mut Work,
    ) {
        let counters = self.counters();
        let mut left = life.saturating_sub(run + steal);
        counters.bump(Counter::RunNs, run);
        counters.bump(Counter::StealNs, steal);
        for (counter, part) in WAITS.into_iter().zip(service.waits) {
            let wait = (run / 1000 * u64::from(part)).min(left);
            left -= wait;
            counters.bump(counter, wait);
            match counter {
                Counter::LatNs => work.lat += wait,
                Counter::ThrottleNs => work.throttle += wait,
                _ => {}
            }
        }
        work.run += run;
        work.steal += steal;
        counters.bump(Counter::SleepNs, left);
        counters.bump(Counter::Dispatches, run / 300_000);
    }
}

impl Lives for TaskSample {
    fn counters(&mut self) -> &mut exactop_model::Counters {
        &mut self.counters
    }
}

impl Lives for ExitSample {
    fn counters(&mut self) -> &mut exactop_model::Counters {
        &mut self.counters
    }
}

/// Provenance of a ledger on a new kernel.
fn exact() -> Provenance {
    Provenance {
        irq: Quality::Exact,
        steal: Quality::Exact,
        counters: [Quality::Exact; Counter::COUNT],
        audit_run: Quality::Exact,
        audit_lat: Quality::Exact,
        ..Provenance::new(SourceKind::Ledger)
    }
}
