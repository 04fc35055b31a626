//! `exactop syscalls`, `wakeups`, `waits`, `moves`, `switches` and `owed` on the real
//! machine: each format, and their findings.

use crate::helpers::processes::{until_stuck, Load};
use crate::helpers::run::{command, run, without_ledger};
use exactop_testkit::wait;
use exactop_workloads::procs::thread_count;
use serde_json::Value;
use std::process::Stdio;

/// A shell that reads a file again and again.
fn reader() -> Load {
    let reader = Load::shell("while :; do read x </proc/self/comm; done");
    wait::until("a shell that reads", || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", reader.pid())).expect("of a child");
        let reads = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        reads.and_then(|reads| reads.parse().ok()) > Some(1000)
    });
    reader
}

fn windows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn system_calls_in_every_format() {
    if without_ledger() {
        return;
    }
    let reader = reader();
    let pid = reader.pid().to_string();
    // The shell may get no CPU in a window.
    let text = wait::find("a window in which it closes files", || {
        let text = run(&["syscalls", "-p", &pid, "--by", "thread", "0.3", "1"]).fine();
        text.lines().any(|line| line.ends_with(" close")).then_some(text)
    });
    let mut lines = text.lines();
    assert!(lines.next().expect("a line").starts_with("Window "), "{text}");
    // The kernel may have hidden some, which a line above the table reports.
    let heading = lines.find(|line| line.trim_start().starts_with("PID ")).expect("a heading");
    let heading: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(heading[..4], ["PID", "NAME/TID", "DISP/s", "CALLS"]);
    let close = text.lines().find(|l| l.ends_with(" close")).expect("it closes files");
    assert!(close.contains(&format!(" sh/{pid} ")), "{text}");

    let seen = wait::find("windows in which it reads", || {
        let seen = run(&["syscalls", "-p", &pid, "--json", "0.2", "2"]).fine();
        seen.lines().all(|line| line.contains("\"read\"")).then_some(seen)
    });
    let windows = windows(&seen);
    assert_eq!(windows.len(), 2);
    for window in &windows {
        assert_eq!((&window["schema"], &window["by"]), (&1.into(), &"call".into()));
        let calls = window["calls"].as_array().expect("rows");
        let read = calls.iter().find(|c| c["syscall"] == "read").expect("it reads");
        assert!(read["calls"].as_u64() > Some(0) && read["pid"].is_null(), "{read}");
        assert!(read["mean_ns"].as_u64() <= read["max_ns"].as_u64(), "{read}");
    }

    let seen = wait::find("a window in which it opens files", || {
        let seen = run(&["syscalls", "openat", "-p", &pid, "--csv", "0.2", "1"]).fine();
        (seen.lines().count() > 1).then_some(seen)
    });
    let rows: Vec<Vec<&str>> = seen.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[1][5]), (2, "openat"), "{seen}");
    assert_eq!(rows[0].len(), rows[1].len());
}

#[test]
fn a_herd_is_found_by_its_name_and_a_pool_is_not() {
    if without_ledger() {
        return;
    }
    for (wake, is_herd) in [("all", true), ("one", false)] {
        let args = ["load", "herd", "--threads", "100", "--rate", "50", "--duration", "600"];
        let load = Load::start(command(&args).args(["--wake", wake]).stderr(Stdio::null()));
        wait::until("a herd", || thread_count(load.pid()) == Some(101));
        let pid = load.pid().to_string();
        let args = ["wakeups", "-p", &pid, "--check", "--json", "2", "2"];
        let done = run(&args);
        assert_eq!(done.code, Some(if is_herd { 3 } else { 0 }), "{} {}", done.out, done.err);
        let windows = windows(&done.out);
        let of = |w: &Value| w["verdicts"].as_array().expect("verdicts").clone();
        let verdicts: Vec<Value> = windows.iter().flat_map(of).collect();
        assert_eq!(!verdicts.is_empty(), is_herd, "{verdicts:?}");
        if is_herd {
            let text = verdicts[0]["text"].as_str().expect("words");
            let begins = format!("thundering herd: each futex wake by herd-all/{pid} woke ");
            assert!(text.starts_with(&begins), "{text}");
            assert!(text.contains("went back to the same lock"), "{text}");
            // Of a hundred threads, those asleep by then; on a busy machine that is not all of
            // them. A pool wakes one.
            assert!(verdicts[0]["evidence"]["mean"].as_f64() > Some(10.0), "{verdicts:?}");
        }
        let text = run(&["wakeups", "-p", &pid, "0.3", "-n", "1", "--rows", "3"]).fine();
        assert!(text.contains("WAKER") && text.contains("CALL"), "{text}");
        let csv = run(&["wakeups", "-p", &pid, "1", "1", "--csv"]).fine();
        assert!(
            csv.lines().count() > usize::from(is_herd) && csv.starts_with("t0_ns,t1_ns,waker_pid"),
            "{csv}"
        );
    }
}

#[test]
fn waits_in_every_format() {
    if without_ledger() {
        return;
    }
    let sleeper = Load::sleep();
    wait::until("exec of sleep(1)", || {
        let comm = std::fs::read_to_string(format!("/proc/{}/comm", sleeper.pid()));
        comm.is_ok_and(|comm| comm == "sleep\n")
    });
    until_stuck("a sleeper", sleeper.pid());
    let pid = sleeper.pid().to_string();
    let text = run(&["waits", "-p", &pid, "0.3", "1"]).fine();
    assert!(text.contains(&format!("sleep ({pid})")), "{text}");
    assert!(text.contains("SLP ") && text.contains("clock_nanosleep "), "{text}");
    let seen = run(&["waits", "-p", &pid, "--by", "thread", "--json", "0.3", "1"]).fine();
    let window = &windows(&seen)[0];
    let row = &window["rows"][0];
    assert_eq!((row["pid"].to_string(), row["tid"].to_string()), (pid.clone(), pid.clone()));
    let sleep = &row["sleeps"][0];
    assert_eq!((&sleep["state"], &sleep["ended"]), (&"SLP".into(), &0.into()));
    assert!(sleep["ns"].as_u64() > Some(200_000_000), "{sleep}");
    let csv = run(&["waits", "-p", &pid, "--csv", "0.2", "1"]).fine();
    assert!(csv.lines().next().is_some_and(|heading| heading.ends_with(",wall_s")), "{csv}");
    assert!(csv.lines().skip(1).all(|l| !l.ends_with(',')), "each has its time: {csv}");
    assert!(csv.lines().any(|l| l.contains(",SLP,clock_nanosleep,")), "{csv}");
}

#[test]
fn moves_in_every_format() {
    if without_ledger() {
        return;
    }
    // Enough threads that the kernel balances them.
    let spin = ["load", "spin", "--threads", "9", "--duration", "600"];
    let load = Load::start(command(&spin).stderr(Stdio::null()).stdout(Stdio::null()));
    let pid = load.pid().to_string();
    wait::until("nine threads", || thread_count(load.pid()) >= Some(9));
    let before = kernel_migrations(load.pid());
    let seen = run(&["moves", "-p", &pid, "--json", "1", "2"]).fine();
    let by_kernel = kernel_migrations(load.pid()).zip(before).map(|(after, before)| after - before);
    let windows = windows(&seen);
    assert_eq!(windows.len(), 2);
    let mut all = 0;
    for window in &windows {
        let sum = |of: &str, is_one: &dyn Fn(&Value) -> bool| {
            let rows = window[of].as_array().expect("rows").iter().filter(|row| is_one(row));
            rows.map(|row| row["moves"].as_u64().expect("a count")).sum::<u64>()
        };
        let is_counted = |row: &Value| row["cause"] != "fork";
        let migrations = window["migrations"].as_u64().expect("a count");
        assert_eq!(sum("causes", &is_counted), migrations, "{window}");
        assert_eq!(sum("rows", &is_counted), migrations, "{window}");
        assert_eq!(sum("cpus", &|_| true), migrations, "{window}");
        all += window["by_kernel"].as_u64().expect("the kernel counts them");
        let is_unknown = |row: &Value| row["cause"] == "unknown";
        assert_eq!(sum("unknown", &|_| true), sum("rows", &is_unknown), "{window}");
    }
    assert!(
        by_kernel.is_none_or(|most| all <= most),
        "{all} in two windows: {by_kernel:?} around them"
    );
    let text = run(&["moves", "0.3", "1"]).fine();
    assert!(
        text.starts_with("Window ") && text.contains("CAUSE") && text.contains("FROM"),
        "{text}"
    );
    let csv = run(&["moves", "--by", "thread", "--csv", "0.3", "1"]).fine();
    let heading = csv.lines().next().expect("a heading");
    assert!(heading.starts_with("t0_ns,t1_ns,pid,tid,comm,cause,from,to,moves,"), "{csv}");
    assert!(csv.lines().all(|l| l.split(',').count() == heading.split(',').count()), "{csv}");
}

/// Migrations of all threads of a process by /proc/PID/sched; `None`: this kernel has no such file.
fn kernel_migrations(pid: u32) -> Option<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("of a child");
    let of_thread = |entry: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let sched = std::fs::read_to_string(entry.expect("a thread").path().join("sched")).ok()?;
        let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
        line.rsplit(' ').next()?.parse().ok()
    };
    tasks.map(of_thread).sum()
}

/// Busy threads, more than there are CPUs, so that they wait for each other.
fn nine_threads() -> Load {
    let spin = ["load", "spin", "--threads", "9", "--duration", "600"];
    let load = Load::start(command(&spin).stderr(Stdio::null()).stdout(Stdio::null()));
    wait::until("nine threads", || thread_count(load.pid()) >= Some(9));
    load
}

/// Context switches of all threads of a process, as the kernel counts them.
fn kernel_switches(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("of a child");
    let of_thread = |entry: std::io::Result<std::fs::DirEntry>| -> u64 {
        let status = entry.expect("a thread").path().join("status");
        let status = std::fs::read_to_string(status).expect("of a thread");
        let lines = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        lines.map(|(_, count)| count.trim().parse::<u64>().expect("a count")).sum()
    };
    tasks.map(of_thread).sum()
}

#[test]
fn switches_in_every_format() {
    if without_ledger() {
        return;
    }
    let load = nine_threads();
    let pid = load.pid().to_string();
    let before = kernel_switches(load.pid());
    let seen = run(&["switches", "-p", &pid, "--by", "thread", "--json", "1", "2"]).fine();
    let grown = kernel_switches(load.pid()) - before;
    let windows = windows(&seen);
    assert_eq!(windows.len(), 2);
    let count = |row: &Value, name: &str| row[name].as_u64().expect("a count");
    let mut all = 0;
    for row in windows.iter().flat_map(|window| window["rows"].as_array().expect("rows")) {
        let reasons = ["preempted", "blocked", "yielded", "exited"].map(|name| count(row, name));
        assert_eq!(count(row, "switches"), reasons.iter().sum::<u64>(), "{row}");
        assert_eq!((row["pid"].to_string(), count(row, "exited")), (pid.clone(), 0), "{row}");
        assert!(row["tid"].is_u64(), "{row}");
        all += count(row, "switches");
    }
    let preempted = |window: &Value| {
        let rows = window["rows"].as_array().expect("rows").iter();
        rows.map(|row| count(row, "preempted")).sum::<u64>()
    };
    assert!(windows.iter().all(|window| preempted(window) > 0), "{seen}");
    assert!(all <= grown, "{all} switches in two windows, the kernel has {grown} around them");

    let text = run(&["switches", "-p", &pid, "0.3", "1"]).fine();
    let heading = text.lines().find(|line| line.contains("SWITCHES")).expect("a heading");
    let heading: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(heading, ["SWITCHES", "PREEMPTED", "BLOCKED", "YIELDED", "EXITED", "WHO"]);
    assert!(text.lines().last().is_some_and(|row| row.ends_with(&format!("({pid})"))), "{text}");
    let csv = run(&["switches", "-p", &pid, "--csv", "0.3", "1"]).fine();
    let lines: Vec<&str> = csv.lines().collect();
    let columns = "t0_ns,t1_ns,pid,tid,comm,switches,preempted,blocked,yielded,exited,wall_s";
    assert_eq!((lines.len(), lines[0]), (2, columns), "{csv}");
    assert_eq!(lines[1].split(',').nth(2), Some(pid.as_str()), "{csv}");
}

#[test]
fn owed_idle_time_in_every_format() {
    if without_ledger() {
        return;
    }
    let load = nine_threads();
    let pid = load.pid().to_string();
    let seen = run(&["owed", "-p", &pid, "--json", "-d", "1", "-n", "2"]).fine();
    let windows = windows(&seen);
    assert_eq!(windows.len(), 2);
    for window in &windows {
        let (owed, idle) = (window["owed_ns"].as_u64(), window["idle_ns"].as_u64());
        assert!(owed.is_some() && owed <= idle, "{window}");
        let rows = window["rows"].as_array().expect("rows");
        let busy = rows.iter().find(|row| row["cause"] == "busy").expect("waits");
        assert!(busy["ns"].as_u64() > Some(0) && busy["times"].as_u64() > Some(0), "{window}");
        assert!(busy["group"].as_str().is_some_and(|group| group.starts_with('/')), "{window}");
    }
    let text = run(&["owed", "-p", &pid, "0.3", "1"]).fine();
    let heading = text.lines().find(|line| line.contains("CAUSE")).expect("a heading");
    let heading: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(heading, ["CAUSE", "WAIT", "TIMES", "MEANING", "GROUP"]);
    assert!(text.starts_with("Window ") && text.contains("(owed "), "{text}");
    let csv = run(&["owed", "--csv", "0.3", "1"]).fine();
    assert!(csv.starts_with("t0_ns,t1_ns,group,cause,ns,times,wall_s\n"), "{csv}");
}

#[test]
fn a_missing_process_is_reported_in_one_line() {
    for command in ["syscalls", "wakeups", "waits", "moves", "switches", "owed"] {
        let done = run(&[command, "-p", "4194305", "1", "1"]);
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{command}");
        assert_eq!(
            done.err,
            format!(
                "exactop: {command}: no process 4194305: give the PID of a process that runs\n"
            )
        );
    }
}
