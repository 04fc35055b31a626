//! Recordings of made-up hosts, and their true sums.

use exactop_export::clickhouse::{insert, Address, Client, Login, Patience, Sending, SentCounts};
use exactop_export::ExportError;
use exactop_model::ledger::named::{GroupName, Named};
use exactop_model::{Book, Books, Comm, Counter, Snapshot, SourceKind};
use exactop_recording::{Clocks, Machine, Options, Recorder, Recording, Sync, TimeRange};
use exactop_testkit::{T0, WINDOW};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Windows of each host.
pub const WINDOWS: u64 = 20;
/// Groups with their own row in a window: fewer than there are.
pub const GROUPS: usize = 4;

/// What the blame book of a window of the made-up machine has, ns.
pub const BLAMED_NS: u64 = 326 * (WINDOW / 1000);

/// True sums of a recording's windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub windows: u64,
    pub capacity: u128,
    pub named: u128,
    pub others: u128,
    pub lat: u128,
}

impl Truth {
    pub fn and(self, other: Truth) -> Truth {
        Truth {
            windows: self.windows + other.windows,
            capacity: self.capacity + other.capacity,
            named: self.named + other.named,
            others: self.others + other.others,
            lat: self.lat + other.lat,
        }
    }
}

pub fn machine(host: &str) -> Machine {
    Machine {
        host: host.into(),
        boot_id: format!("boot of {host}"),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.2.0".into(),
    }
}

/// Names of the control group that holds all tasks.
fn names() -> Vec<Arc<GroupName>> {
    let named = Named {
        unit: Some("shop.service".into()),
        namespace: Some("shop".into()),
        ..Named::default()
    };
    vec![Arc::new(GroupName { id: 42, path: b"/shop.service".to_vec(), named: Arc::new(named) })]
}

/// A host whose recording ended a little while ago.
pub struct Host<'a> {
    pub name: &'a str,
    pub source: SourceKind,
    /// First window of the made-up machine.
    pub from: u64,
    /// Additional CPU use of postgres after [`ROLLOUT_NS`], in tenths of a per cent of a CPU.
    pub grows: u64,
}

/// When that additional use begins, CLOCK_MONOTONIC ns.
pub const ROLLOUT_NS: u64 = T0 + 13 * WINDOW;

/// A recording of the ledger. Hosts begin at different windows of the same machine.
pub fn recorded(path: &Path, host: &str, from: u64) -> Truth {
    record(path, &Host { name: host, source: SourceKind::Ledger, from, grows: 0 })
}

/// Records a host.
pub fn record(path: &Path, host: &Host) -> Truth {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine(host.name), options).expect("a recorder");
    let clocks = Clocks { wall_offset_ns: wall_offset_ns(), suspended_ns: 0 };
    let (mut book, mut truth) = (Book::new(), Truth::default());
    for n in host.from..=host.from + WINDOWS {
        let mut now: Snapshot = exactop_testkit::snapshot(host.source, n, None);
        now.groups = if n == host.from { names() } else { Vec::new() };
        grow(&mut now, host.grows);
        recorder.record(&now, &book, clocks);
        let Some(window) = book.advance(now) else { continue };
        let books = Books::from_window(&window);
        let told = books.irq_ns.into_iter().chain(books.steal_ns).sum::<u64>();
        let others = books.unnamed_ns + books.idle_ns + books.offline_ns + told;
        let tasks = window.tasks.iter().map(|task| &task.delta);
        let all = tasks.chain(window.exited.iter().map(|exit| &exit.delta));
        let lat: u64 = all.filter_map(|delta| delta.get(Counter::LatNs)).sum();
        truth = truth.and(Truth {
            windows: 1,
            capacity: books.total_ns.into(),
            named: (books.tasks_ns + books.exited_ns).into(),
            others: others.into(),
            lat: lat.into(),
        });
    }
    truth
}

/// Gives idle time to postgres.
fn grow(now: &mut Snapshot, tenths: u64) {
    let more = now.at_ns.saturating_sub(ROLLOUT_NS) / 1000 * tenths;
    let postgres = now.tasks.iter_mut().find(|task| task.ident.comm == Comm::new(b"postgres"));
    postgres.expect("it lives").counters.bump(Counter::RunNs, more);
    now.cpus[0].task_ns += more;
    now.cpus[0].idle_ns -= more;
}

/// An hour ago, on a whole minute: windows of 2 s end in several minutes, whatever the time is.
pub fn wall_offset_ns() -> i64 {
    // Computed once: a minute may begin while the tests run.
    static NS: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    *NS.get_or_init(|| {
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs() as i64;
        (now - 3600) / 60 * 60 * 1_000_000_000
    })
}

pub fn now_ns() -> i128 {
    SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos() as i128
}

/// A directory with a recording.
pub fn one() -> (tempfile::TempDir, PathBuf, Truth) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let truth = recorded(&path, "one", 0);
    (dir, path, truth)
}

/// Retries at once, and not for long.
pub const HASTY: Patience = Patience {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(5),
    all: Duration::from_secs(20),
};

pub fn client(
    url: &str,
    login: Option<Login>,
    believed: Option<&Path>,
    patience: Patience,
) -> Client {
    let address = Address::read(url).expect("an address");
    Client::new(address, "exactop", login, believed, patience).expect("a client")
}

/// Sends a recording; returns the result and the counts up to then.
pub fn send(path: &Path, client: &Client, now_ns: i128) -> (Result<(), ExportError>, SentCounts) {
    let mut sent = SentCounts::default();
    let recording = Recording::open(path).expect("a recording");
    let sending = Sending { client, groups: GROUPS, now_ns };
    let done = insert(recording, TimeRange::default(), &sending, &mut sent);
    (done, sent)
}
