//! A drawn machine with four CPUs, whose every nanosecond is known, and pages of it.

#![allow(dead_code)] // Each test uses a part of it.

use exactop_model::blame::rows::{BlamedSums, VictimRow};
use exactop_model::blame::sizes::{Sized, WaitKind, BUCKETS};
use exactop_model::blame::{Blame, Party};
use exactop_model::cgroups::GroupSample;
use exactop_model::ledger::named::{GroupName, Named};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::owner::Grouping;
use exactop_model::run::CpuStat;
use exactop_model::{
    Book, Comm, Counter, Counters, Ident, MicroState, Provenance, Quality, Snapshot, SourceKind,
    Tap, TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Machine, Options, Recorder, Recording, Sync, TimeRange, Windows};
use exactop_testkit::samples;
use exactop_web::page::{read, Document, Limits};
use std::path::Path;
use std::sync::Arc;

pub const SECOND: u64 = 1_000_000_000;
pub const CPUS: u64 = 4;
/// The process whose main thread the source never saw.
const HEADLESS: u32 = 20;
/// Processes from this PID on wait for a CPU.
pub const STARVING: u32 = 50_000;
/// Wall clock minus CLOCK_MONOTONIC.
pub const OFFSET: i64 = 1_760_000_000_000_000_000;
/// CPU time of the spike in its one window.
pub const SPIKE_NS: u64 = 3 * SECOND;
/// Names that must not become markup.
pub const HOSTILE: &str = "<img src=x>";
pub const HOSTILE_PATH: &str = "/</script><script>window.bad=1</script>\u{2028}";

/// The throttled group.
pub const CAPPED: &str = "/shop/capped";

/// Events of the drawn machine.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    pub windows: u64,
    /// The only window in which a process uses three CPUs.
    pub spike: u64,
    /// Number of processes that each use a little CPU time.
    pub crowd: u64,
    /// Number of processes that wait for a CPU all the time.
    pub starving: u64,
    /// True: each window has a CPU with a number that no other window has.
    pub far_cpus: bool,
    /// The window before this one is not recorded.
    pub gap: Option<u64>,
    /// A group is throttled by a quota; the kernel's files were read from this window on.
    pub quota: Option<u64>,
    /// True: a process has three threads.
    pub threads: bool,
    /// True: a thread, whose main thread was never seen and whose group is unknown, waits for a CPU
    /// all the time.
    pub headless: bool,
    /// Interrupts are not measured from this window on.
    pub no_irq: Option<u64>,
    /// In this window a process begins, and a thread of a process that has three.
    pub late: Option<u64>,
    /// Histograms of waits are kept from this window on.
    pub sized: Option<u64>,
}

impl Default for Planted {
    fn default() -> Planted {
        Planted {
            windows: 120,
            spike: 77,
            crowd: 12,
            starving: 0,
            far_cpus: false,
            gap: None,
            quota: None,
            threads: false,
            headless: false,
            no_irq: None,
            late: None,
            sized: None,
        }
    }
}

pub fn machine() -> Machine {
    Machine {
        host: "made-up <b>host</b>".into(),
        boot_id: "boot".into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.2.0".into(),
    }
}

/// A task that ran for `run_ns` until the n-th window's end, and was in state `rest` otherwise.
fn task(pid: u32, comm: &str, n: u64, run_ns: u64, rest: Counter) -> TaskSample {
    let key = TaskKey { tgid: pid, tid: pid, start_ns: SECOND };
    let ident =
        Ident { ppid: 1, comm: Comm::new(comm.as_bytes()), cgroup_id: Some(7), ..Ident::default() };
    let mut counters = Counters::zero();
    counters.set(Counter::RunNs, run_ns);
    counters.set(Counter::UserNs, run_ns - run_ns / 4);
    counters.set(Counter::SystemNs, run_ns / 4);
    counters.set(rest, n * SECOND - run_ns);
    counters.set(Counter::Dispatches, 10 * n);
    let state = match rest {
        Counter::LatNs => MicroState::Lat,
        Counter::ThrottleNs => MicroState::Throttle,
        _ => MicroState::Sleep,
    };
    TaskSample { state, threads: Some(1), counters, ..samples::task(pid.into(), key, ident) }
}

/// The machine at the n-th window's end.
pub fn snapshot(n: u64, planted: &Planted) -> Snapshot {
    let spiked = if n > planted.spike { SPIKE_NS } else { 0 };
    let mut tasks = vec![
        task(1, "init", n, 0, Counter::SleepNs),
        task(10, "steady", n, n * SECOND / 2, Counter::SleepNs),
        task(12, "starved", n, 0, Counter::LatNs),
        task(13, HOSTILE, n, n * SECOND / 50, Counter::BlockNs),
    ];
    // Three threads: its states exceed one second per second only in that window.
    let mut spiky = task(11, "spiky", n, 0, Counter::SleepNs);
    spiky.counters.set(Counter::RunNs, spiked);
    spiky.counters.set(Counter::UserNs, spiked);
    tasks.push(spiky);
    if planted.quota.is_some() {
        // It gets 0.4 of 1.5 CPUs.
        let mut capped = task(14, HOSTILE, n, n * SECOND * 2 / 5, Counter::ThrottleNs);
        capped.ident.cgroup_id = Some(8);
        tasks.push(capped);
    }
    let late = planted.late.filter(|&late| n > late);
    if let Some(late) = late {
        let mut task = task(30, "late", n - late, (n - late) * SECOND / 4, Counter::SleepNs);
        task.key.start_ns = (100 + late) * SECOND;
        tasks.push(task);
    }
    let threads = if late.is_some() { 4 } else { 3 };
    for number in (0..threads).filter(|_| planted.threads) {
        let run_ns = n * SECOND / 100 * u64::from(number % 3);
        let name = if number == 2 { HOSTILE } else { "pool" };
        let began = late.filter(|_| number == 3).unwrap_or(0);
        let thread = task(15 + number, name, n - began, run_ns, Counter::SleepNs);
        let start_ns = if began > 0 { (100 + began) * SECOND } else { SECOND };
        let key = TaskKey { tgid: 15, start_ns, ..thread.key };
        tasks.push(TaskSample { key, threads: Some(threads), ..thread });
    }
    if planted.headless {
        let mut thread = task(HEADLESS, "headless", n, 0, Counter::LatNs);
        thread.key.tid += 1;
        thread.ident.cgroup_id = None;
        tasks.push(thread);
    }
    for number in 0..planted.crowd {
        let comm = format!("crowd{number}");
        tasks.push(task(
            100 + number as u32,
            &comm,
            n,
            n * 1000 * (number % 100 + 1),
            Counter::SleepNs,
        ));
    }
    for number in 0..planted.starving {
        tasks.push(task(STARVING + number as u32, "starving", n, 0, Counter::LatNs));
    }
    let mut brief = samples::exited(9000, ancestors(), Comm::new(b"true"));
    brief.cgroup_id = Some(7);
    (brief.processes, brief.tasks, brief.life_ns) = (100 * n, 100 * n, 150 * n * 1_000_000);
    brief.counters.set(Counter::RunNs, 100 * n * 1_000_000);
    let used: u64 = tasks.iter().filter_map(|task| task.counters.get(Counter::RunNs)).sum();
    let used = used + 100 * n * 1_000_000;
    let mut now = samples::snapshot(SourceKind::Ledger, (100 + n) * SECOND);
    let has_irq = planted.no_irq.is_none_or(|from| n < from);
    now.provenance = Provenance {
        irq: if has_irq { Quality::Exact } else { Quality::Missing },
        steal: Quality::Exact,
        counters: [Quality::Exact; Counter::COUNT],
        ..Provenance::new(SourceKind::Ledger)
    };
    now.cpus = (0..CPUS).map(|cpu| of_cpu(cpu, n, used)).collect();
    if !has_irq {
        now.cpus.iter_mut().for_each(|cpu| (cpu.irq_ns, cpu.irq_idle_ns) = (None, None));
    }
    if planted.far_cpus {
        // Present at both ends of its window.
        now.cpus.extend([n, n + 1].map(|cpu| samples::cpu(1000 + cpu as u32)));
    }
    now.groups = vec![Arc::new(GroupName {
        id: 7,
        path: HOSTILE_PATH.into(),
        named: Arc::new(Named { unit: Some("web.service".into()), ..Named::default() }),
    })];
    if planted.quota.is_some() {
        let container = Some(format!("till {HOSTILE}"));
        let named = Arc::new(Named { container, ..Named::default() });
        now.groups.push(Arc::new(GroupName { id: 8, path: CAPPED.into(), named }));
    }
    now.system.uptime_s = Some((100 + n) as f64);
    now.blame = planted.sized.filter(|&from| n > from).map(|_| book_of_waits(n - 1));
    now.tasks = tasks;
    now.exited = vec![brief];
    now
}

/// The owners of planted waits: seed of their counts, group, command.
pub const WAITING: [(u64, &str, &str); 3] =
    [(7, HOSTILE_PATH, "steady"), (8, CAPPED, HOSTILE), (0, "~other", "~other")];

/// Waits that ended in a window, by bucket: those woken and those preempted. Many buckets are empty.
pub fn waits(seed: u64, window: u64) -> [[u64; 2]; BUCKETS] {
    std::array::from_fn(|bucket| {
        [0, 1].map(|kind| {
            let n = (window + 1) * (7 * bucket as u64 + 3 * kind + seed + 1) % 11;
            n.checked_sub(6).map_or(0, |_| n.pow(bucket as u32 % 5))
        })
    })
}

fn book_of_waits(window: u64) -> Blame {
    let mut book = Blame::default();
    for (cgroup_id, _, comm) in WAITING {
        let comm = Comm::new(comm.as_bytes());
        let party = Party { cgroup_id, uid: 0, session: 0, comm, kthread: false };
        let sizes = book.sizes.entry(Some(party).filter(|_| cgroup_id > 0)).or_default();
        for (bucket, counts) in waits(cgroup_id, window).into_iter().enumerate() {
            for (kind, count) in WaitKind::ALL.into_iter().zip(counts) {
                let sized = Sized { ns: 100 * count, count, max_ns: 100 };
                sizes.histogram_mut(kind).add_to(bucket, sized);
            }
        }
    }
    book
}

/// Figures from the kernel's files of groups at the n-th window's end.
pub fn group_files(n: u64) -> Vec<GroupSample> {
    let group = |name: &str, id, usage_ns, allowed_cpus: Option<f64>| GroupSample {
        name: name.into(),
        id: Some(id),
        stat: CpuStat {
            usage_ns: Some(usage_ns),
            nr_periods: Some(10 * n),
            nr_throttled: Some(9 * n),
            ..CpuStat::default()
        },
        weight: Some(50),
        max: Some(allowed_cpus.map_or("max 100000".into(), |cpus| format!("{cpus} of a CPU"))),
        allowed_cpus,
        ..GroupSample::default()
    };
    vec![
        GroupSample { name: "/".into(), id: Some(1), ..GroupSample::default() },
        group("/shop", 9, n * SECOND * 2 / 5, Some(0.4)),
        group(CAPPED, 8, n * SECOND * 2 / 5, Some(2.0)),
        group("/idle", 10, 0, None),
    ]
}

fn of_cpu(cpu: u64, n: u64, used: u64) -> exactop_model::CpuSample {
    let mut sample = samples::cpu(cpu as u32);
    let part = used / CPUS + if cpu == 0 { used % CPUS } else { 0 };
    (sample.task_ns, sample.idle_ns) = (part, n * SECOND - part);
    (sample.irq_ns, sample.irq_idle_ns) = (Some(0), Some(0));
    sample
}

fn ancestors() -> [ProcessRef; 8] {
    let mut ancestors = [ProcessRef::default(); 8];
    ancestors[0] = ProcessRef { tgid: 10, start_ns: SECOND };
    ancestors
}

/// Records the machine. A task without changes is written once, init three times.
pub fn record(path: &Path, planted: &Planted) {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let open = || Recorder::open(path, machine(), options.clone()).expect("a recorder");
    let (mut recorder, mut book) = (open(), Book::new());
    for n in 0..=planted.windows {
        if planted.gap == Some(n) {
            drop(recorder);
            (recorder, book) = (open(), Book::new());
        }
        let mut now = snapshot(n, planted);
        if n > 0 && planted.gap != Some(n) {
            now.complete = false;
            let happened = |pid| {
                ![12, HEADLESS].contains(&pid)
                    && pid < STARVING
                    && (pid != 1 || [31, 91].contains(&n))
            };
            now.tasks.retain(|task| happened(task.key.tgid));
        }
        recorder.record(&now, &book, Clocks { wall_offset_ns: OFFSET, suspended_ns: 0 });
        if planted.quota.is_some_and(|from| n >= from.max(1)) {
            recorder.groups(&group_files(n - 1), &group_files(n));
        }
        book.advance(now);
    }
    assert_eq!(recorder.notices(), []);
}

/// The page's document.
pub fn document(planted: &Planted, limits: &Limits) -> Document {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&path, planted);
    let open = || Recording::open(&path).expect("the recording");
    read([open(), open()], TimeRange::default(), limits).expect("it")
}

/// The document as JSON.
pub fn json(planted: &Planted, limits: &Limits) -> serde_json::Value {
    let json = document(planted, limits).json().expect("JSON");
    serde_json::from_str(&json).expect("JSON")
}

/// The page of a recording of an earlier form, which has few histograms of waits.
pub fn kept_histograms(limits: &Limits) -> Document {
    let open = || Recording::open(kept("histograms").as_ref()).expect("a recording");
    read([open(), open()], TimeRange::default(), limits).expect("a page")
}

/// A kept recording of the ledger.
fn kept(what: &str) -> String {
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../keep/recording/tests/recordings");
    format!("{recordings}/form-1-{what}-ledger.rec")
}

/// The blame books of a recording's windows under a key.
pub struct Books {
    pub by: &'static str,
    /// Length of the windows that have one, ns.
    pub length_ns: u64,
    pub rows: Vec<VictimRow>,
}

/// The page of a recording with blame books in some windows, and these books.
pub fn booked() -> (Document, Vec<Books>) {
    let path = kept("blame");
    let open = || Recording::open(path.as_ref()).expect("a recording");
    let document = read([open(), open()], TimeRange::default(), &Limits::default());
    let books = [Grouping::Cgroup, Grouping::Command].map(|by| {
        let (mut sums, mut length_ns) = (BlamedSums::default(), 0);
        let mut windows = Windows::from_recording(open(), TimeRange::default()).expect("windows");
        while windows.advance().expect("a window") {
            let replay = windows.replay();
            let Some(window) = replay.window() else { continue };
            if let Some(blame) = &window.blame {
                sums.add(blame, by, replay.book(), &mut |_| None);
                length_ns += window.length_ns();
            }
        }
        Books { by: by.name(), length_ns, rows: sums.into_rows() }
    });
    (document.expect("a page"), books.into())
}
