//! A made-up machine whose snapshots depend only on the seed, and what a live view shows of it.

#![allow(dead_code)] // Each test uses a part of it.

use exactop_model::blame::sizes::{Sized, WaitKind, BUCKETS};
use exactop_model::blame::{Blame, Booked, Culprit, Party, Waits};
use exactop_model::ledger::audit::{Difference, ExitAudit, ExitedDifference, TaskAudit};
use exactop_model::ledger::snapshot::{CostSample, GroupMove, Outside, ProcessRef};
use exactop_model::ledger::system::{Memory, StatTicks, System};
use exactop_model::{
    AccountId, Book, Comm, Counter, Counters, CpuSample, Degraded, Detail, ErrorCounts, ErrorKind,
    ExitSample, Frame, FrameOptions, Ident, IdleRows, MicroState, Missing, Provenance, Quality,
    Row, RowKind, Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Machine, Reader, Recorder, Recording, Replay, ReplayStep};
use exactop_testkit::samples;
use std::path::Path;

const STATES: [MicroState; 8] = [
    MicroState::Run,
    MicroState::Lat,
    MicroState::LatPreempt,
    MicroState::Sleep,
    MicroState::Lock,
    MicroState::Block,
    MicroState::Stop,
    MicroState::Throttle,
];

pub struct World {
    seed: u64,
    pub at_ns: u64,
    complete: bool,
    /// False in a world of few tasks: inputs of fuzz_recording that once failed are files of such a world, from
    /// before sessions were recorded.
    sessions: bool,
    tasks: Vec<(TaskSample, u64)>,
    exits: Vec<ExitSample>,
    cpus: Vec<CpuSample>,
    accounts: u64,
    errors: ErrorCounts,
    moves: Vec<GroupMove>,
    /// CPU time of the first CPU so far, beyond what each window has.
    pub extra_ns: u64,
}

impl World {
    /// `complete`: its snapshots hold all tasks, as those of procfs do.
    pub fn new(seed: u64, complete: bool, tasks: u32) -> World {
        let cpus = (0..2).map(|cpu| CpuSample { cpu, online: true, ..CpuSample::default() });
        let mut world = World {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            at_ns: 1_000_000_000,
            complete,
            sessions: tasks > 6,
            tasks: Vec::new(),
            exits: Vec::new(),
            cpus: cpus.collect(),
            accounts: 0,
            errors: ErrorCounts::default(),
            moves: Vec::new(),
            extra_ns: 0,
        };
        (0..tasks).for_each(|_| world.birth());
        world
    }

    pub fn below(&mut self, n: u64) -> u64 {
        // xorshift64*
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        (self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }

    fn birth(&mut self) {
        self.accounts += 1;
        let tid = 100 + self.accounts as u32;
        let thread = !self.tasks.is_empty() && self.below(3) == 0;
        let tgid = if thread { self.tasks[0].0.key.tgid } else { tid };
        let mut counters = Counters::zero();
        counters.forget(Counter::IrqNs);
        if self.below(2) == 0 {
            counters.forget(Counter::UserNs);
        }
        let names: [&[u8]; 4] = [b"sh", b"kworker/0:1", b"\x1b[2J", b"0123456789abcde"];
        let sample = TaskSample {
            account: AccountId(self.accounts << 20 | 7),
            key: TaskKey { tgid, tid, start_ns: self.at_ns - 1 },
            ident: Ident {
                ppid: 1,
                comm: Comm::new(names[self.below(4) as usize]),
                uid: self.below(3) as u32,
                session: (self.sessions && !tgid.is_multiple_of(3)).then_some(tgid),
                cgroup_id: (self.below(2) == 0).then_some(77),
                nice: -5,
                prio: 115,
                policy: 0,
                kthread: false,
            },
            state: MicroState::Sleep,
            letter: 'S',
            since_ns: self.at_ns - 1,
            last_cpu: None,
            threads: None,
            tree: self.below(5).saturating_sub(3) as u32,
            counters,
            audit: TaskAudit::default(),
        };
        self.tasks.push((sample, self.at_ns));
    }

    fn touch(&mut self, at: usize) {
        let (run, state) = (self.below(50_000_000), STATES[self.below(8) as usize]);
        let now = self.at_ns;
        let (sample, as_of) = &mut self.tasks[at];
        for &counter in sample.state.counters() {
            sample.counters.bump(counter, now - *as_of);
        }
        sample.counters.bump(Counter::RunNs, run);
        sample.counters.bump(Counter::Dispatches, 1);
        audit(&mut sample.audit, run);
        *as_of = now;
        sample.state = state;
        sample.letter = if state == MicroState::Run { 'R' } else { 'S' };
        sample.last_cpu = Some((run % 2) as u32);
    }

    fn death(&mut self, at: usize) -> AccountId {
        let (sample, _) = self.tasks.remove(at);
        let comm = sample.ident.comm;
        let group = self.exits.iter().position(|group| group.comm == comm);
        let group = group.unwrap_or_else(|| {
            let mut ancestors = [ProcessRef::default(); 8];
            ancestors[0] = ProcessRef { tgid: 101, start_ns: 999_999_999 };
            self.accounts += 1;
            let uid = (!self.accounts.is_multiple_of(3)).then_some(self.accounts as u32);
            let session = sample.ident.session;
            let exited = samples::exited(self.accounts, ancestors, comm);
            self.exits.push(ExitSample { uid, session, ..exited });
            self.exits.len() - 1
        });
        let group = &mut self.exits[group];
        group.processes += u64::from(sample.key.is_leader());
        group.tasks += 1;
        group.life_ns += 1000;
        group.counters.bump(Counter::RunNs, 500);
        exited(&mut group.audit, &sample.audit);
        sample.account
    }

    /// The snapshot of the next instant.
    pub fn next(&mut self) -> Snapshot {
        self.at_ns += 1_000_000_000 + self.below(1000);
        let mut changed = Vec::new();
        let mut gone = Vec::new();
        for at in 0..self.tasks.len() {
            if self.below(4) == 0 {
                self.touch(at);
                changed.push(self.tasks[at].0);
            }
        }
        for _ in 0..self.below(3) {
            self.birth();
            let last = self.tasks.len() - 1;
            self.touch(last);
            changed.push(self.tasks[last].0);
        }
        if self.below(3) == 0 && self.tasks.len() > 10 {
            let at = 1 + self.below(self.tasks.len() as u64 - 1) as usize;
            let dead = self.death(at);
            changed.retain(|sample| sample.account != dead);
            gone.push(dead);
        }
        if self.complete {
            (0..self.tasks.len()).for_each(|at| self.touch(at));
            changed = self.tasks.iter().map(|(sample, _)| *sample).collect();
            gone.clear();
        }
        // Drawn from the time, so that the other draws stay as they were.
        let drawn = self.at_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        if drawn.is_multiple_of(5) {
            let (from, run_ns) = (drawn / 5 % 4, drawn % 1000);
            let used = [(Counter::RunNs, run_ns), (Counter::Dispatches, run_ns % 7)];
            let moved = samples::moved(from, 77, used);
            match self.moves.iter_mut().find(|moved| moved.from == from) {
                Some(sum) => sum.add(&moved.used),
                None => self.moves.push(moved),
            }
        } else if drawn.is_multiple_of(2) {
            self.moves.clear();
        }
        if self.below(7) == 0 {
            self.errors.add(ErrorKind::LostWakeup, 1);
        }
        self.snapshot(changed, gone)
    }

    fn snapshot(&mut self, tasks: Vec<TaskSample>, gone: Vec<AccountId>) -> Snapshot {
        let n = self.at_ns / 1_000_000;
        for cpu in &mut self.cpus {
            cpu.task_ns += n;
            cpu.idle_ns += 1_000_000_000 - n;
            cpu.switches = Some(n);
        }
        let mut cpus = self.cpus.clone();
        cpus[0].task_ns += self.extra_ns;
        cpus[0].idle_ns -= self.extra_ns;
        let ticks = StatTicks { user: n, idle: 2 * n, ..StatTicks::default() };
        let source = if self.complete { SourceKind::Procfs } else { SourceKind::Ledger };
        let mut provenance = Provenance::new(source).with(Quality::Exact, &[Counter::RunNs]);
        provenance.reason = self.complete.then(|| "a reason".into());
        provenance.degraded =
            Some(Degraded { history: n % 2 == 1, brief: n % 4 > 1, threads: n % 8 > 3 });
        if !self.complete {
            (provenance.audit_run, provenance.audit_lat) = (Quality::Exact, Quality::Exact);
        }
        Snapshot {
            at_ns: self.at_ns,
            provenance,
            irq_again: false,
            complete: self.complete,
            tasks,
            gone,
            exited: self.exits.clone(),
            moves: self.moves.clone(),
            groups: Vec::new(),
            leader_names: Vec::new(),
            cpus,
            watch: None,
            born: Some(self.accounts),
            errors: self.errors,
            repaired_ns: Some(3 * n),
            repaired_wait_ns: (!self.complete).then_some(5 * n),
            system: System {
                wall_s: Some(1_760_000_000 + (self.at_ns / 1_000_000_000) as i64),
                local_time: Some(format!("14:{:02}:{:02}", n / 60_000 % 60, n / 1000 % 60)),
                uptime_s: Some(self.at_ns as f64 / 1e9),
                users: Some(2),
                load: Some([0.25, n as f64 / 7.0, f64::MIN_POSITIVE]),
                memory: Some(Memory { total: 1 << 40, free: n, ..Memory::default() }),
                ticks: Some(ticks),
                cpu_ticks: vec![(0, ticks), (1, ticks)],
                forks: Some(self.accounts),
                ..System::default()
            },
            cost: CostSample { user_ns: n, bpf_ns: None, bpf_events: Some(n) },
            outside: self.complete.then_some(Outside { run_ns: n, irq_ns: 3 * n, steal_ns: 1 }),
            blame: (!self.complete).then(|| blame(n)).filter(|_| n.is_multiple_of(3)),
        }
    }

    /// Fills in the details of a row in this window.
    pub fn detail(&mut self, row: &mut Row) {
        row.detail = Detail {
            virt: Ok(self.below(1 << 40)),
            res: Err(Missing::NotPermitted),
            shr: Ok(0),
            time_ns: Ok(self.at_ns),
            cmdline: Ok(format!("run --of {}", row.key.tgid).into_bytes()),
            user: Ok(format!("user{}", row.ident.uid)),
            cgroup: Err(Missing::Vanished),
            named: Err(Missing::NotRead),
            disk: Err(Missing::NotRead),
        };
        row.ident.nice = 7;
    }
}

/// A blame book with each kind of culprit.
fn blame(n: u64) -> Blame {
    let party = |k: u64| Party {
        cgroup_id: 77 + k % 3,
        uid: (n % 5) as u32,
        session: k as u32,
        comm: Comm::new(format!("of{}", k % 4).as_bytes()),
        kthread: k % 2 == 1,
    };
    let mut blame = Blame::default();
    for k in n % 7..n % 7 + 2 {
        let lat_ns = (n * k % 1_000) as i64 - 500;
        let waits = Waits { lat_ns, dispatches: k as i64, in_flight_delta_ns: -lat_ns };
        blame.wait(Some(party(k)), waits);
        let others = [
            Culprit::Task(party(k + 5)),
            Culprit::Interrupts,
            Culprit::Steal,
            Culprit::Idle,
            Culprit::Throttled,
            Culprit::Brief,
            Culprit::Older,
            Culprit::Other,
            Culprit::Hidden,
        ];
        for (culprit, ns) in others.into_iter().zip(n..) {
            blame.book((k % 3 > 0).then(|| party(k)), culprit, Booked { ns, times: 1 + k });
        }
        let sizes = blame.sizes.entry((k % 4 > 0).then(|| party(k))).or_default();
        sizes.waits.add(&Waits { lat_ns: -lat_ns, ..waits });
        for (kind, at) in WaitKind::ALL.into_iter().zip(k..) {
            let sized = Sized { ns: n, count: at % 2, max_ns: n * (at % 2) };
            sizes.histogram_mut(kind).add_to(at as usize * 7 % BUCKETS, sized);
        }
    }
    blame
}

/// Audit differences of running: of both signs, and sometimes a repair.
fn audit(audit: &mut TaskAudit, run: u64) {
    let add = |difference: &mut Difference, n: u64| {
        difference.error_ns += (n % 1_000) as i64 - 500;
        difference.bias_ns -= (n % 7_000) as i64;
    };
    add(&mut audit.run, run);
    add(&mut audit.lat, run / 3);
    audit.repairs += u64::from(run.is_multiple_of(5));
}

/// Adds the audit of an exited task to its group.
fn exited(group: &mut ExitAudit, of: &TaskAudit) {
    let add = |sum: &mut ExitedDifference, of: Difference| {
        sum.error_ns += of.error_ns.unsigned_abs();
        sum.bias_ns += of.bias_ns.unsigned_abs();
        sum.worst_ns = of.error_ns.unsigned_abs();
    };
    add(&mut group.run, of.run);
    add(&mut group.lat, of.lat);
    group.repaired += u64::from(of.repairs > 0);
}

/// The frame options that show the most.
pub fn arrangements() -> [FrameOptions; 2] {
    [false, true].map(|threads| FrameOptions {
        threads,
        still: IdleRows::All,
        findings: true,
        ..FrameOptions::default()
    })
}

/// A window as a live view shows it: its frames, and rows whose details were read.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub frames: Vec<Frame>,
    pub rows: Vec<Row>,
    pub moves: Vec<GroupMove>,
    pub blame: Option<Blame>,
}

/// A live session that is recorded.
pub struct Live {
    pub world: World,
    pub book: Book,
    pub wall_offset_ns: i64,
    pub suspended_ns: u64,
}

impl Live {
    pub fn new(seed: u64, complete: bool) -> Live {
        Live::of(seed, complete, 30)
    }

    /// Starts with `tasks` tasks.
    pub fn of(seed: u64, complete: bool, tasks: u32) -> Live {
        Live {
            world: World::new(seed, complete, tasks),
            book: Book::new(),
            wall_offset_ns: 1 << 60,
            suspended_ns: 0,
        }
    }

    /// Adds time that CLOCK_MONOTONIC does not count.
    pub fn suspend(&mut self, ns: u64) {
        self.suspended_ns += ns;
        self.wall_offset_ns += ns as i64;
    }

    pub fn clocks(&self) -> Clocks {
        Clocks { wall_offset_ns: self.wall_offset_ns, suspended_ns: self.suspended_ns }
    }

    /// Records the next window and returns it; `None` the first time.
    pub fn window(&mut self, recorder: &mut Recorder) -> Option<Shown> {
        let now = self.world.next();
        recorder.record(&now, &self.book, self.clocks());
        let window = self.book.advance(now)?;
        let frames = arrangements().map(|o| Frame::new(&window, &self.book, &o)).to_vec();
        let mut rows = frames[0].rows.clone();
        rows.retain(|row| row.kind == RowKind::Process && row.key.tgid % 2 == 0);
        for row in &mut rows {
            self.world.detail(row);
            exactop_model::Tap::details(recorder, row);
        }
        recorder.settle();
        Some(Shown { frames, rows, moves: window.moves, blame: window.blame })
    }
}

/// The current window of a replay, requested as by a live view.
pub fn replayed(replay: &mut Replay) -> Shown {
    use exactop_model::{Ask, Feed, Needs};
    let asks = arrangements().map(|options| Ask { options, ..Ask::default() });
    let frames: Vec<Frame> =
        asks.iter().map(|ask| replay.same_frame(ask).expect("a window")).collect();
    let mut rows = frames[0].rows.clone();
    rows.retain(|row| row.kind == RowKind::Process && row.key.tgid % 2 == 0);
    replay.details(&mut rows.iter_mut().collect::<Vec<_>>(), Needs::STAT | Needs::CMDLINE);
    let moves = replay.window().expect("a window").moves.clone();
    let blame = replay.window().and_then(|window| window.blame.clone());
    Shown { frames, rows, moves, blame }
}

pub fn machine(boot: &str) -> Machine {
    Machine {
        host: "made-up".into(),
        boot_id: boot.into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.1.0".into(),
    }
}

pub fn open(path: &Path) -> Replay {
    Replay::new(Reader::new(Recording::open(path).expect("a recording")))
}

/// All windows and gaps of a recording.
pub fn all(path: &Path) -> (Vec<Shown>, Vec<exactop_recording::Gap>) {
    let mut replay = open(path);
    let (mut windows, mut gaps) = (Vec::new(), Vec::new());
    loop {
        match replay.forward().expect("readable") {
            ReplayStep::Window => windows.push(replayed(&mut replay)),
            ReplayStep::Gap(gap) => gaps.push(gap),
            ReplayStep::End => return (windows, gaps),
        }
    }
}
