//! A small machine of two CPUs over one window of a second, put together from two snapshots, so
//! that the frames in the tests are arranged by the same code as real ones.

use exactop_model::key::Comm;
use exactop_model::snapshot::{CostSample, ProcessRef};
use exactop_model::system::{Memory, StatTicks, System};
use exactop_model::{
    AccountId, Ask, Book, Counter, Counters, CpuSample, ErrorCounts, ErrorKind, ExitSample, Feed,
    Frame, FrameOptions, Ident, MicroState, Needs, Provenance, Quality, Row, Snapshot, SourceKind,
    Still, TaskKey, TaskSample,
};

const T0: u64 = 1_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// Which source the frame pretends to come from.
pub fn frame(source: SourceKind, threads: bool) -> Frame {
    let mut book = Book::new();
    assert!(book.advance(snapshot(source, 0)).is_none());
    let window = book.advance(snapshot(source, 1)).expect("the second snapshot closes a window");
    let options = FrameOptions { threads, still: Still::All, threads_of: None };
    Frame::new(&window, &book, &options)
}

fn snapshot(source: SourceKind, n: u64) -> Snapshot {
    let ledger = source == SourceKind::Ledger;
    let mut provenance = Provenance::new(source);
    let quality = if ledger { Quality::Exact } else { Quality::Sampled };
    provenance.counters[Counter::RunNs as usize] = quality;
    provenance.steal = quality;
    if !ledger {
        provenance.reason = Some("not permitted to load BPF programs: run it as root".into());
    }
    let mut errors = ErrorCounts::default();
    errors.add(ErrorKind::LostWakeup, n);
    Snapshot {
        at_ns: T0 + n * SECOND,
        provenance,
        complete: true,
        tasks: tasks(ledger, n),
        gone: Vec::new(),
        exited: if ledger && n > 0 { vec![exited()] } else { Vec::new() },
        cpus: vec![cpu(0, n, 700_000_001), cpu(1, n, 466_666_666)],
        watch: None,
        repaired_ns: None,
        born: ledger.then_some(100 + n * 12),
        errors,
        system: system(n),
        cost: CostSample {
            user_ns: 400_000 * n,
            bpf_ns: ledger.then_some(200_000 * n),
            bpf_events: ledger.then_some(5000 * n),
        },
    }
}

fn counters(ledger: bool, run_ns: u64, sleep_ns: u64) -> Counters {
    let mut c = Counters::unknown();
    c.set(Counter::RunNs, run_ns);
    c.set(Counter::UtimeNs, run_ns / 4 * 3);
    c.set(Counter::StimeNs, run_ns / 4);
    if ledger {
        c.set(Counter::StealNs, 0);
        c.set(Counter::LatNs, run_ns / 10);
        c.set(Counter::SleepNs, sleep_ns);
        c.set(Counter::Vcx, run_ns / 1_000_000);
    }
    c
}

struct Task {
    key: (u32, u32),
    comm: &'static [u8],
    uid: u32,
    kthread: bool,
    run_ns: u64,
    letter: char,
}

/// Names from the system may hold anything.
const TASKS: [Task; 5] = [
    task((1, 1), b"systemd", 0, false, 0, 'S'),
    task((2, 2), b"kthreadd", 0, true, 0, 'S'),
    task((22_417, 22_417), b"sh", 1000, false, 333_333_333, 'R'),
    task((812, 812), b"evil\x1b[2J,\"name\"", 70, false, 100_000_000, 'S'),
    task((812, 820), b"worker", 70, false, 33_333_334, 'S'),
];

const fn task(
    key: (u32, u32),
    comm: &'static [u8],
    uid: u32,
    kthread: bool,
    run_ns: u64,
    letter: char,
) -> Task {
    Task { key, comm, uid, kthread, run_ns, letter }
}

fn tasks(ledger: bool, n: u64) -> Vec<TaskSample> {
    let sample = |(i, t): (usize, &Task)| TaskSample {
        followed: false,
        account: AccountId(i as u64 + 1),
        key: TaskKey { tgid: t.key.0, tid: t.key.1, start_ns: 50 * SECOND + i as u64 },
        ident: Ident {
            ppid: u32::from(t.key.0 != 1),
            comm: Comm::new(t.comm),
            uid: t.uid,
            cgroup_id: Some(42),
            nice: 0,
            prio: 120,
            policy: 0,
            kthread: t.kthread,
        },
        state: if t.letter == 'R' { MicroState::Run } else { MicroState::Sleep },
        letter: t.letter,
        since_ns: T0 - SECOND,
        last_cpu: Some(i as u32 % 2),
        threads: None,
        counters: counters(ledger, t.run_ns * n, (SECOND - t.run_ns) * n),
    };
    TASKS.iter().enumerate().map(sample).collect()
}

/// `true`, 1,756 times, forked by the shell.
fn exited() -> ExitSample {
    let mut ancestors = [ProcessRef::default(); 8];
    ancestors[0] = ProcessRef { tgid: 22_417, start_ns: 50 * SECOND + 2 };
    ExitSample {
        followed: false,
        account: AccountId(900),
        of: ProcessRef::default(),
        ancestors,
        comm: Comm::new(b"true"),
        cgroup_id: Some(42),
        processes: 1756,
        tasks: 1756,
        life_ns: 900_000_000,
        counters: counters(true, 700_000_000, 0),
    }
}

/// Idle is what the two CPUs had left in the one window.
fn cpu(cpu: u32, n: u64, task_ns: u64) -> CpuSample {
    CpuSample {
        cpu,
        online: true,
        task_ns: task_ns * n,
        unnamed_ns: 0,
        idle_ns: (SECOND - task_ns - 1) * n,
        irq_ns: None,
        steal_ns: Some(n),
        steal_idle_ns: Some(n),
        irq_idle_ns: None,
        offline_ns: 0,
        switches: Some(4000 * n),
        ..CpuSample::default()
    }
}

fn system(n: u64) -> System {
    let ticks =
        StatTicks { user: 61 * n, system: 38 * n, idle: 100 * n, steal: n, ..StatTicks::default() };
    System {
        wall_s: Some(1_700_000_000 + n as i64),
        local_time: Some("20:03:48".into()),
        uptime_s: Some(9_125_580.5),
        users: Some(1),
        load: Some([2.52, 1.57, 0.79]),
        memory: Some(Memory {
            total: 3_973_091_328,
            free: 1_932_735_283,
            available: 3_000_000_000,
            cache: 1_825_361_100,
            swap_total: 4_294_967_296,
            swap_free: 4_294_967_296,
        }),
        ticks: Some(ticks),
        cpu_ticks: vec![(0, ticks), (1, ticks)],
        forks: Some(1000 + n),
    }
}

/// A feed that reads details and has no frames.
pub struct Reads(pub fn(&mut [&mut Row], Needs));

impl Feed for Reads {
    fn next_frame(&mut self, _: &Ask) -> Result<Option<Frame>, String> {
        Ok(None)
    }

    fn same_frame(&mut self, _: &Ask) -> Option<Frame> {
        None
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        self.0(rows, needs);
    }
}

/// Details of every row.
pub fn details(rows: &mut [&mut Row], needs: Needs) {
    for row in rows {
        if needs.has(Needs::STATM) {
            row.detail.res = Ok(3 << 20);
            row.detail.shr = Ok(1 << 20);
        }
        if needs.has(Needs::STAT) {
            row.detail.virt = Ok(212 << 20);
            row.detail.time_ns = Ok(14_340_000_000);
        }
        if needs.has(Needs::USER) {
            let name = if row.ident.uid == 0 { "root" } else { "a-long-user-name" };
            row.detail.user = Ok(name.into());
        }
        if needs.has(Needs::CMDLINE) {
            row.detail.cmdline = Ok(b"sh -c while :; do /bin/true; done".into());
        }
        if needs.has(Needs::CGROUP) {
            row.detail.cgroup = Ok(b"/system.slice/a.service".into());
        }
    }
}
