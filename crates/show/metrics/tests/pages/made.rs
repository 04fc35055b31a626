//! A made-up machine without living tasks: in each window the named ones run and exit.

use exactop_metrics::{Clock, Format, Metrics, Settings};
use exactop_model::ledger::key::AccountId;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::owner::{CgroupNames, Names};
use exactop_model::{
    Book, Books, Comm, Counter, Provenance, Quality, Snapshot, SourceKind, Window,
};
use exactop_testkit::samples;
use std::collections::BTreeMap;

/// Length of its windows, ns.
pub const SECOND: u64 = 1_000_000_000;

/// CPUs of the machine.
pub const CPUS: u64 = 4;

/// Wall clock at 0 of CLOCK_MONOTONIC, ns since the epoch.
pub const WALL: i128 = 1_700_000_000_000_000_000;

/// Activity of one name in a window.
#[derive(Clone, Debug)]
pub struct Did {
    pub comm: Vec<u8>,
    pub cgroup: Option<u64>,
    pub run_ns: u64,
    pub lat_ns: u64,
}

/// A name that only ran.
pub fn ran(comm: &str, run_ns: u64) -> Did {
    Did { comm: comm.into(), cgroup: Some(1), run_ns, lat_ns: 0 }
}

pub struct Made {
    pub metrics: Metrics,
    book: Book,
    at_ns: u64,
    idle_ns: u64,
    task_ns: u64,
    accounts: u64,
    names: Cgroups,
}

/// Names of control groups by id; other groups have no names.
#[derive(Clone, Default)]
pub struct Cgroups(pub BTreeMap<u64, CgroupNames>);

impl Cgroups {
    /// Group 1 is a pod's container, group 2 a unit.
    pub fn pod_and_unit() -> Cgroups {
        let pod = CgroupNames {
            namespace: Some("shop".into()),
            pod: Some("cart-1".into()),
            container: Some("web".into()),
            unit: None,
        };
        let unit = CgroupNames { unit: Some("cron.service".into()), ..CgroupNames::default() };
        Cgroups([(1, pod), (2, unit)].into())
    }
}

impl Names for Cgroups {
    fn cgroup(&self, id: u64) -> Option<CgroupNames> {
        self.0.get(&id).cloned()
    }

    fn user(&self, _: u32) -> Option<String> {
        None
    }
}

impl Made {
    pub fn new(settings: Settings, names: Cgroups) -> Made {
        let metrics = Metrics::new(settings, Clock::new(WALL));
        let (book, at_ns) = (Book::new(), 100 * SECOND);
        let mut made = Made { metrics, book, at_ns, idle_ns: 0, task_ns: 0, accounts: 0, names };
        let opening = made.snapshot(&[]);
        assert!(made.book.advance(opening).is_none());
        made
    }

    /// Runs a window with this activity.
    pub fn window(&mut self, did: &[Did]) {
        let window = self.told_otherwise(did, |_| ());
        assert_eq!(Books::from_window(&window).residual_ns, 0);
    }

    /// Same, with a changed snapshot.
    pub fn told_otherwise(&mut self, did: &[Did], change: impl Fn(&mut Snapshot)) -> Window {
        self.at_ns += SECOND;
        let run_ns: u64 = did.iter().map(|d| d.run_ns).sum();
        self.task_ns += run_ns;
        self.idle_ns += CPUS * SECOND - run_ns;
        let mut snapshot = self.snapshot(did);
        change(&mut snapshot);
        let window = self.book.advance(snapshot).expect("the book is open");
        self.metrics.advance(&window, &self.book, &self.names);
        window
    }

    fn snapshot(&mut self, did: &[Did]) -> Snapshot {
        let exited = did.iter().map(|did| {
            self.accounts += 1;
            let nobody = [ProcessRef::default(); 8];
            let mut exit = samples::exited(self.accounts, nobody, Comm::new(&did.comm));
            exit.account = AccountId(self.accounts);
            (exit.processes, exit.tasks, exit.cgroup_id) = (1, 1, did.cgroup);
            exit.life_ns = did.run_ns + did.lat_ns;
            exit.counters.set(Counter::RunNs, did.run_ns);
            exit.counters.set(Counter::LatNs, did.lat_ns);
            exit.counters.forget(Counter::UserNs);
            exit.counters.set(Counter::UtimeNs, did.run_ns / 2);
            exit.counters.set(Counter::StimeNs, did.run_ns / 2);
            exit
        });
        let exited = exited.collect();
        let cpus = (0..CPUS).map(|n| {
            let mut cpu = samples::cpu(n as u32);
            let part = |all: u64| all / CPUS + u64::from(n < all % CPUS);
            (cpu.task_ns, cpu.irq_ns, cpu.irq_idle_ns) = (part(self.task_ns), Some(0), Some(0));
            cpu.idle_ns = (self.at_ns - 100 * SECOND) - cpu.task_ns;
            cpu
        });
        let cpus: Vec<_> = cpus.collect();
        assert_eq!(cpus.iter().map(|cpu| cpu.idle_ns).sum::<u64>(), self.idle_ns);
        let exact = [Quality::Exact; Counter::COUNT];
        let (irq, steal) = (Quality::Exact, Quality::Exact);
        let none = Provenance::new(SourceKind::Ledger);
        let mut snapshot = samples::snapshot(SourceKind::Ledger, self.at_ns);
        snapshot.provenance = Provenance { irq, steal, counters: exact, ..none };
        (snapshot.exited, snapshot.cpus) = (exited, cpus);
        snapshot.cost.bpf_ns = Some(self.at_ns / 1000);
        snapshot
    }

    pub fn scrape(&mut self, format: Format) -> String {
        String::from_utf8(self.metrics.scrape(format)).expect("UTF-8")
    }

    /// The groups' CPU time in ns by labels, as scraped.
    pub fn groups(&mut self) -> BTreeMap<String, i128> {
        let text = self.scrape(Format::Prometheus);
        let lines = text.lines().filter_map(|l| l.strip_prefix("exactop_group_cpu_seconds_total"));
        let group = |line: &str| {
            let (labels, value) = line.rsplit_once(' ').expect("a value");
            let labels = labels.trim_start_matches('{').trim_end_matches('}');
            (labels.to_string(), value.replace('.', "").parse().expect("a number"))
        };
        lines.map(group).collect()
    }

    /// Sum of the accounts tasks and exited.
    pub fn named_ns(&self) -> u64 {
        self.task_ns
    }
}
