//! A process that moves between three control groups. Live rows, the report of the recording,
//! exported Parquet as DuckDB reads it, and the scraped counters agree on each group, to the
//! nanosecond.

use crate::daemon::{Daemon, Looking};
use crate::helpers::processes::{Load, INT};
use crate::helpers::run::{run, without_ledger};
use crate::metrics::{page, port};
use exactop_testkit::wait;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rounds of the mover's five steps.
const ROUNDS: u32 = 6;

/// A control group of the ledger's hierarchy. It has the name of a unit, so that metrics label it.
struct Group {
    path: PathBuf,
    unit: String,
}

impl Group {
    /// `None`: no group can be made.
    fn new(name: &str) -> Option<Group> {
        let unit = format!("exactop-moves-{}-{name}.service", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let root = if v1.join("cpu.shares").exists() { v1 } else { Path::new("/sys/fs/cgroup") };
        let path = root.join(&unit);
        fs::create_dir(&path).ok()?;
        Some(Group { path, unit })
    }

    fn procs(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        wait::until("the control group's end", || {
            fs::remove_dir(&self.path).is_ok() || !self.path.exists()
        });
    }
}

/// A shell that works in these groups, one after the other, in rounds, and ends.
fn mover(steps: &[(&Group, u32)], rounds: u32) -> Load {
    let step = |(group, turns): &(&Group, u32)| {
        let procs = group.procs();
        format!(
            "echo $$ > {}; i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done; ",
            procs.display()
        )
    };
    let steps: String = steps.iter().map(step).collect();
    // At a raised priority; its duration is not measured.
    Load::shell(&format!("renice -n -10 -p $$ >/dev/null; n=0; while [ $n -lt {rounds} ]; do n=$((n+1)); {steps} done"))
}

/// Waits until it has ended with success.
fn ended(mut load: Load) {
    let mut status = None;
    wait::until("the mover's end", || {
        status = load.0.try_wait().expect("a child");
        status.is_some()
    });
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"))
}

/// CPU time, run-queue wait and exits, by unit.
type Sums = BTreeMap<String, [u64; 3]>;

fn add(sums: &mut Sums, unit: &str, figures: [u64; 3]) {
    let sum = sums.entry(unit.to_string()).or_default();
    sum.iter_mut().zip(figures).for_each(|(sum, ns)| *sum += ns);
}

/// Adds a row's figures if it is of one of the groups; rows are named by path.
fn row(sums: &mut Sums, groups: &[Group], row: &Value) {
    let name = row["name"].as_str().expect("a name");
    if let Some(group) = groups.iter().find(|group| name.trim_start_matches('/') == group.unit) {
        let figures = ["run_ns", "lat_ns", "exited_processes"].map(|figure| number(row, figure));
        add(sums, &group.unit, figures);
    }
}

/// The sums of the windows that end after an instant.
fn live(windows: &[Value], groups: &[Group], after_ns: u64) -> Sums {
    let mut sums = Sums::new();
    for window in windows {
        if number(&window["window"], "t1_ns") > after_ns {
            let rows = window["rows"].as_array().expect("rows");
            rows.iter().for_each(|told| row(&mut sums, groups, told));
        }
    }
    sums
}

/// Windows in which the mover was in more than one group.
fn windows_with_moves(windows: &[Value], groups: &[Group]) -> usize {
    let several = |window: &&Value| {
        let sums = live(std::slice::from_ref(*window), groups, 0);
        sums.values().filter(|figures| figures[0] > 0).count() > 1
    };
    windows.iter().filter(several).count()
}

/// The instant of a page's figures.
fn boundary(page: &BTreeMap<String, i128>) -> u64 {
    u64::try_from(page["exactop_boundary_seconds"]).expect("after the boot")
}

/// True if a group has a series of its own.
fn has_place(page: &BTreeMap<String, i128>, group: &Group) -> bool {
    let label = format!("unit=\"{}\"", group.unit);
    page.keys().any(|name| name.starts_with("exactop_group_cpu_seconds") && name.contains(&label))
}

/// A page's counters of each group.
fn scraped(page: &BTreeMap<String, i128>, groups: &[Group]) -> Sums {
    let mut sums = Sums::new();
    for group in groups {
        let label = format!("unit=\"{}\"", group.unit);
        let of = |family: &str, more: &str| -> u64 {
            let is_it = |name: &str| {
                name.starts_with(family) && name.contains(&label) && name.contains(more)
            };
            let all: i128 =
                page.iter().filter(|(name, _)| is_it(name)).map(|(_, value)| value).sum();
            u64::try_from(all).expect("a sum")
        };
        add(
            &mut sums,
            &group.unit,
            [
                of("exactop_group_cpu_seconds_total", ""),
                of("exactop_group_wait_seconds_total", "wait=\"runqueue\""),
                of("exactop_group_exited_processes_total", ""),
            ],
        );
    }
    sums
}

/// Waits until every reader has a window that began after now: earlier use is in windows that have
/// ended.
fn settled(looking: &Looking, port: u16) -> BTreeMap<String, i128> {
    let now_ns = now_ns();
    let mut ends_ns = 0;
    wait::until("a window that began after the mover stood still", || {
        let begun = |window: &&Value| number(&window["window"], "t0_ns") >= now_ns;
        let windows = looking.windows();
        ends_ns = windows.iter().find(begun).map_or(0, |window| number(&window["window"], "t1_ns"));
        ends_ns > 0
    });
    wait::find("a page of after it", || Some(page(port)).filter(|page| boundary(page) >= ends_ns))
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Query of the table of groups in DuckDB: CPU time, wait and exits by path, over all windows and
/// over those that end after an instant.
const ASK: &str = r#"
import duckdb, json, sys
out, after = sys.argv[1], int(sys.argv[2])
sums = "sum(run_ns)::varchar, sum(lat_ns)::varchar, sum(exited_processes)::varchar"
told = f"select cgroup, {sums} from read_parquet('{out}/*/groups.parquet', hive_partitioning = true)"
for bound in (0, after):
    rows = duckdb.sql(f"{told} where t1_ns > {bound} and cgroup is not null group by cgroup").fetchall()
    print(json.dumps([{"name": n, "run_ns": int(r), "lat_ns": int(l), "exited_processes": int(e)} for n, r, l, e in rows]))
"#;

fn duckdb(python: &str, books: &Path, groups: &[Group], after_ns: u64) -> [Sums; 2] {
    let mut asked = Command::new(python);
    asked.args(["-c", ASK]).arg(books).arg(after_ns.to_string());
    let told = asked.output().expect("python");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    let mut sums = [Sums::new(), Sums::new()];
    assert_eq!(told.lines().count(), sums.len());
    for (sums, line) in sums.iter_mut().zip(told.lines()) {
        let rows: Vec<Value> = serde_json::from_str(line).expect("JSON");
        rows.iter().for_each(|told| row(sums, groups, told));
    }
    sums
}

/// A Python with DuckDB; `None`: it has none, and the environment does not require it.
fn python() -> Option<String> {
    let said = std::env::var("EXACTOP_TEST_DUCKDB").ok();
    let python = said.clone().unwrap_or_else(|| "python3".into());
    let there = Command::new(&python).args(["-c", "import duckdb"]).output();
    if there.is_ok_and(|out| out.status.success()) {
        return Some(python);
    }
    let how = "'make duckdb' installs it, 'make test' runs this test with it";
    assert!(said.is_none(), "{python} has no module duckdb: {how}");
    eprintln!("Parquet left out: {python} has no module duckdb: {how}");
    None
}

/// A daemon that records and is scraped.
fn daemon(port: u16) -> Daemon {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, "[record]\ninterval = \"1s\"\n[metrics]\ngroups = 10000\n")
        .expect("settings");
    let config = config.to_str().expect("UTF-8").to_string();
    Daemon::start_in(dir, &["--config", &config, "--metrics", &format!("127.0.0.1:{port}")], None)
}

#[test]
fn a_mover_over_three_groups_has_the_same_charges_in_every_output() {
    if without_ledger() {
        return;
    }
    let groups: Vec<Group> = ["a", "b", "c"].iter().filter_map(|name| Group::new(name)).collect();
    let [a, b, c] = &groups[..] else {
        return eprintln!("left out: no control group can be made here");
    };
    let port = port();
    let mut daemon = daemon(port);
    let looking = Looking::start(&daemon, "live", &["-b", "--by", "cgroup", "-d", "1"]);
    wait::until("a window of the live rows", || looking.count() > 0);
    page(port);
    // Waits until the groups have places on the page. On a machine with a load of hundreds one
    // mover was not enough.
    let mut movers = 1;
    let before = wait::find("places of the groups", || {
        ended(mover(&[(a, 5_000), (b, 5_000), (c, 5_000)], 1));
        movers += 1;
        settled(&looking, port);
        Some(page(port)).filter(|page| groups.iter().all(|group| has_place(page, group)))
    });
    let from_ns = boundary(&before);
    ended(mover(&[(a, 3_000), (b, 6_000), (c, 9_000), (a, 12_000), (b, 3_000)], ROUNDS));
    let after = settled(&looking, port);
    let windows = looking.stop();
    assert_eq!(daemon.end(INT), Some(0), "{}", daemon.said());
    assert!(windows_with_moves(&windows, &groups) > 0, "the mover moved in windows");

    let all = live(&windows, &groups, 0);
    assert!(all.len() == 3 && all.values().all(|figures| figures[0] > 0), "{all:?}");
    assert_eq!(
        all.values().map(|figures| figures[2]).sum::<u64>(),
        movers,
        "every mover ended: {all:?}"
    );

    let log = daemon.log();
    let log = log.to_str().expect("UTF-8");
    let report = run(&["report", "--json", "--by", "cgroup", log]).fine();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let mut reported = Sums::new();
    let rows = report["rows"].as_array().expect("rows");
    rows.iter().for_each(|told| row(&mut reported, &groups, told));
    assert_eq!(reported, all, "the report and the live rows");

    let (then, now) = (scraped(&before, &groups), scraped(&after, &groups));
    let mut counted = Sums::new();
    for (unit, figures) in &now {
        let grew: Vec<u64> = figures.iter().zip(then[unit]).map(|(now, then)| now - then).collect();
        add(&mut counted, unit, [grew[0], grew[1], grew[2]]);
    }
    let moved = live(&windows, &groups, from_ns);
    assert_eq!(counted, moved, "the scraped counters and the live rows");

    let Some(python) = python() else { return };
    let books = daemon.path().join("books");
    let to = books.to_str().expect("UTF-8");
    run(&["export", "parquet", log, "--to", to]).fine();
    let [exported, later] = duckdb(&python, &books, &groups, from_ns);
    assert_eq!(exported, all, "DuckDB and the live rows");
    assert_eq!(later, moved, "DuckDB and the live rows of the mover");
}
