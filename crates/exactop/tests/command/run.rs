//! `exactop run`: exit codes, trees that lose their children, control groups, formats.

use crate::helpers::processes::{children, first_line, is_over, send, until_stuck, Load, KILL};
use crate::helpers::run::{command, copied_from, done, piped, program, run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn json(args: &[&str]) -> Value {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("report.json");
    let path = path.to_str().expect("UTF-8");
    let done = run(&[&["run", "-q", "--json", path], args].concat());
    assert_eq!((done.code, done.err.contains("exactop: ")), (Some(0), false), "{}", done.err);
    serde_json::from_str(&std::fs::read_to_string(path).expect("the report")).expect("JSON")
}

fn ns(object: &Value, key: &str) -> u64 {
    object[key].as_u64().unwrap_or_else(|| panic!("{key}: {object}"))
}

#[test]
fn run_exits_with_the_status_of_the_command() {
    for (args, status) in [
        (&["true"][..], 0),
        (&["--", "sh", "-c", "exit 3"], 3),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["sh", "-c", "kill -15 $$"], 143),
        (&["no-such-command-anywhere"], 127),
        (&["/etc/passwd"], 126),
        (&["--chdir", "/no/such/dir", "true"], 125),
        (&["--user", "no-such-user", "true"], 125),
        (&["--cgroup", "/no/such/group", "true"], 125),
    ] {
        let done = run(&[&["run", "-q"], args].concat());
        assert_eq!(done.code, Some(status), "{args:?}: {}", done.err);
        let complains = [125, 126, 127].contains(&status);
        assert_eq!(done.err.lines().count(), usize::from(complains), "{args:?}: {}", done.err);
    }
}

#[test]
fn standard_streams_directory_and_environment_are_the_commands() {
    let script = "cat; pwd; echo $A; echo err >&2";
    let own = ["--chdir", "/", "--env", "A=b c"];
    let mut child = piped(&[&["run", "-q"], &own[..], &["--", "sh", "-c", script]].concat());
    child.stdin.take().expect("a pipe").write_all(b"in\n").expect("written");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "in\n/\nb c\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "err\n");
}

#[test]
fn each_format_has_its_figures() {
    let posix = run(&["run", "-p", "true"]).err;
    let words: Vec<&str> = posix.split_whitespace().collect();
    assert_eq!((words[0], words[2], words[4], words.len()), ("real", "user", "sys", 6), "{posix}");
    let letters = run(&["run", "-f", "%C=%x\\t%%", "--", "echo", "a\x1bb"]);
    assert!(letters.err.ends_with("echo a\\x1bb=0\t%\n"), "{}", letters.err);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("report");
    let done = run(&["run", "-o", path.to_str().expect("UTF-8"), "true"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(&path).expect("the report");
    assert!(text.starts_with("elapsed ") && text.contains(" cpu "), "{text}");
    let full = run(&["run", "-o", "/dev/full", "true"]);
    assert_eq!(full.code, Some(125));
    assert!(full.err.contains("cannot write /dev/full"), "{}", full.err);
}

#[test]
fn the_slowest_processes_are_listed_one_by_one() {
    if without_ledger() {
        return;
    }
    let script = "sleep 3.2 & (sleep 2.8; exit 3) & i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done; wait";
    let run = || json(&["--", "sh", "-c", script])["tree"].take();
    let mut tree = run();
    // Beside a storm of other exits the ledger's tables may be full; the report says so.
    for _ in 0..5 {
        if tree["slowest_lost"].as_u64().is_none_or(|lost| lost == 0) {
            break;
        }
        tree = run();
    }
    let Some(slowest) = tree["slowest"].as_array() else {
        // For example in a container: the report says so.
        return assert!(tree["slowest_missing"].is_string(), "{tree}");
    };
    assert_eq!(slowest.len(), 10, "{slowest:?}");
    let elapsed: Vec<u64> = slowest.iter().map(|one| ns(one, "elapsed_ns")).collect();
    assert!(elapsed.is_sorted_by(|a, b| a >= b), "{elapsed:?}");
    let of = |command: &str| slowest.iter().find(|one| one["command"] == command);
    // These lived long enough for their command lines to be read.
    for (command, least_ns) in [("sleep 3.2", 3_190_000_000), ("sleep 2.8", 2_790_000_000)] {
        let one = of(command).unwrap_or_else(|| panic!("{command}: {tree}"));
        assert_eq!(one["comm"], "sleep");
        assert!(ns(one, "elapsed_ns") >= least_ns && ns(one, "run_ns") < 1_000_000_000, "{one}");
    }
    assert!(of(&format!("sh -c {script}")).is_some(), "the command itself: {slowest:?}");
    assert!(slowest.iter().any(|one| one["comm"] == "true" || one["comm"] == "sh"), "{slowest:?}");
    assert_eq!(tree["slowest_lost"], 0, "{tree}");
}

#[test]
fn the_gate_opens_at_enter() {
    let mut child = piped(&["run", "-q", "--gate", "--", "echo", "gone"]);
    let said = first_line(child.stderr.as_mut());
    assert!(said.starts_with("PID: "), "{said}");
    let pid = said.trim_start_matches("PID: ").trim().parse().expect("a PID");
    until_stuck("a command at the gate", pid);
    assert!(child.try_wait().expect("a status").is_none(), "it waits");
    child.stdin.take().expect("a pipe").write_all(b"\n").expect("written");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "gone\n");
}

#[test]
fn niceness_cpus_and_policy_are_set_and_clamped() {
    let of = |args: &[&str], script: &str| {
        let done = run(&[&["run", "-q"], args, &["--", "sh", "-c", script]].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
        (done.out.trim().to_string(), done.err)
    };
    assert_eq!(of(&["--nice", "5"], "nice").0, "5");
    let (nice, said) = of(&["--nice", "25"], "nice");
    assert_eq!(
        (nice.as_str(), said.as_str()),
        ("19", "exactop: run: niceness 25 is not within -20 and 19: using 19\n")
    );
    let stat = "cut -d')' -f2 /proc/self/stat | cut -d' ' -f40";
    assert_eq!(of(&["--sched", "batch"], stat).0, "3", "SCHED_BATCH");
    let allowed = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    assert_eq!(of(&["--cpus", "0"], allowed).0, "0");
    let done = run(&["run", "--cpus", "1023", "true"]);
    assert_eq!(done.code, Some(125));
    assert!(done.err.contains("choose among 0"), "{}", done.err);
}

#[test]
fn a_recorded_run_has_every_exited_process() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let path = path.to_str().expect("UTF-8");
    let own = dir.path().join("recorded-true");
    copied_from("/bin/true", &own);
    // Longer than a window of half a second.
    let script = "n=0; while [ $n -lt 40 ]; do $0; sleep 0.03; n=$((n+1)); done; exit 3";
    let command = ["--", "sh", "-c", script, own.to_str().expect("UTF-8")];
    let done = run(&[&["run", "-q", "--record", path], &command[..]].concat());
    assert_eq!((done.code, done.err.as_str()), (Some(3), ""));
    let replayed = run(&["replay", "--json", path]).fine();
    let windows: Vec<Value> =
        replayed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(windows.len() > 1, "{}", windows.len());
    let of = |window: &Value| {
        let groups = window["exited"].as_array().expect("groups").clone();
        let ours = groups.into_iter().filter(|group| group["comm"] == "recorded-true");
        ours.map(|group| ns(&group, "exited_processes")).sum::<u64>()
    };
    assert_eq!(windows.iter().map(of).sum::<u64>(), 40);
    assert!(windows.iter().all(|window| window["window"]["residual_ns"] == 0));
    run(&["record", "verify", path]).fine();
}

#[test]
fn no_child_is_lost() {
    if without_ledger() {
        return;
    }
    let me = program();
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().to_str().expect("UTF-8");
    // A daemon in a session of its own, an orphan, and a child that nobody waits for because
    // SIGCHLD is ignored. Each prints that it has ended. They run long enough that starting them is
    // negligible.
    let script = format!(
        "trap '' CHLD
         work() {{ {me} load spin --threads 1 --duration 6 --json >{at}/$1 2>/dev/null; : >{at}/$1.ended; }}
         (setsid sh -c '{me} load spin --threads 1 --duration 6 --json >{at}/a 2>/dev/null; : >{at}/a.ended' &)
         (work b &)
         work c &
         until [ -e {at}/a.ended ] && [ -e {at}/b.ended ] && [ -e {at}/c.ended ]; do sleep 0.2; done
         sleep 0.5"
    );
    let group: &[&str] = if groups().is_some() { &["--weight", "100"] } else { &[] };
    let report = json(&[group, &["--", "sh", "-c", &script]].concat());
    let of = |name: &str| {
        let text = std::fs::read_to_string(dir.path().join(name)).expect("its word");
        let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
        last["cpu_ns"][0].as_u64().expect("its CPU time")
    };
    let said: u64 = ["a", "b", "c"].into_iter().map(of).sum();
    let counted = ns(&report, "cpu_ns");
    println!("they say {said} ns, exactop says {counted} ns; {}", report["cgroup"]);
    assert!(counted >= said, "{counted} {said}");
    // Nothing counts twice: each is a third. The rest is the cost of starting them, which differs
    // between machines.
    assert!(counted - said <= said / 6, "{counted} {said}");
    if let Some(usage) = report["cgroup"]["usage_ns"].as_u64() {
        // The kernel's own count of the same time; it lacks the time before exec, which is not the
        // group's.
        assert!(counted.abs_diff(usage) <= usage / 50, "{counted} {usage}");
    }
    let waited = &report["waited_for"];
    let waited = ns(waited, "user_ns") + ns(waited, "system_ns");
    assert!(waited < said / 2, "wait4(2) knows of few: {waited} of {said}");
    assert!(ns(&report["tree"]["counters"], "dispatches") > 0);
    assert_eq!(report["tree"]["living_threads"], 0);
}

/// Directory in which groups can be made; `None`: they cannot.
pub fn groups() -> Option<PathBuf> {
    let dir = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(PathBuf::from);
    let dir = dir.into_iter().find(|dir| dir.join("cgroup.procs").exists())?;
    let probe = dir.join(format!("exactop-test-probe-{}", std::process::id()));
    std::fs::create_dir(&probe).ok()?;
    std::fs::remove_dir(&probe).ok()?;
    Some(dir)
}

#[test]
fn a_quota_holds_and_the_kernel_agrees() {
    let Some(dir) = groups().filter(|_| !without_ledger()) else { return };
    let me = program();
    let spin = [&me, "load", "spin", "--threads", "2", "--duration", "2"];
    // The weight is so high that only the quota keeps it from running.
    let limits = ["--max", "40%", "--weight", "10000", "--"];
    let report = json(&[&limits[..], &spin].concat());
    let group = &report["cgroup"];
    let share = ns(&report, "cpu_ns") as f64 / ns(&report, "elapsed_ns") as f64;
    println!("{share:.3} of a CPU; {group}");
    assert!(share < 0.48, "0.4 are allowed, and one period more at the end");
    assert_eq!(group["allowed_cpus"], 0.4);
    assert!(ns(group, "nr_throttled") > 0 && ns(group, "nr_throttled") <= ns(group, "nr_periods"));
    let (usage, ledger) = (ns(group, "usage_ns"), ns(&report, "cpu_ns"));
    // The time before exec is not the group's.
    assert!(usage.abs_diff(ledger) < usage / 10, "cpu.stat {usage}, ledger {ledger}");
    assert!(ns(&report["tree"]["counters"], "throttle_ns") > 0);
    let path = group["path"].as_str().expect("its name").trim_start_matches('/');
    assert!(!dir.join(path).exists(), "it is gone");
}

/// A group of the cpu controller's hierarchy in version 1 that cpuacct's hierarchy lacks, if the
/// two are separate; removed at the end.
struct Elsewhere(PathBuf);

impl Elsewhere {
    fn new() -> Option<Elsewhere> {
        let [cpu, accounting] =
            ["cpu", "cpuacct"].map(|name| std::fs::canonicalize(format!("/sys/fs/cgroup/{name}")));
        let cpu = cpu.ok().filter(|dir| dir.join("cpu.shares").exists())?;
        if accounting.ok()? == cpu {
            return None;
        }
        let group = cpu.join(format!("exactop-test-elsewhere-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        Some(Elsewhere(group))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        wait::until("the group is empty", || std::fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_quota_is_set_where_cpuacct_has_another_group_than_cpu() {
    let Some(elsewhere) = groups().filter(|_| !without_ledger()).and_then(|_| Elsewhere::new())
    else {
        eprintln!("left out: it takes root and control groups of version 1, cpu and cpuacct apart");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("report.json");
    let script = "echo $$ >\"$1/cgroup.procs\" && shift && exec \"$@\"";
    let group = elsewhere.0.to_str().expect("UTF-8");
    let (me, path) = (program(), report.to_str().expect("UTF-8"));
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", group, &me, "run", "-q", "--json", path, "--max", "50%"]);
    shell.args(["--", &me, "load", "spin", "--threads", "1", "--duration", "0.2"]);
    let done = done(shell);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let told = std::fs::read_to_string(&report).expect("the report");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    // The kernel's count of the command is that of the group made in cpuacct's hierarchy.
    assert!(ns(&told["cgroup"], "usage_ns") > 0, "{told}");
}

#[test]
fn without_the_ledger_the_report_names_what_is_missing() {
    // In a PID namespace of its own there is no ledger.
    let me = program();
    let mut process = Command::new("unshare");
    process.args(["--pid", "--fork", "--mount-proc", &me, "run", "--", "sh", "-c", "exit 4"]);
    process.stdin(Stdio::null());
    let done = done(process);
    if done.err.contains("unshare") {
        eprintln!("left out: no namespace can be made: {}", done.err);
        return;
    }
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert!(done.err.contains("not known") && done.err.contains("PID namespace"), "{}", done.err);
    assert!(done.err.starts_with("elapsed "), "{}", done.err);
}

/// The group that a run made for its command, which may be below that of this test.
fn own_group(dir: &Path, command: u32) -> Option<PathBuf> {
    let groups = std::fs::read_to_string(format!("/proc/{command}/cgroup")).ok()?;
    let paths = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let mut ours = paths.filter(|path| path.contains("/exactop-run-"));
    Some(dir.join(ours.next()?.trim_start_matches('/')))
}

/// A run that ends, with its group, when its command does.
struct Limited(Load);

impl Drop for Limited {
    fn drop(&mut self) {
        if !is_over(self.0.pid()) {
            children(self.0.pid()).into_iter().for_each(|pid| send(pid, KILL));
        }
        let _ = self.0 .0.wait();
    }
}

#[test]
fn groups_are_listed_set_and_explained() {
    let Some(dir) = groups().filter(|_| !without_ledger()) else { return };
    let me = program();
    let spin = [&me, "load", "spin", "--threads", "2", "--duration", "600"];
    let words = ["run", "-q", "--max", "30%", "--weight", "10000", "--"];
    let child = Limited(Load::start(command(&[&words[..], &spin].concat()).stderr(Stdio::null())));
    let pid = child.0.pid();
    wait::until("a throttled group", || {
        let own = children(pid).into_iter().find_map(|command| own_group(&dir, command));
        let stat = own.and_then(|group| std::fs::read_to_string(group.join("cpu.stat")).ok());
        let times = |stat: String| -> Option<u64> {
            stat.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.parse().ok()
        };
        stat.and_then(times) > Some(0)
    });
    let listed = run(&["cgroups", "--json", "1", "4"]).fine();
    let parsed = |line| serde_json::from_str(line).expect("JSON");
    let windows: Vec<Value> = listed.lines().map(parsed).collect();
    let is_ours =
        |row: &&Value| row["path"].as_str().is_some_and(|p| p.contains(&format!("-{pid}-")));
    let rows = windows.iter().flat_map(|window| window["groups"].as_array().expect("rows"));
    let of_all: Vec<&Value> = rows.filter(is_ours).collect();
    assert_eq!(of_all.len(), 4, "{listed}");
    let sum = |key: &str| of_all.iter().map(|row| ns(row, key)).sum::<u64>();
    let (kernel, ledger) = (sum("usage_ns"), sum("ledger_run_ns"));
    // The files are read a little before the ledger's windows end, so the two cover windows of
    // equal length that are shifted.
    assert!(kernel < 2 * ledger && ledger < 2 * kernel, "{kernel} {ledger}");
    let rows = windows[3]["groups"].as_array().expect("rows");
    let group = rows.iter().find(is_ours).expect("its group");
    println!("{group}");
    let ledger = ns(group, "ledger_run_ns");
    assert_eq!((&group["allowed_cpus"], &group["processes"]), (&0.3.into(), &1.into()));
    assert!(sum("ledger_throttle_ns") > 0 && sum("nr_throttled") > 0);
    match group["words"].as_str() {
        Some(words) => assert!(words.contains("may use 0.3: throttled "), "{words}"),
        // On a busy machine other tasks keep it from running, not its quota.
        None => assert!(ns(group, "ledger_lat_ns") > ns(group, "ledger_throttle_ns"), "{group}"),
    }
    let root = &rows[0];
    assert_eq!(root["path"], "/");
    assert!(ns(root, "ledger_run_ns") >= ledger);

    let path = group["path"].as_str().expect("its name");
    let set = run(&["cgroups", "set", path, "--weight", "500", "--max", "60000/200000"]).fine();
    assert!(set.contains("before: weight 10000, max 30000 100000"), "{set}");
    assert!(set.contains("after:  weight 500, max 60000 200000"), "{set}");
    let text = run(&["cgroups", "0.5", "1", "--rows", "100"]).fine();
    assert!(text.contains(path.trim_start_matches('/')) && text.contains("LEDGER%"), "{text}");
    let csv = run(&["cgroups", "--csv", "0.3", "1"]).fine();
    assert!(csv.starts_with("t0_ns,t1_ns,path,usage_ns") && csv.contains(path), "{csv}");
}

#[test]
fn missing_groups_and_wrong_limits_are_reported_in_one_line() {
    for (args, status, words) in [
        (&["set", "/no/such/group", "--weight", "5"][..], 1, "no cgroup /no/such/group"),
        (&["set", "/x"], 2, "--weight"),
        (&["set", "/x", "--weight", "0"], 2, "1 to 10000"),
        (&["set", "/x", "--max", "9"], 2, "9 us"),
        (&["-p", "1"], 2, "a control group has many processes"),
        (&["x"], 2, "interval 'x'"),
    ] {
        run(&[&["cgroups"], args].concat()).refused(status, words);
    }
}

#[test]
fn repeated_runs_are_interleaved_and_summed_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_string();
    let (order, report) = (path("order"), path("report"));
    let script = format!("nice >>{order}; exit 0");
    let all = ["--compare", "nice=0", "nice=7", "--", "sh", "-c", &script];
    let args = ["run", "--repeat", "2", "--warmup", "1", "--json", &report];
    let done = run(&[&args[..], &all].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.starts_with("2 runs each") && done.err.contains("nice=7"), "{}", done.err);
    let order = std::fs::read_to_string(order).expect("who ran");
    assert_eq!(order, "0\n7\n7\n0\n0\n7\n");
    let text = std::fs::read_to_string(&report).expect("the report");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let conditions = all["conditions"].as_array().expect("conditions");
    assert_eq!(conditions.len(), 2);
    for condition in conditions {
        assert_eq!(condition["runs"].as_array().map(Vec::len), Some(2));
        assert!(condition["summary"]["elapsed_s"]["median"].as_f64() > Some(0.0));
    }
    let failed = run(&["run", "-q", "--repeat", "2", "--", "sh", "-c", "exit 9"]);
    assert_eq!(failed.code, Some(9));
}

#[test]
fn ten_thousand_children_are_counted() {
    if without_ledger() {
        return;
    }
    let script = "i=0; while [ $i -lt 5000 ]; do /bin/true; i=$((i+1)); done";
    let both = format!("({script}) & ({script}) & wait");
    let report = json(&["--", "sh", "-c", &both]);
    let exited = report["tree"]["exited"].as_array().expect("names");
    let of = |name: &str| {
        let named = exited.iter().find(|e| e["comm"] == name);
        named.map_or(0, |e| ns(e, "processes"))
    };
    // The shell, the two that it forks, and their children; none is lost, and none invented.
    let all: u64 = exited.iter().map(|name| ns(name, "processes")).sum();
    assert_eq!((of("true"), of("sh"), all), (10_000, 3, 10_003), "{exited:?}");
    // The kernel counts in ticks or finer; wait4(2) knows all of these processes.
    let waited = &report["waited_for"];
    let waited = ns(waited, "user_ns") + ns(waited, "system_ns");
    let counted = ns(&report, "cpu_ns");
    println!("ledger {counted} ns, wait4 {waited} ns");
    assert!(counted.abs_diff(waited) < counted / 3, "{counted} {waited}");
}
