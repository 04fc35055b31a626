//! A real OpenTelemetry collector gets a daemon's figures, which match the daemon's own log. `make
//! test-collector` builds the collector; without one this test says so.

use crate::collector::{points, sum, whole, Collector};
use crate::daemon::{parsed, Daemon};
use crate::helpers::processes::{Load, TERM};
use crate::helpers::run::{run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;

/// Reports while it runs, besides the last one.
const REPORTS: usize = 4;

/// Accounts of the balance, as the log names them and as they are exported. A task may live at the
/// end of a short window and not at the end of a long one, so tasks and exited are compared as a
/// sum.
const ACCOUNTS: [(&[&str], &[&str]); 6] = [
    (&["tasks_ns", "exited_ns"], &["tasks", "exited"]),
    (&["unnamed_ns"], &["unnamed"]),
    (&["irq_ns"], &["irq"]),
    (&["steal_ns"], &["steal"]),
    (&["idle_ns"], &["idle"]),
    (&["offline_ns"], &["offline"]),
];

/// Sum of an account in these windows of the log.
fn logged(windows: &[Value], names: &[&str]) -> i128 {
    let value = |window: &Value, name: &str| window["books"][name].as_u64().map_or(0, i128::from);
    let cells = windows.iter().flat_map(|window| names.iter().map(move |name| (window, *name)));
    cells.map(|(window, name)| value(window, name)).sum()
}

fn at(window: &Value, name: &str) -> i128 {
    window["window"][name].as_u64().expect("a time").into()
}

/// The instant of all figures of a report.
fn boundary(report: &Value) -> i128 {
    sum(report, "exactop.boundary", &[])
}

/// Checks a report against the log of the same time.
fn fits(report: &Value, windows: &[Value]) {
    let groups = sum(report, "exactop.group.cpu.time", &[]);
    assert_eq!(groups, sum(report, "exactop.cpu.time", &["tasks", "exited"]));
    assert_eq!(sum(report, "exactop.residual", &[]), 0);
    let passed = boundary(report) - at(&windows[0], "t0_ns");
    let all = sum(report, "exactop.cpu.time", &[]);
    assert_eq!(all, sum(report, "exactop.cpus", &[]) * passed, "CPUs x time");
    // The report may end within a window of the log, so it lies between the sums without and with
    // that window.
    let before = windows.iter().filter(|window| at(window, "t1_ns") <= boundary(report)).count();
    let with = 1 + windows.iter().filter(|window| at(window, "t1_ns") < boundary(report)).count();
    let with = with.min(windows.len());
    for (names, words) in ACCOUNTS {
        let (least, most) = (logged(&windows[..before], names), logged(&windows[..with], names));
        let told = sum(report, "exactop.cpu.time", words);
        assert!((least..=most).contains(&told), "{words:?}: {least} <= {told} <= {most}");
    }
}

#[test]
fn a_real_collector_has_the_sums_of_the_daemons_log() {
    let Some(collector) = Collector::start() else { return };
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, "[record]\ninterval = \"1s\"\n[otlp]\ninterval = \"1s\"\n")
        .expect("settings");
    let config = config.to_str().expect("UTF-8").to_string();
    let url = collector.url();
    let mut daemon = Daemon::start_in(dir, &["--config", &config, "--otlp", &url], None);
    // Short-lived processes, and one that works to its end.
    let work = "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done; : >ended; \
                while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let mut load =
        Load::shell(&work.replace("ended", &daemon.path().join("ended").to_string_lossy()));
    wait::until("the load ends", || load.0.try_wait().expect("a child").is_some());
    let before = collector.reports().len();
    collector.wait("reports", || collector.reports().len() >= before + REPORTS);
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let replayed = run(&["replay", daemon.log().to_str().expect("UTF-8"), "--json"]).fine();
    let windows = parsed(&replayed);
    let (begin, end) = (at(&windows[0], "t0_ns"), at(&windows[windows.len() - 1], "t1_ns"));
    assert!(windows.windows(2).all(|pair| at(&pair[0], "t1_ns") == at(&pair[1], "t0_ns")), "a gap");
    collector.wait("the last report", || {
        collector.reports().last().is_some_and(|report| boundary(report) == end)
    });
    let reports = collector.reports();
    reports.iter().for_each(|report| fits(report, &windows));
    // The last report covers the whole log, to the nanosecond.
    let last = &reports[reports.len() - 1];
    for (names, words) in ACCOUNTS {
        let told = sum(last, "exactop.cpu.time", words);
        assert_eq!(told, logged(&windows, names), "{words:?}");
    }
    assert!(logged(&windows, &["exited_ns"]) > 0, "the load is in the log");
    for point in points(last, "exactop.cpu.time") {
        let since = whole(&point["timeUnixNano"]) - whole(&point["startTimeUnixNano"]);
        assert_eq!(since, end - begin, "each has its beginning: {point}");
    }
}
