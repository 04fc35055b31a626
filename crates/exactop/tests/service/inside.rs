//! Readers in a PID namespace of their own: they see their tasks, under the PIDs of the namespace.

use crate::daemon::{span, whole, Daemon, Looking};
use crate::helpers::processes::Load;
use crate::helpers::run::{copied_from, done, program, without_ledger};
use exactop_model::blame::rows::OTHER_USERS;
use exactop_sources::pid_namespace::{self, PidNamespace};
use exactop_testkit::wait;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A new PID namespace: in its /proc the same numbers are other processes. All its
/// processes end with it.
pub const CONTAINED: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Runs in the namespace: a worker that prints its PID, a parent whose children exit at once, and a reader.
const STORY: &str = "
    $DIR/$WORKER -c 'while :; do :; done' & echo $! >$DIR/pid.new; mv $DIR/pid.new $DIR/pid
    $DIR/parent -c 'while :; do $DIR/brief -c :; done' &
    $EXACTOP $READS --json -d 0.5 --source daemon --socket $DIR/socket
";

/// Name of the worker inside. The host's windows also have the workers of tests that run beside.
fn worker() -> String {
    format!("in-{}", std::process::id())
}

/// Makes shells under these names.
fn shells(dir: &Path) {
    for name in [&worker(), "parent", "brief", "outsider", "passing"] {
        copied_from("/bin/sh", &dir.join(name));
    }
}

fn ns(window: &Value, name: &str) -> u64 {
    window["books"][name].as_u64().unwrap_or_else(|| panic!("{name} of {}", window["books"]))
}

fn rows<'a>(window: &'a Value, list: &str) -> &'a [Value] {
    window[list].as_array().expect("rows")
}

/// Windows of the same time range that both readers got.
fn shared<'a>(inside: &'a [Value], outside: &'a [Value]) -> Vec<(&'a Value, &'a Value)> {
    let outside: HashMap<_, _> = outside.iter().map(|window| (span(window), window)).collect();
    inside.iter().filter_map(|window| Some((window, *outside.get(&span(window))?))).collect()
}

/// True if a window reports the brief processes inside.
fn has_brief(window: &Value) -> bool {
    rows(window, "exited").iter().any(|row| row["comm"] == "brief" && row["run_ns"] != 0)
}

/// Runs the script inside, and a reader outside, until both have enough windows of the same time, and
/// one window inside `has` what the test is about. Both run this command.
fn windows(daemon: &Daemon, reads: &[&str], has: fn(&Value) -> bool) -> [Vec<Value>; 2] {
    let outside = Looking::start(daemon, "outside", &[reads, &["-d", "0.5"]].concat());
    let mut story = Command::new(CONTAINED[0]);
    story.args(&CONTAINED[1..]).args(["/bin/sh", "-c", STORY]);
    story.env("DIR", daemon.path()).env("WORKER", worker());
    story.env("EXACTOP", program()).env("READS", reads.join(" "));
    let (out, err) = (daemon.path().join("inside"), daemon.path().join("complaints-inside"));
    let file = |path| fs::File::create(path).expect("a file");
    let mut story = story.stdout(file(&out)).stderr(file(&err)).spawn().map(Load).expect("a story");
    let mut seen = 0;
    wait::until("the same stretches of time, told twice", || {
        let said = || fs::read_to_string(&err).expect("UTF-8");
        assert!(story.0.try_wait().expect("a child").is_none(), "{}", said());
        // Reading takes a while, so it waits for new windows first.
        let windows = outside.count();
        if std::mem::replace(&mut seen, windows) == windows {
            return false;
        }
        let (inside, outside) = (whole(&out), outside.windows());
        shared(&inside, &outside).len() >= 3 && inside.iter().any(has)
    });
    drop(story);
    [whole(&out), outside.stop()]
}

/// A daemon with the shells of a story in its directory; `None`: the test is left out.
fn with_shells() -> Option<Daemon> {
    if without_ledger() {
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root makes namespaces");
        return None;
    }
    if !kernel_reports_pids() {
        eprintln!("left out: before Linux 6.11 the kernel reports no PIDs of a namespace");
        return None;
    }
    let daemon = Daemon::start(&[]);
    shells(daemon.path());
    Some(daemon)
}

#[test]
fn a_reader_in_a_pid_namespace_gets_its_tasks_and_the_books_close() {
    let Some(daemon) = with_shells() else { return };
    let outside = daemon.path().join("outsider");
    let script = format!("while :; do {}/passing -c :; done", daemon.path().display());
    let _outsider = Load::start(Command::new(outside).args(["-c", &script]));
    let [inside, everyone] = windows(&daemon, &[], has_brief);
    let number = fs::read_to_string(daemon.path().join("pid")).expect("a number");
    let number: u64 = number.trim().parse().expect("one");
    // The worker has its name only once it has run, which may be after the first window.
    let in_it = |window: &Value| {
        let mut of_it = rows(window, "tasks").iter().filter(|row| row["comm"] == worker());
        let worker = of_it.next().map(|row| (row["pid"].clone(), row["run_ns"].clone()));
        assert_eq!(of_it.next(), None, "one worker: {window}");
        worker.unzip()
    };
    for window in &inside {
        closes(window);
        let (pid, _) = in_it(window);
        assert!(pid.is_none_or(|pid| pid == number), "by the number that it has there: {window}");
    }
    assert_ne!(in_it(inside.last().expect("windows")), (None, None), "the worker runs");
    for (window, all) in shared(&inside, &everyone) {
        // The host's window of the same time range is the witness.
        assert_eq!(in_it(all).1, in_it(window).1);
        let told = ns(window, "tasks_ns") + ns(window, "exited_ns") + ns(window, "outside_ns");
        assert_eq!(told, ns(all, "tasks_ns") + ns(all, "exited_ns"));
    }
}

/// Time of a victim's culprits by kind. Those that are other groups are one.
fn by_kind(row: &Value) -> BTreeMap<&str, (u64, u64)> {
    let mut kinds = BTreeMap::new();
    for culprit in row["culprits"].as_array().expect("culprits") {
        let number = |name: &str| culprit[name].as_u64().expect("a number");
        let kind = match culprit["kind"].as_str().expect("a kind") {
            "kernel" => "group",
            kind => kind,
        };
        let sum: &mut (u64, u64) = kinds.entry(kind).or_default();
        *sum = (sum.0 + number("ns"), sum.1 + number("times"));
    }
    kinds
}

/// The row of a victim.
fn victim<'a>(window: &'a Value, name: &str) -> Option<&'a Value> {
    rows(window, "rows").iter().find(|row| row["victim"] == name)
}

/// Time that a victim inside waited behind tasks outside.
fn hidden_ns(window: &Value) -> Option<u64> {
    let culprits = victim(window, &worker())?["culprits"].as_array()?;
    let hidden = culprits.iter().find(|culprit| culprit["culprit"] == OTHER_USERS)?;
    assert_eq!(hidden["kind"], "group");
    hidden["ns"].as_u64()
}

#[test]
fn a_reader_in_a_pid_namespace_gets_its_waits_and_one_culprit_for_all_others() {
    let Some(daemon) = with_shells() else { return };
    // As many as there are CPUs, so that the worker inside waits behind one of them.
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    let outsider = daemon.path().join("outsider");
    let outsider = || Load::start(Command::new(&outsider).args(["-c", "while :; do :; done"]));
    let _outsiders: Vec<Load> = (0..cpus).map(|_| outsider()).collect();
    let reads = ["blame", "--by", "command"];
    let [inside, everyone] = windows(&daemon, &reads, |window| hidden_ns(window) > Some(0));
    for window in &inside {
        assert_eq!(window["blame_residual_ns"], 0, "{window}");
        for row in rows(window, "rows") {
            let kinds = by_kind(row);
            let booked: u64 = kinds.values().map(|(ns, _)| ns).sum();
            let open = row["in_flight_delta_ns"].as_i64().expect("a number");
            assert_eq!(row["lat_ns"].as_i64(), Some(booked as i64 + open), "{row}");
        }
        let text = window.to_string();
        for name in ["outsider", "kworker", "cargo"] {
            assert!(!text.contains(name), "{name} is in {text}");
        }
    }
    // The host's window of the same time range is the witness.
    for (window, all) in shared(&inside, &everyone) {
        let Some(seen) = victim(window, &worker()) else { continue };
        let whole = victim(all, &worker()).expect("the host has every victim");
        for figure in ["lat_ns", "dispatches", "in_flight_delta_ns"] {
            assert_eq!(seen[figure], whole[figure], "{figure}: {seen} of {whole}");
        }
        assert_eq!(by_kind(seen), by_kind(whole), "{seen} of {whole}");
    }
}

/// True if this kernel reports the PID of a task in a PID namespace.
fn kernel_reports_pids() -> bool {
    let own = PidNamespace::from_file(pid_namespace::own().expect("a file")).expect("a namespace");
    own.number(std::process::id()).is_ok()
}

/// Checks the books, and that no other process shows.
fn closes(window: &Value) {
    assert_eq!(window["window"]["residual_ns"], 0, "{}", window["books"]);
    assert_eq!(window["source"]["name"], "ledger");
    let accounts = ["tasks_ns", "exited_ns", "outside_ns", "unnamed_ns", "idle_ns", "offline_ns"];
    let known: u64 = accounts.iter().map(|name| ns(window, name)).sum();
    let perhaps = |name: &str| window["books"][name].as_u64().unwrap_or(0);
    assert_eq!(known + perhaps("irq_ns") + perhaps("steal_ns"), ns(window, "total_ns"));
    assert!(ns(window, "outside_ns") > 0, "somebody is busy there");
    let of = |list: &str| -> u64 {
        rows(window, list).iter().filter_map(|row| row["run_ns"].as_u64()).sum()
    };
    assert_eq!(of("tasks") + of("exited"), ns(window, "tasks_ns") + ns(window, "exited_ns"));
    let text = window.to_string();
    for name in ["outsider", "passing", "kworker", "cargo"] {
        assert!(!text.contains(name), "{name} is in {text}");
    }
}

#[test]
fn figures_that_a_namespace_does_not_get_are_refused_in_one_line() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root makes namespaces");
    }
    if !kernel_reports_pids() {
        return eprintln!("left out: before Linux 6.11 the kernel reports no PIDs of a namespace");
    }
    let daemon = Daemon::start(&[]);
    let socket = daemon.socket();
    let contained = |words: &[&str]| {
        let mut reader = Command::new(CONTAINED[0]);
        reader.args(&CONTAINED[1..]).arg(program()).args(words);
        done({
            reader.args(["--source", "daemon", "--socket"]).arg(&socket);
            reader
        })
    };
    for subject in ["owed", "switches", "syscalls", "wakeups", "moves", "waits"] {
        let looks = contained(&[subject, "0.2", "-n", "1"]);
        let why = "in a PID namespace, where on-demand programs are not available: start the";
        looks.refused(1, why);
    }
    let log = daemon.path().join("theirs");
    let records = contained(&["record", "--dir", log.to_str().expect("UTF-8")]);
    records.refused(1, "cannot record a whole machine from inside a PID namespace");
}
