//! A random machine with two CPUs, whose every nanosecond is known, and recordings of it.

use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{
    Book, Comm, Counter, Counters, CpuSample, ExitSample, Ident, MicroState, Provenance, Quality,
    Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Machine, Options, Recorder, Recording, Sync, TimeRange};
use exactop_sums::{Grouping, Stretch, Work};
use exactop_testkit::samples;
use std::collections::BTreeMap;
use std::path::Path;

pub const SECOND: u64 = 1_000_000_000;
/// Wall clock minus CLOCK_MONOTONIC, ns.
pub const OFFSET: i64 = 1_760_000_000_000_000_000;
/// Long-lived commands, with two processes each.
pub const COMMANDS: u64 = 15;
/// Short-lived commands.
pub const BRIEF: u64 = 5;

/// Planted load, beside the random one.
#[derive(Clone, Copy, Default)]
pub struct Planted {
    /// CPU time of a worker in each window, with small variation, ns.
    pub worker_ns: u64,
    /// Runs of a command in each window, a millisecond each.
    pub runs: u64,
    /// CPU time of each run, ns; 0 for a millisecond.
    pub run_ns: u64,
    /// No other short-lived processes.
    pub nobody_brief: bool,
    /// Additional unnamed time in each window on each CPU, ns.
    pub unnamed_ns: u64,
    /// Interrupts are not measured separately.
    pub no_irq: bool,
}

/// The true sums: CPU time by command, and the accounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    pub by_command: BTreeMap<String, u64>,
    pub unnamed_ns: u64,
    pub idle_ns: u64,
    pub irq_ns: u64,
    pub steal_ns: u64,
}

pub struct Drawn {
    seed: u64,
    pub planted: Planted,
    at_ns: u64,
    tasks: Vec<TaskSample>,
    exited: Vec<ExitSample>,
    cpus: Vec<CpuSample>,
    pub truth: Truth,
    /// Length of a window, ns; each is a little longer.
    pub length_ns: u64,
}

fn name(kind: &str, n: u64) -> Comm {
    Comm::new(format!("{kind}-{n}").as_bytes())
}

impl Drawn {
    pub fn new(seed: u64, planted: Planted) -> Drawn {
        let task = |n: u64| {
            let pid = 100 + n as u32;
            let key = TaskKey { tgid: pid, tid: pid, start_ns: u64::from(pid) };
            let comm = if n == 0 { Comm::new(b"worker") } else { name("daemon", n / 2) };
            let cgroup_id = Some(100 + n % 4);
            let (uid, session) =
                (n as u32 % 3, (!n.is_multiple_of(3)).then_some(100 + n as u32 % 5));
            let ident = Ident { comm, uid, session, cgroup_id, ..Ident::default() };
            TaskSample { state: MicroState::Sleep, ..samples::task(n, key, ident) }
        };
        let group = |n: u64| {
            let mut ancestors = [ProcessRef::default(); 8];
            ancestors[0] = ProcessRef { tgid: 101, start_ns: 101 };
            let comm = if n == 0 { Comm::new(b"cc1") } else { name("brief", n) };
            ExitSample {
                cgroup_id: Some(100 + n % 4),
                session: (!n.is_multiple_of(2)).then_some(100 + n as u32 % 5),
                ..samples::exited(1000 + n, ancestors, comm)
            }
        };
        Drawn {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            planted,
            at_ns: 10 * SECOND,
            tasks: (0..2 * COMMANDS).map(task).collect(),
            exited: (0..=BRIEF).map(group).collect(),
            cpus: (0..2)
                .map(|cpu| CpuSample {
                    irq_ns: Some(0),
                    irq_idle_ns: Some(0),
                    steal_ns: Some(0),
                    steal_idle_ns: Some(0),
                    ..samples::cpu(cpu)
                })
                .collect(),
            truth: Truth::default(),
            length_ns: SECOND,
        }
    }

    /// Time without windows and without events.
    pub fn pass(&mut self, ns: u64) {
        self.at_ns += ns;
    }

    pub fn below(&mut self, n: u64) -> u64 {
        // xorshift64*
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        (self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n.max(1)
    }

    fn used(&mut self, comm: &Comm, counters: &mut Counters, run_ns: u64) -> [u64; 3] {
        let (irq_ns, steal_ns) = (self.below(run_ns / 100), self.below(run_ns / 200));
        counters.bump(Counter::RunNs, run_ns);
        counters.bump(Counter::StealNs, steal_ns);
        counters.bump(Counter::Dispatches, 1 + run_ns / 1_000_000);
        let mut run = run_ns;
        match self.planted.no_irq {
            false => counters.bump(Counter::IrqNs, irq_ns),
            true => {
                counters.bump(Counter::RunNs, irq_ns);
                run += irq_ns;
            }
        }
        *self.truth.by_command.entry(comm.to_string()).or_default() += run;
        if !self.planted.no_irq {
            self.truth.irq_ns += irq_ns;
        }
        self.truth.steal_ns += steal_ns;
        [run, if self.planted.no_irq { 0 } else { irq_ns }, steal_ns]
    }

    /// Snapshot at the next window's end; `first` only opens the book.
    pub fn next(&mut self, first: bool) -> Snapshot {
        let length = self.length_ns + self.below(1000);
        self.at_ns += length;
        let mut all = [0; 3];
        let mut changed = Vec::new();
        if !first {
            let (mut tasks, mut exited) =
                (std::mem::take(&mut self.tasks), std::mem::take(&mut self.exited));
            for (n, task) in tasks.iter_mut().enumerate() {
                let run = match n {
                    0 => self.planted.worker_ns * (97 + self.below(7)) / 100,
                    // Some are steady, some intermittent, some have long tails.
                    _ if n % 3 == 0 => 10_000_000 + self.below(2_000_000),
                    _ if n % 3 == 1 && self.below(4) > 0 => 0,
                    _ => 1_000_000 * (1 << self.below(6)) / (1 + self.below(3)),
                };
                if run > 0 {
                    let used = self.used(&task.ident.comm, &mut task.counters, run);
                    (0..3).for_each(|at| all[at] += used[at]);
                    changed.push(*task);
                }
            }
            for (n, group) in exited.iter_mut().enumerate() {
                let runs = if n == 0 { self.planted.runs } else { self.below(4) };
                let each = 900_000 + self.below(200_000);
                let each = if n == 0 && self.planted.run_ns > 0 {
                    each + self.planted.run_ns - 1_000_000
                } else {
                    each
                };
                let runs = if n > 0 && self.planted.nobody_brief { 0 } else { runs };
                if runs > 0 {
                    let used = self.used(&group.comm, &mut group.counters, runs * each);
                    (0..3).for_each(|at| all[at] += used[at]);
                    (group.processes, group.tasks) = (group.processes + runs, group.tasks + runs);
                }
            }
            (self.tasks, self.exited) = (tasks, exited);
        } else {
            changed.clone_from(&self.tasks);
        }
        self.cpu_time(all, if first { 0 } else { length });
        self.snapshot(changed)
    }

    /// Divides the tasks' time between the CPUs; a little is unnamed.
    fn cpu_time(&mut self, [run, irq, steal]: [u64; 3], length: u64) {
        for at in 0..2u64 {
            let half = |all: u64| (all + at) / 2;
            let (unnamed, irq_idle, steal_idle) = if length > 0 {
                (
                    self.planted.unnamed_ns + self.below(100_000),
                    self.below(50_000),
                    self.below(9_000),
                )
            } else {
                (0, 0, 0)
            };
            let irq_idle = if self.planted.no_irq { 0 } else { irq_idle };
            let (task, irq, steal) = (half(run), half(irq) + irq_idle, half(steal) + steal_idle);
            let idle = length - task - unnamed - irq - steal;
            let cpu = &mut self.cpus[at as usize];
            cpu.task_ns += task;
            cpu.unnamed_ns += unnamed;
            cpu.idle_ns += idle;
            let add = |to: &mut Option<u64>, by| *to = to.map(|ns| ns + by);
            add(&mut cpu.irq_ns, irq);
            add(&mut cpu.irq_idle_ns, irq_idle);
            add(&mut cpu.steal_ns, steal);
            add(&mut cpu.steal_idle_ns, steal_idle);
            self.truth.unnamed_ns += unnamed;
            self.truth.idle_ns += idle;
            self.truth.irq_ns += irq_idle;
            self.truth.steal_ns += steal_idle;
        }
    }

    fn snapshot(&mut self, tasks: Vec<TaskSample>) -> Snapshot {
        let mut now = samples::snapshot(SourceKind::Ledger, self.at_ns);
        let counters = [Quality::Exact; Counter::COUNT];
        let irq = if self.planted.no_irq { Quality::Missing } else { Quality::Exact };
        now.provenance = Provenance {
            irq,
            steal: Quality::Exact,
            counters,
            ..Provenance::new(SourceKind::Ledger)
        };
        (now.complete, now.tasks) = (false, tasks);
        now.exited.clone_from(&self.exited);
        now.cpus.clone_from(&self.cpus);
        if self.planted.no_irq {
            now.cpus.iter_mut().for_each(|cpu| (cpu.irq_ns, cpu.irq_idle_ns) = (None, None));
        }
        now
    }
}

pub fn machine() -> Machine {
    Machine {
        host: "made-up".into(),
        boot_id: "boot".into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.1.0".into(),
    }
}

/// Records `windows` windows; returns the true sums.
pub fn record(path: &Path, drawn: &mut Drawn, windows: usize) -> Truth {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine(), options).expect("a recorder");
    let mut book = Book::new();
    drawn.truth = Truth::default();
    for n in 0..=windows {
        let now = drawn.next(n == 0);
        recorder.record(&now, &book, Clocks { wall_offset_ns: OFFSET, suspended_ns: 0 });
        let window = book.advance(now);
        if let Some(window) = window {
            assert_eq!(exactop_model::Books::from_window(&window).residual_ns, 0);
        }
    }
    assert_eq!(recorder.notices(), []);
    drawn.truth.clone()
}

/// Reads a whole recording.
pub fn read(path: &Path, by: Grouping, work: Option<Work>) -> Stretch {
    read_when(path, TimeRange::default(), by, work)
}

pub fn read_when(path: &Path, when: TimeRange, by: Grouping, work: Option<Work>) -> Stretch {
    let recording = Recording::open(path).expect("a recording");
    Stretch::read(recording, when, by, work).expect("it can be read")
}

/// Records windows and reads them.
pub fn stretch(
    seed: u64,
    planted: Planted,
    windows: usize,
    by: Grouping,
    work: Option<Work>,
) -> (Stretch, Truth) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let truth = record(&path, &mut Drawn::new(seed, planted), windows);
    (read(&path, by, work), truth)
}
