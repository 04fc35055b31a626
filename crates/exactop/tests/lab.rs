//! The lab and the switch log as a user runs them. Runs where the ledger opens, and in emulated
//! machines with the program that EXACTOP_PROGRAM names.
#![cfg(feature = "bpf")]

#[path = "helpers/mod.rs"]
mod helpers;

use exactop_testkit::wait::{self, until as wait_until};
use helpers::processes::{send, Load, INT, KILL};
use helpers::quiet::measured;
use helpers::run::{command, copied, done, program, run, without_ledger, Done};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A directory with an own experiment.
struct Own {
    home: TempDir,
    program: String,
}

impl Own {
    fn new(body: &str) -> Own {
        let home = tempfile::tempdir().expect("a directory");
        let head = "name = 'own'\ntitle = 'own'\nquestion = 'q'\nmethod = 'm'\nwhy = 'w'\n";
        fs::write(home.path().join("own.toml"), format!("{head}{body}")).expect("written");
        Own { home, program: program() }
    }

    /// With a copy of the program, so that its workers are distinguishable from those of other
    /// runs.
    fn with_a_copy(body: &str) -> Own {
        let own = Own::new(body);
        let copy = own.home.path().join("exactop");
        copied(&copy);
        Own { program: copy.display().to_string(), ..own }
    }

    /// Number of processes that run this very file.
    fn running(&self) -> usize {
        let file = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        let own = file(Path::new(&self.program));
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        entries.filter(|entry| own.is_some() && file(&entry.path().join("exe")) == own).count()
    }

    fn file(&self) -> String {
        self.home.path().join("own.toml").display().to_string()
    }

    fn out(&self) -> PathBuf {
        self.home.path().join("out")
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut own = Command::new(&self.program);
        own.args(["lab", "run", &self.file(), "--seed", "1", "--out"]).arg(self.out()).args(more);
        own.stdin(Stdio::null());
        // With the environment of other tests.
        for (name, value) in command(&[]).get_envs() {
            match value {
                Some(value) => own.env(name, value),
                None => own.env_remove(name),
            };
        }
        own
    }

    fn run(&self, more: &[&str]) -> Done {
        done(self.command(more))
    }

    fn points(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.out().join("points.jsonl")).unwrap_or_default();
        text.split_inclusive('\n').filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Points of the experiment itself.
    fn own_points(&self) -> Vec<Value> {
        self.points().into_iter().filter(|p| p["experiment"] == "own").collect()
    }

    /// CPU time of others in the median point, per cent of one CPU.
    fn others_pct(&self) -> f64 {
        let points = self.own_points();
        let mut others: Vec<f64> =
            points.iter().filter_map(|p| p["foreign_pct"].as_f64()).collect();
        others.sort_by(f64::total_cmp);
        others.get(others.len() / 2).copied().expect("trials")
    }

    fn finding(&self, condition: &str) -> Value {
        let text = fs::read_to_string(self.out().join("report.json")).expect("a report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let results = report["results"].as_array().expect("results");
        let own = results.iter().find(|r| r["experiment"] == "own").expect("it was run");
        let findings = own["findings"].as_array().expect("findings");
        findings.iter().find(|f| f["condition"] == condition).expect("the condition").clone()
    }
}

const PAIRS: &str = "\
metric = 'share'
window_s = 0.3
settle_s = 0.1
repeats = 6
delta = 0.06
limits = { foreign_pct = 30.0, steal_pct = 30.0, irq_pct = 30.0, unnamed_pct = 30.0 }
[[conditions]]
name = 'right'
predict = 'nice'
workers = [{ name = 'a' }, { name = 'b' }]
[[conditions]]
name = 'wrong'
predict = 0.9
workers = [{ name = 'a' }, { name = 'b' }]
";

#[test]
fn experiments_are_listed_shown_and_files_of_the_same_kind() {
    let list = run(&["lab", "list"]);
    assert!(list.code == Some(0), "{}", list.err);
    let list = list.out;
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    let expected = [
        "cores",
        "nice-class",
        "nice-share",
        "progress",
        "progress-nice",
        "weight",
        "bandwidth",
        "contention",
        "herd",
        "ptop-cost",
        "ptop-sum",
    ];
    assert_eq!(names, expected);
    let home = tempfile::tempdir().expect("a directory");
    for name in names {
        let shown = run(&["lab", "show", name]);
        assert!(shown.out.contains("Prediction:"), "{name}");
        let file = home.path().join("mine.toml");
        fs::write(&file, run(&["lab", "show", name, "--toml"]).out).expect("written");
        let again = run(&["lab", "show", &file.display().to_string()]);
        assert_eq!(again.out, shown.out, "{name}");
    }
    let json = run(&["lab", "list", "--json"]).out;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(11));
}

#[test]
fn an_error_in_an_experiment_file_is_one_line() {
    let condition = |line: &str| format!("metric='share'\n[[conditions]]\nname='c'\n{line}\n");
    for (body, says) in [
        ("metric = ".to_string(), "own.toml: line"),
        ("metric = 'speed'".into(), "own.toml: line 6"),
        ("metric = 'share'".into(), "no conditions"),
        (condition("workers = [{ load = ['fly'] }]"), "load = 'fly': choose one of herd"),
        (condition("workers = [{ group = 'g' }]"), "group = 'g': write it under groups"),
        (
            condition("workers = [{ group = 'g' }]\ngroups = { g = { weight = 0 } }"),
            "weight = 0: write 1 to 10000",
        ),
        (
            condition("workers = [{ group = 'g' }]\ngroups = { g = { max = 'much' } }"),
            "max: write per cent",
        ),
        (
            condition("workers = [{ group = '../g' }]\ngroups = { '../g' = {} }"),
            "group '../g': write names",
        ),
        (condition("workers = [{}]\nrelative_to = 'd'"), "relative_to = 'd' is not a condition"),
        (condition("workers = [{ count = 0 }]"), "write 1 to 1000"),
        (condition("workers = [{}]\nledger = false"), "ledger = false, and the metric"),
        (condition("workers = [{}]\nspeed = 1"), "unknown field `speed`"),
    ] {
        let own = Own::new(&body);
        let output = own.run(&[]);
        let said = output.err;
        assert_eq!(output.code, Some(2), "{body}: {said}");
        assert!(said.lines().count() == 1 && said.contains(says), "{body}: {said}");
        assert!(!own.out().exists());
    }
    let unknown = run(&["lab", "show", "speed"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("choose one of cores, nice-class"));
}

#[test]
fn a_disturbed_trial_is_discarded_and_says_why() {
    if without_ledger() {
        return;
    }
    let body = PAIRS.replace("foreign_pct = 30.0", "foreign_pct = 10.0");
    let own = Own::new(&body);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut hog = Command::new("taskset")
        .args(["-c", &(cpus - 1).to_string(), "sh", "-c", "while :; do :; done"])
        .spawn()
        .expect("taskset of util-linux");
    // The workers' niceness is set; the hog would inherit that of these tests.
    rustix::process::setpriority_process(Some(rustix::process::Pid::from_child(&hog)), 0)
        .expect("niceness");
    let output = own.run(&["--quick", "--repeats", "2"]);
    hog.kill().expect("killed");
    hog.wait().expect("an end");
    assert!(output.code == Some(0), "{}", output.err);
    for point in own.own_points().iter().filter(|p| p["strip"].is_null()) {
        let why = point["invalid"].as_str().unwrap_or_default();
        if why.starts_with("steal") {
            return eprintln!("left out: the hypervisor took a CPU in a trial");
        }
        assert!(why.starts_with("foreign CPU time"), "{point}");
    }
    let right = own.finding("right");
    assert_eq!((&right["verdict"], &right["made"]), (&"nothing".into(), &2.into()), "{right}");
    let said = output.out;
    assert!(said.contains("2 of 2 discarded because foreign CPU time"), "{said}");
}

/// True if trials of this finding were discarded because others had the CPUs.
fn disturbed(finding: &Value) -> bool {
    let why = finding["discarded"].to_string();
    ["foreign CPU time", "steal", "interrupts"].iter().any(|reason| why.contains(reason))
}

/// Number of processes whose command line has this argument.
fn with_argument(argument: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = entries.filter_map(|e| fs::read(e.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|&b| b == 0).any(|word| word == argument.as_bytes())).count()
}

/// A run in progress.
fn half_way(own: &Own) -> Child {
    // Enough to be seen at work, and no more, because the controls that come first repeat as often.
    let mut command = own.command(&["--quick", "--repeats", "4"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child
}

#[test]
fn an_interrupted_run_keeps_its_trials_and_leaves_no_process() {
    if without_ledger() {
        return;
    }
    // A worker with a child, which only the lab's guard ends.
    let nap = format!("4242.{}", std::process::id());
    let worker =
        format!("{{ name = 'b', command = ['sh', '-c', 'sleep {nap} & while :; do :; done'] }}");
    let body = PAIRS.replace("{ name = 'b' }", &worker);
    for signal in [INT, KILL] {
        let own = Own::with_a_copy(&body);
        let mut child = half_way(&own);
        // The controls come first, and disturbed trials are repeated.
        wait::until_within(2 * wait::LIMIT, "a trial of its own", || !own.own_points().is_empty());
        wait_until("a worker", || with_argument(&nap) > 0);
        send(child.id(), signal);
        let status = child.wait().expect("an end");
        wait_until("no worker that goes on", || with_argument(&nap) == 0 && own.running() == 0);
        if signal == INT {
            assert_eq!(status.code(), Some(130));
            assert!(own.out().join("report.html").exists());
        }
        let kept = own.points().len();
        assert!(kept > 0);
        let dir = own.out().display().to_string();
        let report = run(&["lab", "report", &dir]);
        assert!(report.code == Some(0), "{}", report.err);
        assert_eq!(own.points().len(), kept);
    }
}

#[test]
fn a_write_error_is_one_line() {
    if without_ledger() {
        return;
    }
    let own = Own::with_a_copy(PAIRS);
    let nowhere = run(&["lab", "run", &own.file(), "--out", "/proc/nowhere"]);
    let said = nowhere.err;
    assert_eq!(nowhere.code, Some(1), "{said}");
    assert!(said.lines().count() == 1 && said.contains("/proc/nowhere"), "{said}");
    // A disk that fills up after a trial: the run's own file takes two pages, and so does a trial.
    let disk = own.home.path().join("disk");
    fs::create_dir(&disk).expect("a directory");
    let line = format!(
        "mount -t tmpfs -o size=16k none {0} && exec {1} lab run {2} --quick --repeats 4 --out {0}/out",
        disk.display(),
        own.program,
        own.file()
    );
    let mut full = Command::new("unshare");
    full.args(["-m", "sh", "-c", &line]).stdin(Stdio::null());
    let full = done(full);
    let said = full.err;
    assert_eq!(full.code, Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.contains("cannot write") && last.contains("No space left"), "{said}");
    wait_until("no worker that goes on", || own.running() == 0);
}

#[test]
fn without_privileges_the_lab_names_what_it_needs() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let own = Own::new(PAIRS);
    let copy = own.home.path().join("exactop");
    copied(&copy);
    for path in [own.home.path(), &copy, Path::new(&own.file())] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let mut command = Command::new(&copy);
    command.args(["lab", "run", &own.file(), "--out"]).arg(own.out()).uid(65534).gid(65534);
    let output = done(command);
    let said = output.err;
    assert_eq!(output.code, Some(1), "{said}");
    assert!(said.lines().count() == 1 && said.contains("the lab needs the ledger"), "{said}");
    assert!(!own.out().exists());
}

/// Control groups that runs have made.
fn groups_of_runs() -> BTreeSet<String> {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-name", "exactop-run-*"]).output();
    let found = String::from_utf8_lossy(&found.expect("find").stdout).into_owned();
    found.lines().map(String::from).collect()
}

/// Number of events in a trace, which are in order, and of gaps among them.
fn events_and_gaps(trace: &str) -> (usize, usize) {
    use perfetto_protos::trace::Trace;
    use perfetto_protos::trace_packet::trace_packet::Data;
    use protobuf::Message;
    let trace = Trace::parse_from_bytes(&fs::read(trace).expect("the file")).expect("parsed");
    let bundles = trace.packet.iter().filter_map(|packet| match &packet.data {
        Some(Data::FtraceEvents(bundle)) => Some(bundle),
        _ => None,
    });
    let (mut events, mut gaps) = (0, 0);
    for bundle in bundles {
        let times: Vec<u64> = bundle.event.iter().map(|event| event.timestamp()).collect();
        assert!(times.is_sorted(), "in order");
        events += times.len();
        gaps += usize::from(bundle.lost_events());
    }
    (events, gaps)
}

#[test]
fn a_trace_holds_every_event_it_counts() {
    if without_ledger() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("t.pftrace").display().to_string();
    let mut load = command(&["load", "pingpong", "--duration", "600"]);
    let load = Load::start(load.stderr(Stdio::null()));
    let output = run(&["trace", "-d", "0.5", "--buffer", "64", "-o", &path]);
    // A buffer that is too small reports how much is missing.
    let small = home.path().join("small.pftrace").display().to_string();
    let lossy = run(&["trace", "-d", "0.5", "--buffer", "1", "-o", &small]);
    drop(load);
    let said = output.out;
    assert!(output.code == Some(0), "{}", output.err);
    println!("{said}{}", lossy.out);
    assert!(events_and_gaps(&path).0 > 1_000, "{said}");
    for (file, said) in [(&path, &said), (&small, &lossy.out)] {
        let (events, gaps) = events_and_gaps(file);
        assert!(said.starts_with(&format!("{events} ")), "{events}: {said}");
        let told = (said.contains("LOST"), said.contains("none lost"));
        assert_eq!(told, (gaps > 0, gaps == 0), "{said}");
    }
    let nowhere = run(&["trace", "-o", "/proc/nowhere"]);
    assert_eq!(nowhere.code, Some(1));
    assert_eq!(nowhere.err.lines().count(), 1);
}

/// Each compares the workers' share of a CPU with a prediction. The lab discards disturbed trials,
/// and then there is nothing to compare.
mod alone {
    use super::*;

    #[test]
    fn a_right_prediction_is_inside_and_a_wrong_one_outside() {
        if without_ledger() {
            return;
        }
        let own = Own::new(PAIRS);
        let output = own.run(&["--quick"]);
        assert!(output.code == Some(0), "{}", output.err);
        let summary = output.out;
        let (right, wrong) = (own.finding("right"), own.finding("wrong"));
        println!("{summary}");
        measured(own.others_pct(), || {
            assert_ne!(right["verdict"], "outside", "{right}");
            if wrong["values"].as_array().is_some_and(|kept| kept.len() < 6) {
                // Too few trials for an interval: others used the CPUs in one.
                return assert!(disturbed(&wrong), "{wrong}");
            }
            assert_eq!(wrong["verdict"], "outside", "{wrong}");
            assert!(summary.contains("OUTSIDE"), "{summary}");
        });
        assert!(summary.contains("A/A"), "{summary}");
        let page = fs::read_to_string(own.out().join("report.html")).expect("a page");
        assert!(page.matches("<svg").count() >= 2 && page.contains("who ran when"));
        assert!(!page.contains("http-equiv") && !page.contains("src="));
        let csv = fs::read_to_string(own.out().join("points.csv")).expect("points");
        assert_eq!(csv.lines().count(), own.points().len() + 1);
        for point in own.points() {
            // null: the ledger was off.
            let off = &point["residual_ns"];
            assert!(
                off == 0 || (off.is_null() && point["condition"] == "work, ledger off"),
                "{point}"
            );
        }
        // The report can be written again, and a run does not differ from itself.
        let before = fs::read(own.out().join("report.md")).expect("a report");
        let dir = own.out().display().to_string();
        assert!(run(&["lab", "report", &dir]).code == Some(0));
        assert_eq!(fs::read(own.out().join("report.md")).expect("a report"), before);
        let same = run(&["lab", "compare", &dir, &dir]).out;
        assert!(same.contains("no difference shown") && !same.contains("differs"), "{same}");
        // Another run does not go into the same directory.
        let again = own.run(&[]);
        assert_eq!(again.code, Some(1));
        assert!(again.err.contains("there is a run in it already"));
    }

    #[test]
    fn weights_and_quotas_match_the_prediction() {
        if without_ledger() {
            return;
        }
        // A failed test may have left some.
        let before = groups_of_runs();
        let own = Own::new(
            "metric = 'share'\nwindow_s = 0.6\nsettle_s = 0.2\nrepeats = 6\ndelta = 0.06\n\
             quick = { window_s = 0.6 }\n\
             limits = { foreign_pct = 30.0, steal_pct = 30.0, irq_pct = 30.0, unnamed_pct = 30.0 }\n\
             [[conditions]]\nname = 'two levels'\npredict = 'weight'\n\
             workers = [{ group = 'a/x' }, { group = 'a/y' }, { group = 'b' }]\n\
             groups = { a = { weight = 300 }, 'a/x' = {}, 'a/y' = { weight = 300 }, b = {} }\n\
             [[conditions]]\nname = 'quota'\nmetric = 'cpu'\npredict = 'quota'\ndelta = 0.12\n\
             workers = [{ group = 'g' }]\ngroups = { g = { max = '40000/100000' } }\n\
             [[conditions]]\nname = 'throttled'\nmetric = 'throttled'\npredict = 0.9\nbound = 'at-least'\n\
             workers = [{ group = 'g' }]\ngroups = { g = { max = '20000/100000' } }\n\
             [[conditions]]\nname = 'burst'\nmetric = 'burst'\npredict = 'quota'\ndelta = 15.0\n\
             workers = [{ group = 'g' }]\ngroups = { g = { max = '40000/100000' } }\n\
             [[conditions]]\nname = 'period'\nmetric = 'period'\npredict = 'quota'\ndelta = 10.0\n\
             workers = [{ group = 'g' }]\ngroups = { g = { max = '40000/100000' } }\n",
        );
        let output = own.run(&["--quick", "--repeats", "4"]);
        println!("{}{}", output.out, output.err);
        assert!(output.code == Some(0));
        let allowed = [
            ("two levels", 0.12, 0.12),
            ("quota", 0.12, 0.12),
            ("throttled", 0.15, 1.0),
            ("burst", 15.0, 15.0),
            ("period", 10.0, 10.0),
        ];
        let figures = || {
            for (name, below, above) in allowed {
                let finding = own.finding(name);
                if finding["values"].as_array().is_some_and(|kept| kept.len() < 3) {
                    // Others used the CPUs now and then, and the lab reports it.
                    assert!(disturbed(&finding), "{finding}");
                    continue;
                }
                let (found, predicted) = (&finding["estimate"]["median"], &finding["predicted"]);
                let off =
                    found.as_f64().expect("a median") - predicted.as_f64().expect("a prediction");
                assert!(-below < off && off < above, "{finding}");
            }
        };
        measured(own.others_pct(), figures);
        let points = own.own_points();
        let throttling = || {
            let drawn = points.iter().find(|p| p["condition"] == "quota" && !p["strip"].is_null());
            let strip = &drawn.expect("it was drawn")["strip"];
            let piece_ms = |piece: &Value| {
                piece[2].as_f64().expect("an end") - piece[1].as_f64().expect("a start")
            };
            let kept_ms: f64 =
                strip["throttled"].as_array().expect("a list").iter().map(piece_ms).sum();
            assert!((100.0..450.0).contains(&kept_ms), "some 60 % of 500 ms: {kept_ms}");
            assert!(own.out().join("plots/own-throttling-2.svg").exists());
        };
        measured(own.others_pct(), throttling);
        let left = groups_of_runs();
        assert!(left.is_subset(&before), "groups were left: {left:?}, before {before:?}");
    }
}
