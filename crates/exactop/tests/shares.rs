//! Shares of a CPU by niceness, weight and quota, measured by the ledger while two tasks want one
//! CPU. Runs where control groups of either version can be made, and in emulated machines with the
//! program that EXACTOP_PROGRAM names.
#![cfg(feature = "bpf")]

#[path = "helpers/mod.rs"]
mod helpers;

use helpers::processes::first_line;
use helpers::quiet::{busy_s, measured};
use helpers::run::{command, program, run, without_ledger};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The contested CPU: the last allowed one, because the first serves interrupts.
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
            .args(["--", &program, "load", "spin", "--duration", "600"])
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
        // It may have ended, and so may this test, by a panic.
        let pid = rustix::process::Pid::from_raw(self.pid as i32).expect("a process");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
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
    // An idle process has a row with 0; one without a row is gone.
    let ran = row.and_then(|row| row["run_ns"].as_f64());
    ran.unwrap_or_else(|| panic!("no time of {}", spinner.pid))
}

fn length_ns(window: &Value) -> f64 {
    let ends = window["window"]["t1_ns"].as_f64().zip(window["window"]["t0_ns"].as_f64());
    ends.map(|(t1, t0)| t1 - t0).expect("a length")
}

/// CPU time of all others, per cent of a CPU.
fn others_pct(window: &Value, spinners: &[&Spinner]) -> f64 {
    let is_other = |task: &&Value| spinners.iter().all(|spinner| task["pid"] != spinner.pid);
    let rows = ["tasks", "exited"].map(|kind| window[kind].as_array().expect("rows"));
    let others = rows.into_iter().flatten().filter(is_other);
    let ran_ns: f64 = others.filter_map(|task| task["run_ns"].as_f64()).sum();
    100.0 * ran_ns / length_ns(window)
}

/// A share, and the CPU time of others meanwhile, both in per cent.
type SharePct = (f64, f64);

/// The first command's share of both, per cent; the second one is started first.
fn share(first: &[&str], second: &[&str], seconds: &str) -> SharePct {
    let cpu = cpu();
    let second = Spinner::start(&[second, &["--cpus", &cpu]].concat());
    let first = Spinner::start(&[first, &["--cpus", &cpu]].concat());
    let window = window(seconds);
    let (one, other) = (run_ns(&window, &first), run_ns(&window, &second));
    let share = 100.0 * one / (one + other);
    let used = 100.0 * (one + other) / length_ns(&window);
    let others = others_pct(&window, &[&first, &second]);
    println!("{share:.2} % of {used:.1} % of CPU {cpu}; others had {others:.1} % of one");
    measured(others, || assert!(used > 50.0, "they had {used:.1} % of the CPU"));
    (share, others)
}

fn is_about((share, others): SharePct, expected: f64, within: f64) {
    measured(others, || {
        assert!((share - expected).abs() <= within, "{share:.2} %, not {expected} +- {within}");
    });
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

/// Waits for the next time that a throttled task may run again: the time, and the CPU time by then.
/// `None`: it is not throttled, because others leave it less than its quota. The wait has its own
/// limit, since this is a result and not a delay of the machine.
fn next_period(pid: u32) -> Option<(Instant, f64)> {
    let patience = Instant::now() + Duration::from_secs(20);
    let (mut before, mut since) = (ran(pid), Instant::now());
    loop {
        std::thread::sleep(Duration::from_millis(2));
        let now = ran(pid);
        if now > before {
            if since.elapsed() > Duration::from_millis(300) {
                return Some((Instant::now(), before));
            }
            (before, since) = (now, Instant::now());
        }
        if Instant::now() > patience {
            return None;
        }
    }
}

/// Each measures a share of a CPU, which other load would change.
mod alone {
    use super::*;

    #[test]
    fn a_level_of_niceness_is_worth_a_quarter() {
        if without_ledger() {
            return;
        }
        // Weights 1024 : 820 and 1277 : 1024 (sched_prio_to_weight of kernel/sched/core.c).
        is_about(share(&["--nice", "0"], &["--nice", "1"], "2"), 55.53, 1.0);
        is_about(share(&["--nice", "-1"], &["--nice", "0"], "2"), 55.50, 1.0);
    }

    #[test]
    fn the_ends_of_niceness_are_all_and_nothing() {
        if without_ledger() {
            return;
        }
        // The shortest turn of the other one, a tick or two, is a thousandth of these seconds.
        let (share, others) = share(&["--nice", "-20"], &["--nice", "19"], "12");
        measured(others, || assert!(share >= 99.9, "{share:.3} %"));
    }

    #[test]
    fn a_weight_of_500_beside_100_is_five_sixths() {
        if without_ledger() {
            return;
        }
        is_about(share(&["--weight", "500"], &["--weight", "100"], "3"), 83.33, 1.0);
    }

    #[test]
    fn a_quota_of_four_tenths_is_four_tenths() {
        if without_ledger() {
            return;
        }
        let spinner = Spinner::start(&["--max", "40%"]);
        let window = window("3");
        let share = 100.0 * run_ns(&window, &spinner) / length_ns(&window);
        let others = others_pct(&window, &[&spinner]);
        println!("{share:.2} % of a CPU; others had {others:.1} %");
        // Emulated CPUs stop at times while a slice of the quota is left unused.
        let emulated = std::env::var_os("EXACTOP_TEST_EMULATED").is_some();
        is_about((share, others), 40.0, if emulated { 2.5 } else { 1.0 });
    }

    #[test]
    fn a_period_of_a_second_gives_its_quota_each_time() {
        if without_ledger() {
            return;
        }
        let spinner = Spinner::start(&["--max", "400000/1000000"]);
        let (start, busy, had) = (Instant::now(), busy_s(), ran(spinner.pid));
        // From the start of one period to the start of another, so that only whole periods count.
        let starts: Option<Vec<_>> = (0..=5).map(|_| next_period(spinner.pid)).collect();
        let others_s = busy_s() - busy - (ran(spinner.pid) - had);
        let others = 100.0 * others_s / start.elapsed().as_secs_f64();
        measured(others, || assert!(starts.is_some(), "it is not throttled each time"));
        let Some([(began, first), .., (ended, last)]) = starts.as_deref() else { return };
        let share = 100.0 * (last - first) / (*ended - *began).as_secs_f64();
        println!("{share:.2} % of a CPU in five periods; others had {others:.1} %");
        is_about((share, others), 40.0, 1.0);
    }

    #[test]
    fn niceness_above_nought_lands_under_ni() {
        if without_ledger() {
            return;
        }
        let cpu = cpu();
        for (nice, is_nice) in
            [("-20", false), ("-1", false), ("0", false), ("1", true), ("19", true)]
        {
            let spinner = Spinner::start(&["--nice", nice, "--cpus", &cpu]);
            let window = window("1");
            let cpus = window["cpus"].as_array().expect("CPUs");
            let of = cpus
                .iter()
                .find(|of| of["cpu"] == cpu.parse::<u64>().expect("a number"))
                .expect("the CPU");
            let ticks = |kind: &str| of["ticks"][kind].as_f64().expect("ticks");
            let (user, ni) = (ticks("user"), ticks("nice"));
            let said = format!("niceness {nice}: us {user}, ni {ni}");
            println!("{said}");
            let (more, less) = if is_nice { (ni, user) } else { (user, ni) };
            measured(others_pct(&window, &[&spinner]), || {
                assert!(more > 50.0 && less < 0.1 * more, "{said}");
            });
        }
    }
}
