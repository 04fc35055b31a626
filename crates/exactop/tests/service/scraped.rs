//! A real Prometheus scrapes the daemon in a storm of births, and its query language checks the
//! sums. With EXACTOP_TEST_EXPORTERS (`make test-prometheus`) node_exporter and process-exporter
//! run beside it.

use crate::daemon::Daemon;
use crate::helpers::processes::Load;
use crate::helpers::run::without_ledger;
use crate::metrics::{page, port};
use exactop_testkit::{wait, Prometheus};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Default number of groups with series of their own, with the two that always exist.
const SERIES: f64 = 102.0;

/// Length of the test, s.
fn seconds() -> u64 {
    let seconds = std::env::var("EXACTOP_TEST_SECONDS").ok();
    seconds.map_or(15, |text| text.parse().expect("EXACTOP_TEST_SECONDS: a number"))
}

/// Another project's exporter on a port of its own; `None`: not installed.
fn exporter(name: &str, options: &[&str]) -> Option<(Load, String)> {
    let path = PathBuf::from(std::env::var_os("EXACTOP_TEST_EXPORTERS")?).join(name);
    let address = format!("127.0.0.1:{}", port());
    let mut command = Command::new(path);
    command.arg(format!("--web.listen-address={address}")).args(options).stderr(Stdio::null());
    Some((Load::start(&mut command), address))
}

/// A shell whose children start and exit, each under another name.
fn storm_of_names(directory: &std::path::Path) -> Load {
    let at = directory.display();
    Load::shell(&format!(
        "i=0; while :; do i=$((i+1)); ln -s /bin/true {at}/n$i && {at}/n$i; rm -f {at}/n$i; done"
    ))
}

#[test]
fn scrapes_in_a_storm_add_up_in_prometheus() {
    if without_ledger() {
        return;
    }
    let port = port();
    let daemon = Daemon::start(&["--metrics", &format!("127.0.0.1:{port}")]);
    let names = tempfile::tempdir().expect("a directory");
    let _storms = [Load::forks(), storm_of_names(names.path())];
    let node = exporter("prometheus-node-exporter", &[]);
    let process = exporter("prometheus-process-exporter", &["--procnames=sh,true,bash,exactop"]);
    let target = format!("127.0.0.1:{port}");
    let mut jobs = vec![("exactop", target.as_str())];
    jobs.extend(node.iter().map(|(_, address)| ("node", address.as_str())));
    jobs.extend(process.iter().map(|(_, address)| ("process", address.as_str())));
    let Some(prometheus) = Prometheus::start(daemon.path(), &jobs) else { return };
    page(port);
    let memory = || resident_kib(daemon.load.pid());
    // The planned length of the storm.
    std::thread::sleep(Duration::from_secs(seconds() / 3));
    let early = memory();
    std::thread::sleep(Duration::from_secs(seconds() - seconds() / 3));
    let late = memory();
    println!("resident memory after a third {early} KiB, at the end {late} KiB");
    // Tables of names first grow to their size, which a storm of a minute does not reach.
    let more = if seconds() > 120 { early / 2 } else { 64 << 10 };
    assert!(late < early + more, "{early} KiB, then {late}");
    let scrapes = || prometheus.ask("count_over_time(exactop_boundary_seconds[1h])");
    wait::until("two scrapes", || scrapes() >= Some(2.0));
    // After a failed scrape the series is gone until the next one.
    let (then, now) = wait::find("samples", || prometheus.span("exactop_boundary_seconds"));
    sums_come_out(&prometheus, then, now);
    if node.is_some() {
        beside_the_others(&prometheus, now);
    }
}

/// Resident memory of a process (VmRSS of proc_pid_status(5)).
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Number of names in all; EXACTOP_TEST_NAMES overrides it.
fn names() -> u64 {
    let names = std::env::var("EXACTOP_TEST_NAMES").ok();
    names.map_or(10_000, |text| text.parse().expect("EXACTOP_TEST_NAMES: a number"))
}

/// Number of parts, after each of which memory is read.
const PARTS: u64 = 4;

/// Runs processes one after the other, each under a name of its own when it exits.
fn named_once(from: u64, to: u64) -> Load {
    Load::shell(&format!(
        "i={from}; while [ $i -lt {to} ]; do i=$((i+1)); (echo n$i >/proc/self/comm); done"
    ))
}

#[test]
fn a_crowd_of_names_makes_no_more_series_than_there_are_places() {
    if without_ledger() {
        return;
    }
    let port = port();
    let daemon = Daemon::start(&["--metrics", &format!("127.0.0.1:{port}")]);
    let of = |page: &BTreeMap<String, i128>, family: &str| -> Vec<i128> {
        let its = page.iter().filter(|(name, _)| name.starts_with(family));
        its.map(|(_, value)| *value).collect()
    };
    let exited = |page: &BTreeMap<String, i128>| -> i128 {
        of(page, "exactop_group_exited_processes_total").into_iter().sum()
    };
    let begun = exited(&page(port));
    let (mut groups, mut series, mut held, mut named) = (0, 0, Vec::new(), false);
    for part in 0..PARTS {
        let mut storm = named_once(part * names() / PARTS, (part + 1) * names() / PARTS);
        while storm.0.try_wait().expect("a child").is_none() {
            let page = page(port);
            groups = groups.max(of(&page, "exactop_group_cpu_seconds_total").len());
            series = series.max(page.len());
            named |= page.keys().any(|labels| has_name(labels));
            // With pauses between pages: each page is a window, and the storm needs the CPUs.
            std::thread::sleep(Duration::from_millis(200));
        }
        held.push(resident_kib(daemon.load.pid()));
    }
    let came = exited(&page(port)) - begun;
    println!("{came} exited; {groups} groups, {series} series at most; memory, KiB: {held:?}");
    // A window's names are kept as long as the window, so memory depends on the names of one
    // window. A test of pages checks that no name stays.
    assert!(came >= i128::from(names()), "{came}");
    assert!(named, "by the names that they gave themselves");
    assert!(groups as f64 <= SERIES, "{groups} groups");
    // Each figure of a group is a series, and nothing else has a name in it.
    assert!(series <= 20 * SERIES as usize, "{series} series");
}

/// True for a name of [`named_once`].
fn has_name(labels: &str) -> bool {
    let name = labels.split("command=\"n").nth(1);
    name.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

fn sums_come_out(prometheus: &Prometheus, then: f64, now: f64) {
    let at = |expression: &str, time: f64| prometheus.at(expression, time);
    let grew = |expression: &str| at(expression, now) - at(expression, then);
    let same = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
    let named = "sum(exactop_cpu_seconds_total{account=~\"tasks|exited\"} @)";
    let groups = "sum(exactop_group_cpu_seconds_total @)";
    let all = "(sum(exactop_cpu_seconds_total @) + sum(exactop_residual_seconds @))";
    for time in [then, now] {
        same(at(groups, time), at(named, time));
        assert!(at("count(exactop_group_cpu_seconds_total @)", time) <= SERIES);
    }
    let scrapes = prometheus.ask("count_over_time(exactop_boundary_seconds[1h])").expect("some");
    let boundary = grew("max(exactop_boundary_seconds @)");
    println!("{scrapes} scrapes, {boundary:.3} s, {:.3} s of CPU time named", grew(named));
    same(grew(all), at("max(exactop_cpus @)", now) * boundary);
    same(grew(groups), grew(named));
    assert!(grew("sum(exactop_cpu_seconds_total{account=\"exited\"} @)") > 0.0);
    let exited = grew("sum(exactop_group_exited_processes_total @)");
    println!(
        "{exited} processes exited, {} windows inexact",
        grew("exactop_inexact_windows_total @")
    );
    assert!(exited > 0.0);
}

/// CPUs x time by node_exporter, and the part of the CPU time that process-exporter's groups have.
fn beside_the_others(prometheus: &Prometheus, now: f64) {
    let (first, last) = prometheus.span("node_boot_time_seconds").expect("samples");
    let grew =
        |expression: &str| prometheus.at(expression, last) - prometheus.at(expression, first);
    let cpus = prometheus.at("max(exactop_cpus @)", now);
    let part = grew("sum(node_cpu_seconds_total @)") / (cpus * (last - first));
    println!("node_exporter's modes are {:.3} % of CPUs x time", 100.0 * part);
    let idle = grew("sum(node_cpu_seconds_total{mode=~\"idle|iowait\"} @)");
    let busy_s = cpus * (last - first) - idle;
    let theirs = grew("sum(namedprocess_namegroup_cpu_seconds_total @)");
    println!(
        "process-exporter names {theirs:.2} s of {busy_s:.2} s that the CPUs were busy: {:.1} %",
        100.0 * theirs / busy_s
    );
    // The kernel charges a tick to the task that runs at it, and idle CPUs have their own clock.
    assert!((part - 1.0).abs() < 0.001 + 0.1 / (last - first), "{part}");
    assert!(theirs < busy_s);
}
