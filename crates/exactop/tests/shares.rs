//! What a niceness, a weight and a quota give, seen by the ledger while two tasks want one CPU. Runs
//! where control groups of either version can be made, and in emulated machines, where the program
//! is the one that EXACTOP_PROGRAM names.
#![cfg(feature = "bpf")]

#[path = "helpers/mod.rs"]
mod helpers;

use helpers::processes::{first_line, send, KILL};
use helpers::run::{alone, command, program, run};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The CPU that they want: the last one that may be used, as the first serves interrupts.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/self/status").expect("a status");
    let allowed = text.lines().find(|l| l.starts_with("Cpus_allowed_list")).expect("the CPUs");
    allowed.rsplit(['-', ',', '\t']).next().expect("a number").trim().to_string()
}

/// A busy loop under `exactop run`, and its PID.
struct Spinner {
    run: Child,
    pid: u32,
}

impl Spinner {
    fn start(conditions: &[&str]) -> Spinner {
        let program = program();
        let mut run = command(&["run", "-q"])
            .args(conditions)
            .args(["--", &program, "load", "spin", "--duration", "60"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let line = first_line(run.stderr.take());
        let pid = line.split("process ").nth(1).and_then(|rest| rest.split(';').next());
        let pid = pid.and_then(|pid| pid.parse().ok()).unwrap_or_else(|| panic!("no PID: {line}"));
        Spinner { run, pid }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        send(self.pid, KILL);
        let _ = self.run.wait();
    }
}

/// One window of the ledger.
fn window(seconds: &str) -> Value {
    let args = ["--source", "ledger", "--once", "--json", "-d", seconds];
    serde_json::from_str(&run(&args).fine()).expect("JSON")
}

fn run_ns(window: &Value, spinner: &Spinner) -> f64 {
    let tasks = window["tasks"].as_array().expect("tasks");
    let row = tasks.iter().find(|task| task["pid"] == spinner.pid);
    // One that did nothing has a row all the same; without one it is not there.
    let ran = row.and_then(|row| row["run_ns"].as_f64());
    ran.unwrap_or_else(|| panic!("no time of {}", spinner.pid))
}

/// The share of the first, per cent of what both had; the later one is started first.
fn share(first: &[&str], second: &[&str], seconds: &str) -> f64 {
    let cpu = cpu();
    let second = Spinner::start(&[second, &["--cpus", &cpu]].concat());
    let first = Spinner::start(&[first, &["--cpus", &cpu]].concat());
    let window = window(seconds);
    let (one, other) = (run_ns(&window, &first), run_ns(&window, &second));
    let wanted = window["window"]["t1_ns"].as_f64().zip(window["window"]["t0_ns"].as_f64());
    let share = 100.0 * one / (one + other);
    let used = wanted.map_or(0.0, |(t1, t0)| 100.0 * (one + other) / (t1 - t0));
    println!("{share:.2} % of {used:.1} % of CPU {cpu}");
    assert!(used > 50.0, "they had {used:.1} % of the CPU: something else wanted it");
    share
}

fn is_about(share: f64, expected: f64, within: f64) {
    assert!((share - expected).abs() <= within, "{share:.2} %, not {expected} +- {within}");
}

#[test]
fn a_level_of_niceness_is_worth_a_quarter() {
    let Some(_alone) = alone() else { return };
    // Weights 1024 : 820 and 1277 : 1024 (sched_prio_to_weight of kernel/sched/core.c).
    is_about(share(&["--nice", "0"], &["--nice", "1"], "4"), 55.53, 1.0);
    is_about(share(&["--nice", "-1"], &["--nice", "0"], "4"), 55.50, 1.0);
}

#[test]
fn the_ends_of_niceness_are_all_and_nothing() {
    let Some(_alone) = alone() else { return };
    // The least turn of the other one, a tick or two, is a thousandth of some seconds.
    let share = share(&["--nice", "-20"], &["--nice", "19"], "12");
    assert!(share >= 99.9, "{share:.3} %");
}

#[test]
fn a_weight_of_500_beside_100_is_five_sixths() {
    let Some(_alone) = alone() else { return };
    is_about(share(&["--weight", "500"], &["--weight", "100"], "4"), 83.33, 1.0);
}

#[test]
fn a_quota_of_four_tenths_is_four_tenths() {
    let Some(_alone) = alone() else { return };
    let spinner = Spinner::start(&["--max", "40%"]);
    let window = window("5");
    let length = window["window"]["t1_ns"].as_f64().zip(window["window"]["t0_ns"].as_f64());
    let length = length.map(|(t1, t0)| t1 - t0).expect("a length");
    let share = 100.0 * run_ns(&window, &spinner) / length;
    println!("{share:.2} % of a CPU");
    // Emulated CPUs stand still at times with a slice of the quota that nobody uses up.
    let emulated = std::env::var_os("EXACTOP_TEST_EMULATED").is_some();
    is_about(share, 40.0, if emulated { 2.5 } else { 1.0 });
}

/// CPU time of a process's threads so far (/proc/PID/task/TID/schedstat, proc(5)), seconds.
fn ran(pid: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let ns = threads.flatten().map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).expect("it runs");
        let ns: Option<f64> = text.split(' ').next().and_then(|ns| ns.parse().ok());
        ns.unwrap_or_else(|| panic!("no nanoseconds: {text}"))
    });
    ns.sum::<f64>() / 1e9
}

/// Waits for the next time that a throttled task may run again: when, and what it had by then.
fn next_period(pid: u32) -> (Instant, f64) {
    let patience = Instant::now() + Duration::from_secs(60);
    let (mut before, mut since) = (ran(pid), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(2));
        let now = ran(pid);
        if now > before {
            if since.elapsed() > Duration::from_millis(300) {
                return (Instant::now(), before);
            }
            (before, since) = (now, Instant::now());
        }
        assert!(Instant::now() < patience, "it is never throttled");
    }
}

#[test]
fn a_period_of_a_second_gives_its_quota_each_time() {
    let Some(_alone) = alone() else { return };
    let spinner = Spinner::start(&["--max", "400000/1000000"]);
    // From the start of one period to the start of another, so that no part of one counts.
    let (began, first) = next_period(spinner.pid);
    let mut end = (began, first);
    for _ in 0..10 {
        end = next_period(spinner.pid);
    }
    let share = 100.0 * (end.1 - first) / (end.0 - began).as_secs_f64();
    println!("{share:.2} % of a CPU in ten periods");
    is_about(share, 40.0, 1.0);
}

#[test]
fn niceness_above_nought_lands_under_ni() {
    let Some(_alone) = alone() else { return };
    let cpu = cpu();
    for (nice, is_nice) in [("-20", false), ("-1", false), ("0", false), ("1", true), ("19", true)]
    {
        let _spinner = Spinner::start(&["--nice", nice, "--cpus", &cpu]);
        let window = window("2");
        let cpus = window["cpus"].as_array().expect("CPUs");
        let of = cpus
            .iter()
            .find(|of| of["cpu"] == cpu.parse::<u64>().expect("a number"))
            .expect("the CPU");
        let ticks = |kind: &str| of["ticks"][kind].as_f64().expect("ticks");
        let (user, ni) = (ticks("user"), ticks("nice"));
        println!("niceness {nice}: us {user}, ni {ni}");
        let (more, less) = if is_nice { (ni, user) } else { (user, ni) };
        assert!(more > 100.0 && less < 0.1 * more, "niceness {nice}: us {user}, ni {ni}");
    }
}
