//! A real Prometheus (Debian's package prometheus) scrapes a storm of names, and its query language
//! checks the sums. Each scrape is a window.

use crate::made::{ran, Cgroups, Did, Made};
use exactop_metrics::http::{Front, Server};
use exactop_metrics::Settings;
use exactop_model::owner::Grouping;
use exactop_testkit::{wait, Prometheus};
use std::sync::Mutex;

/// Groups with a series of their own.
const GROUPS: usize = 20;

/// Number of scrapes that the test needs.
const SCRAPES: f64 = 8.0;

/// Some names that stay, and many that come once.
fn storm(window: usize) -> Vec<Did> {
    let steady = (0..10).map(|n| ran(&format!("steady{n}"), 100_000_001 + n));
    let once = (0..500).map(|n| ran(&format!("once{}", window * 500 + n), 1_000_003));
    steady.chain(once).collect()
}

#[test]
fn a_real_prometheus_adds_up() {
    let settings = Settings { by: vec![Grouping::Command], groups: GROUPS, ..Settings::default() };
    let made = Mutex::new((Made::new(settings, Cgroups::default()), 0));
    let server = Server::start(
        "127.0.0.1:0".parse().expect("an address"),
        Front::default(),
        move |format| {
            let mut made = made.lock().expect("nobody panicked");
            let did = storm(made.1);
            made.0.window(&did);
            made.1 += 1;
            Some(made.0.scrape(format).into_bytes().into())
        },
    );
    let server = server.expect("a server");
    let directory = tempfile::tempdir().expect("a directory");
    let target = server.address().to_string();
    let Some(prometheus) = Prometheus::start(directory.path(), &[("exactop", &target)]) else {
        return;
    };
    let scrapes = || prometheus.ask("count_over_time(exactop_boundary_seconds[1h])");
    wait::until("eight scrapes", || scrapes() >= Some(SCRAPES));
    // Two scrapes: an instant with samples, and one some scrapes earlier.
    let (then, now) = wait::find("samples", || prometheus.span("exactop_boundary_seconds"));
    assert!(then < now, "{then} {now}");
    let at = |expression: &str, time: f64| prometheus.at(expression, time);
    let named = "sum(exactop_cpu_seconds_total{account=~\"tasks|exited\"} @)";
    let groups = "sum(exactop_group_cpu_seconds_total @)";
    let all = "sum(exactop_cpu_seconds_total @)";
    let boundary = "max(exactop_boundary_seconds @)";
    let same = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
    for time in [then, now] {
        assert!(at(named, time) > 0.0);
        same(at(groups, time), at(named, time));
        assert!(at("count(exactop_group_cpu_seconds_total @)", time) <= GROUPS as f64 + 2.0);
    }
    let grew = |expression: &str| at(expression, now) - at(expression, then);
    assert!(grew(boundary) >= 1.0);
    same(grew(all), 4.0 * grew(boundary));
    same(grew(groups), grew(named));
    // No group with a place lost a nanosecond at its start: all of them began within a window.
    let steady = "sum(exactop_group_cpu_seconds_total{command=~\"steady.*\"} @)";
    assert!(at(steady, now) > 0.0);
}
