//! Runs that a daemon's ledger follows: no rights, no own programs, no child lost.

use crate::daemon::{bpf_files, Daemon};
use crate::helpers::processes::{first_line, is_over, send, Load, CONT, KILL, STOP};
use crate::helpers::run::{copied_from, done, program, without_ledger, Done};
use crate::inside::CONTAINED;
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Orphans that exit at once, and one that lives for a while and prints its PID. All hold the pipe,
/// so its end is their end, except for the little that remains of an exit then. Their parent stays
/// until the test lets it go.
const ORPHANS: &str = "
    {
        i=0; while [ $i -lt $1 ]; do ($0 &) ; i=$((i+1)); done
        (setsid sh -c 'echo $$; exec sleep 1.2' &)
    } | cat
    echo over
    read go";

/// A run on this daemon, as the user nobody if possible.
fn running(daemon: &Daemon, options: &[&str], command: &[&str]) -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let mut run = match is_root {
        true => {
            let mut run = Command::new("setpriv");
            run.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
            run.arg(daemon.path().join("exactop"));
            run
        }
        false => Command::new(program()),
    };
    run.args(["run", "--source", "daemon", "--socket"]).arg(daemon.socket());
    run.args(["-q", "--json", "-"]).args(options).arg("--").args(command);
    run
}

fn report(done: &Done) -> Value {
    let last = done.out.lines().last().unwrap_or_else(|| panic!("no report: {}", done.err));
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"))
}

fn ns(object: &Value, key: &str) -> u64 {
    object[key].as_u64().unwrap_or_else(|| panic!("{key}: {object}"))
}

/// Number of processes of this name that exited in the tree.
fn exited(report: &Value, comm: &str) -> u64 {
    let groups = report["tree"]["exited"].as_array();
    let groups = groups.unwrap_or_else(|| panic!("no tree: {}", report["tree_missing"]));
    let of = groups.iter().filter(|group| group["comm"] == comm);
    of.map(|group| ns(group, "processes")).sum()
}

/// True if a process of this name exists, zombies excluded.
fn lives(name: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: u32| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm"));
        comm.is_ok_and(|comm| comm.trim_end() == name) && !is_over(pid)
    };
    pids.any(is_it)
}

/// A program that does nothing, under a name of its own.
fn named(daemon: &Daemon, name: &str) -> String {
    let path = daemon.path().join(name);
    copied_from("/bin/true", &path);
    path.to_str().expect("UTF-8").into()
}

#[test]
fn simultaneous_trees_each_have_their_own_orphans() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::of_group("nogroup");
    // Processes outside of both trees.
    let other = named(&daemon, "in-no-tree");
    let _storm = Load::shell(&format!("while :; do {other}; sleep 0.01; done"));
    let start = |name: &str, many: &str| {
        let own = named(&daemon, name);
        let mut run = running(&daemon, &[], &["sh", "-c", ORPHANS, &own, many]);
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let first = start("first-tree", "150").expect("a run");
    let second = start("second-tree", "90").expect("a run");
    wait::until("a run that loads nothing", || bpf_files(first.id()) == 0);
    let ended = |mut child: std::process::Child, name: &str| {
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = || {
            let mut line = String::new();
            said.read_line(&mut line).expect("UTF-8");
            line
        };
        let sleeper = line().trim().parse().expect("a PID");
        assert_eq!(line(), "over\n");
        wait::until("the ends of all orphans", || is_over(sleeper) && !lives(name));
        child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        let mut out = String::new();
        said.read_to_string(&mut out).expect("UTF-8");
        let output = child.wait_with_output().expect("an end");
        let err = String::from_utf8(output.stderr).expect("UTF-8");
        let done = Done { code: output.status.code(), out, err };
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
        report(&done)
    };
    let (first, second) = (ended(first, "first-tree"), ended(second, "second-tree"));
    let names = ["first-tree", "second-tree", "in-no-tree"];
    let of = |report: &Value| names.map(|name| exited(report, name));
    assert_eq!((of(&first), of(&second)), ([150, 0, 0], [0, 90, 0]));
    for report in [&first, &second] {
        assert!(exited(report, "sleep") == 1, "the one in a session of its own, too: {report}");
        assert_eq!(ns(&report["tree"], "living_threads"), 0, "{report}");
        assert!(report["tree"]["cpus"].is_null(), "a daemon counts all trees as one: {report}");
        let waited = &report["waited_for"];
        let waited = ns(waited, "user_ns") + ns(waited, "system_ns");
        // No process waits for orphans; the kernel's own count of the other children is in ticks.
        assert!(ns(report, "cpu_ns") + 50_000_000 > waited, "{waited}: {report}");
    }
}

#[test]
fn a_trees_cpu_time_matches_its_workers() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::of_group("nogroup");
    let me = daemon.path().join("exactop");
    let me = me.to_str().expect("UTF-8");
    // One that is waited for, and an orphan in a session of its own.
    let spin =
        |out: &str| format!("{me} load spin --threads 1 --duration 2 --json >{out} 2>/dev/null");
    let place = tempfile::tempdir_in(daemon.path()).expect("a directory");
    let at = place.path();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(at, everyone).expect("rights");
    let of = |name: &str| at.join(name).to_str().expect("UTF-8").to_string();
    let (a, b) = (of("a"), of("b"));
    let ended = of("ended");
    let script = format!(
        "(setsid sh -c '{}; : >{ended}' &) ; {}; until [ -e {ended} ]; do sleep 0.2; done",
        spin(&a),
        spin(&b)
    );
    let done = done(running(&daemon, &[], &["sh", "-c", &script]));
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let said = |path: &str| {
        let text = fs::read_to_string(Path::new(path)).expect("its word");
        let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
        last["cpu_ns"][0].as_u64().expect("its CPU time")
    };
    let (said, counted) = (said(&a) + said(&b), ns(&report(&done), "cpu_ns"));
    println!("they say {said} ns, exactop says {counted} ns");
    assert!(counted >= said, "{counted} {said}");
    // Nothing counts twice: each is a half. Starting them also takes time.
    assert!(counted - said <= said / 3, "{counted} {said}");
}

#[test]
fn a_nested_run_is_refused_and_the_outer_run_loses_nothing() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::of_group("nogroup");
    let (me, socket) = (daemon.path().join("exactop"), daemon.socket());
    let (me, socket) = (me.to_str().expect("UTF-8"), socket.to_str().expect("UTF-8"));
    let own = named(&daemon, "inner-one");
    let script = format!("{me} run -q --source daemon --socket {socket} -- {own} || {own}");
    let done = done(running(&daemon, &[], &["sh", "-c", &script]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("followed already") && done.err.lines().count() == 1, "{}", done.err);
    let report = report(&done);
    assert_eq!((exited(&report, "inner-one"), exited(&report, "exactop")), (1, 1), "{report}");
}

#[test]
fn a_process_that_outlives_a_run_can_start_another() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::of_group("nogroup");
    let (me, socket) = (daemon.path().join("exactop"), daemon.socket());
    let own = named(&daemon, "second-run");
    let place = tempfile::tempdir().expect("a directory");
    let (go, out) = (place.path().join("go"), place.path().join("out"));
    let second = format!(
        "while ! [ -e {} ]; do sleep 0.05; done; {} run --socket {} -q --json {} -- {own}",
        go.display(),
        me.display(),
        socket.display(),
        out.display()
    );
    let script = format!("(setsid sh -c '{second}' >/dev/null 2>&1 &)");
    let mut run = Command::new(program());
    run.args(["run", "-q", "--socket"]).arg(&socket).args(["--", "sh", "-c", &script]);
    let first = done(run);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    fs::write(&go, "").expect("written");
    let report = || serde_json::from_slice(&fs::read(&out).ok()?).ok();
    wait::until("the second report", || report().is_some());
    let report: Value = report().expect("a report");
    assert_eq!(exited(&report, "second-run"), 1, "{report}");
}

#[test]
fn time_at_the_gate_is_not_counted_and_later_time_is() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::of_group("nogroup");
    let own = named(&daemon, "after-gate");
    let script = "i=0; while [ $i -lt 40 ]; do $0; i=$((i+1)); done";
    let mut run = running(&daemon, &["--gate"], &["sh", "-c", script, &own]);
    run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().expect("a run");
    first_line(run.stderr.as_mut());
    // Long enough that time counted at the gate would be seen.
    let at_gate = Instant::now();
    sleep(Duration::from_secs(3));
    let at_gate = at_gate.elapsed().as_nanos();
    run.stdin.take().expect("a pipe").write_all(b"\n").expect("open");
    let output = run.wait_with_output().expect("an end");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!((exited(&report, "after-gate"), exited(&report, "sh")), (40, 1), "{report}");
    // The shell lives from the gate on, with one child at a time beside it. A busy machine may
    // delay the shell, but not as long as it waited at the gate.
    let elapsed = u128::from(ns(&report, "elapsed_ns"));
    let lived = u128::from(ns(&report["tree"], "life_ns"));
    assert!(lived > 0 && lived < 2 * elapsed + at_gate, "{lived} {elapsed} {at_gate}");
}

#[test]
fn a_stopped_daemon_delays_no_command() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::of_group("nogroup");
    let place = tempfile::tempdir_in(daemon.path()).expect("a directory");
    let end = place.path().join("end");
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(place.path(), everyone).expect("rights");
    let script = format!("date +%s%N; sleep 2.5; date +%s%N >{}", end.display());
    let mut run = running(&daemon, &[], &["sh", "-c", &script]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run");
    let mut out = run.stdout.take().expect("a pipe");
    let begun = first_line(Some(&mut out));
    send(daemon.load.pid(), STOP);
    let ns_in = |text: &str| text.trim().parse::<u64>().ok();
    let ended = || fs::read_to_string(&end).ok().and_then(|text| ns_in(&text));
    wait::until("the command's end", || ended().is_some());
    let took_ns = ended().expect("its word") - ns_in(&begun).expect("its word");
    // Long enough that time counted until the daemon continues would be seen.
    sleep(Duration::from_nanos(3 * took_ns));
    send(daemon.load.pid(), CONT);
    let mut text = String::new();
    out.read_to_string(&mut text).expect("UTF-8");
    assert!(run.wait().expect("an end").success());
    let report: Value = serde_json::from_str(text.lines().last().expect("a report")).expect("JSON");
    let elapsed_ns = ns(&report, "elapsed_ns");
    // Starting it also takes time, and more on a busy machine.
    assert!((took_ns..4 * took_ns).contains(&elapsed_ns), "{elapsed_ns} {took_ns}");
    assert_eq!(exited(&report, "sleep"), 1, "{report}");
}

#[test]
fn a_daemon_that_ends_during_a_run_is_the_reported_reason() {
    if without_ledger() {
        return;
    }
    let mut daemon = Daemon::of_group("nogroup");
    let place = tempfile::tempdir_in(daemon.path()).expect("a directory");
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path(), everyone).expect("rights");
    let go = place.path().join("go");
    let script = format!("echo begun; until [ -e {} ]; do sleep 0.1; done; exit 5", go.display());
    let mut run = running(&daemon, &[], &["sh", "-c", &script]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run");
    let mut out = run.stdout.take().expect("a pipe");
    first_line(Some(&mut out));
    daemon.end(KILL);
    daemon.start_again();
    fs::write(&go, "").expect("written");
    let mut text = String::new();
    out.read_to_string(&mut text).expect("UTF-8");
    assert_eq!(run.wait().expect("an end").code(), Some(5), "as the command ended");
    let report: Value = serde_json::from_str(text.lines().last().expect("a report")).expect("JSON");
    assert!(report["tree"].is_null(), "{report}");
    let missing = report["tree_missing"].as_str().expect("why");
    assert!(missing.contains("restarted"), "{missing}");
}

#[test]
fn impossible_options_are_refused_before_the_command_starts() {
    let socket = ["--source", "daemon", "--socket", "/nonexistent/s"];
    let run = |more: &[&str]| {
        let line = [&["run"][..], &socket, more, &["--", "touch", "/nonexistent/begun"]].concat();
        crate::helpers::run::run(&line)
    };
    run(&[]).refused(125, "cannot reach an exactop daemon at /nonexistent/s");
    run(&["--exact-split"]).refused(125, "a ledger of its own");
}

#[test]
fn a_run_in_a_pid_namespace_is_refused() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: a PID namespace takes root");
    }
    let daemon = Daemon::of_group("nogroup");
    let mut run = Command::new(CONTAINED[0]);
    run.args(&CONTAINED[1..]).arg(program()).args(["run", "--socket"]).arg(daemon.socket());
    let begun = daemon.path().join("begun");
    run.args(["--", "touch"]).arg(&begun);
    let done = done(run);
    assert_eq!(done.code, Some(125), "{}", done.err);
    assert!(done.err.contains("a PID namespace: run the command outside"), "{}", done.err);
    assert!(!begun.exists(), "before the command starts");
}
