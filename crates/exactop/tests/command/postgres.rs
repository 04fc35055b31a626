//! PostgreSQL beside a busy neighbour: the book names the neighbour, with the share of the wait that
//! the kernel's own counts leave to it (`make test-postgres`).

use crate::helpers::processes::{children, send, Load, INT};
use crate::helpers::quiet::measured;
use crate::helpers::run::{run, without_ledger};
use exactop_cgroups::{Hierarchy, Nested};
use exactop_testkit::wait;
use exactop_workloads::workloads::Spin;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The CPU of the server and of its neighbour. The client has another one.
const CPU: usize = 0;
/// Connections, each with a process of the server.
const CLIENTS: usize = 4;
/// The largest accepted difference of the two shares.
const POINTS: f64 = 5.0;

/// Groups below one that takes its CPUs from all other load.
struct Groups {
    hierarchy: Hierarchy,
    below: Nested,
}

const DATABASE: &str = "database";
const NEIGHBOUR: &str = "neighbour";
const MOST: u64 = 10_000;

impl Groups {
    fn make() -> Groups {
        let hierarchy = Hierarchy::of_this_machine().expect("control groups");
        let mut below = Nested::new(&hierarchy).expect("a group");
        for group in [DATABASE, NEIGHBOUR] {
            below.add(group).expect("a group");
        }
        let groups = Groups { hierarchy, below };
        ["", DATABASE, NEIGHBOUR].into_iter().for_each(|group| groups.weigh(group, MOST));
        groups
    }

    /// Its name on screens.
    fn name(&self, group: &str) -> String {
        self.hierarchy.name(&self.below.directory(group)).display().to_string()
    }

    fn weigh(&self, group: &str, weight: u64) {
        self.hierarchy.set_weight(&self.below.directory(group), weight).expect("a weight");
    }

    fn take(&self, group: &str, pid: u32) {
        let doors = self.below.doors(group).expect("an entrance");
        doors.into_iter().for_each(|mut door| write!(door, "{pid}").expect("moved"));
    }
}

/// Time on a CPU and waits for one, by the kernel (/proc/PID/schedstat), ns.
#[derive(Clone, Copy, Default)]
struct Counted {
    ran: f64,
    waited: f64,
}

impl Counted {
    fn of(pid: u32) -> Option<Counted> {
        let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
        let mut figures = text.split(' ').map(|figure| figure.parse().expect("a number"));
        Some(Counted { ran: figures.next()?, waited: figures.next()? })
    }
}

/// A server with its data, and a client that asks as fast as it is answered.
struct Database {
    client: Option<Load>,
    server: Load,
    _data: tempfile::TempDir,
}

impl Database {
    fn start(groups: &Groups) -> Database {
        let programs = programs();
        let data = tempfile::tempdir().expect("a directory");
        let (bin, dir) = (programs.display(), data.path().display());
        let as_postgres = "setpriv --reuid=postgres --regid=postgres --clear-groups";
        shell(&format!(
            "chown postgres {dir} && cd {dir} && {as_postgres} {bin}/initdb -D {dir}/data -A trust -E UTF8 --locale=C"
        ));
        let mut server = Command::new("taskset");
        server.args(["-c", &CPU.to_string(), "sh", "-c"]).arg(format!(
            "cd {dir}; read go; exec {as_postgres} {bin}/postgres -D {dir}/data -k {dir} \
             -c listen_addresses= -c fsync=off -c autovacuum=off"
        ));
        let mut server = Load::start(server.stdin(Stdio::piped()).stderr(Stdio::null()));
        groups.take(DATABASE, server.pid());
        server.0.stdin.take().expect("a pipe").write_all(b"go\n").expect("it reads");
        wait::until("a server", || {
            let mut ready = Command::new(programs.join("pg_isready"));
            ready.args(["-q", "-h"]).arg(data.path()).status().expect("pg_isready").success()
        });
        let client = format!("{bin}/pgbench -h {dir} -U postgres");
        // Long enough that the server is the one that has no time.
        let ask = "SELECT sum(n) FROM generate_series(1, 100000) AS n;\n";
        fs::write(data.path().join("ask.sql"), ask).expect("a file");
        let asks =
            format!("exec {client} -n -f {dir}/ask.sql -c {CLIENTS} -T 600 postgres 2>/dev/null");
        let client = Load::start(Command::new("taskset").args(["-c", "1", "sh", "-c", &asks]));
        let database = Database { client: Some(client), server, _data: data };
        wait::until("its connections", || database.connections().len() == CLIENTS);
        database
    }

    /// The processes that serve the client.
    fn connections(&self) -> Vec<u32> {
        let serves = |pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with("postgres: postgres postgres ")
        };
        children(self.server.pid()).into_iter().filter(serves).collect()
    }

    fn counted(&self) -> Counted {
        let mut sum = Counted::default();
        for one in self.connections().into_iter().map(|pid| Counted::of(pid).expect("it lives")) {
            sum.ran += one.ran;
            sum.waited += one.waited;
        }
        sum
    }

    /// What is counted while `act` runs.
    fn during(&self, act: impl FnOnce()) -> Counted {
        let before = self.counted();
        act();
        let after = self.counted();
        Counted { ran: after.ran - before.ran, waited: after.waited - before.waited }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(self.client.take());
        send(self.server.pid(), INT);
        let _ = self.server.0.wait();
    }
}

/// Debian keeps a server's programs in directories by version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("make test-postgres installs it");
    let programs = versions.map(|version| version.expect("a version").path().join("bin"));
    programs.filter(|dir| dir.join("initdb").exists()).max().expect("a server")
}

fn shell(line: &str) {
    let done = Command::new("sh").args(["-c", line]).output().expect("sh");
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Busy time of the CPU so far, ns (/proc/stat, proc(5)).
fn busy_ns() -> f64 {
    let text = fs::read_to_string("/proc/stat").expect("a file");
    let line = text.lines().find(|line| line.starts_with(&format!("cpu{CPU} "))).expect("a CPU");
    let ticks: Vec<f64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user, nice, system, irq, softirq, steal
    let busy: f64 = [0, 1, 2, 5, 6, 7].map(|at| ticks[at]).iter().sum();
    busy / rustix::param::clock_ticks_per_second() as f64 * 1e9
}

/// The culprits of the database's waits in a window of the command, ns, by name.
fn blamed(database: &str) -> BTreeMap<String, f64> {
    let told = run(&["blame", "--by", "cgroup", "-g", database, "--json", "10", "1"]);
    let window: Value = serde_json::from_str(&told.fine()).expect("JSON");
    assert_eq!(window["blame_residual_ns"], 0, "{window}");
    let rows = window["rows"].as_array().expect("rows");
    let [row] = &rows[..] else { panic!("{window}") };
    assert_eq!(row["victim"], database, "{row}");
    let culprits = row["culprits"].as_array().expect("culprits").iter();
    let named = culprits.map(|one| {
        (one["culprit"].as_str().expect("a name").into(), one["ns"].as_f64().expect("ns"))
    });
    named.collect()
}

/// The share of its neighbour in the database's waits: the book's must be that of the kernel's
/// counts. These have no culprits. But while the neighbour runs, all connections that are not asleep
/// wait for it: their mean number is their time on the CPU and waiting for it, per time.
fn share_is_right(groups: &Groups, database: &Database, neighbour: &Spin) {
    let name = groups.name(NEIGHBOUR);
    let ran = || Counted::of(neighbour.threads()[0]).expect("it lives").ran;
    let (mut book, busy_before, ran_before) = (BTreeMap::new(), busy_ns(), ran());
    let begin = Instant::now();
    let beside = database.during(|| book = blamed(&groups.name(DATABASE)));
    let runnable = (beside.ran + beside.waited) / begin.elapsed().as_nanos() as f64;
    let (busy, ran) = (busy_ns() - busy_before, ran() - ran_before);
    let others_pct = 100.0 * (1.0 - (ran + beside.ran) / busy);
    let waited: f64 = book.values().sum();
    let ours = 100.0 * book.get(&name).copied().unwrap_or(0.0) / waited;
    let theirs = 100.0 * ran * runnable / beside.waited;
    println!(
        "{ours:.1} % here, {theirs:.1} % by schedstat; others had {others_pct:.0} %; {book:?}"
    );
    let others = book.iter().filter(|(name, _)| **name != groups.name(DATABASE));
    let worst = others.max_by(|one, other| one.1.total_cmp(other.1)).map(|(name, _)| name);
    measured(others_pct, || {
        assert_eq!(worst, Some(&name), "{book:?}");
        assert!((ours - theirs).abs() <= POINTS, "{ours:.1} % here, {theirs:.1} % by schedstat");
    });
}

#[test]
#[ignore = "make test-postgres installs a server"]
fn a_busy_neighbour_is_named_with_the_share_that_schedstat_leaves_to_it() {
    if without_ledger() || !rustix::process::geteuid().is_root() {
        return eprintln!("left out: the ledger and a server of another user take root");
    }
    if std::thread::available_parallelism().expect("CPUs").get() < 2 {
        return eprintln!("left out: one CPU");
    }
    let groups = Groups::make();
    let database = Database::start(&groups);
    let neighbour = Spin::start(1, Some(&[CPU])).expect("a worker");
    groups.take(NEIGHBOUR, neighbour.pid());
    groups.weigh(DATABASE, 100);
    share_is_right(&groups, &database, &neighbour);
    // Stopped half of the time, it leaves the database waits for its own connections.
    groups.weigh(DATABASE, MOST);
    let pid = neighbour.pid();
    let halved =
        format!("while kill -STOP {pid}; do sleep 0.05; kill -CONT {pid}; sleep 0.05; done");
    let halved = Load::start(Command::new("taskset").args(["-c", "1", "sh", "-c", &halved]));
    share_is_right(&groups, &database, &neighbour);
    drop(halved);
}
