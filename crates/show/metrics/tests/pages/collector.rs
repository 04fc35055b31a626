//! Reports to a real OpenTelemetry collector.

use crate::made::{ran, Cgroups, Made};
use crate::running::{sum, Collector};
use exactop_metrics::otlp::{request, Host, Sender};
use exactop_metrics::Settings;
use exactop_model::owner::CgroupNames;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Number of reports that the test needs.
const REPORTS: usize = 5;

#[test]
fn a_real_collector_has_the_same_sums() {
    let Some(collector) = Collector::start() else { return };
    let pod = CgroupNames {
        pod: Some("p".into()),
        container: Some("c".into()),
        ..CgroupNames::default()
    };
    let made = Mutex::new(Made::new(Settings::default(), Cgroups([(1, pod)].into())));
    let wanted = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&wanted);
    let report = move || {
        let mut made = made.lock().expect("nobody panicked");
        // After a few windows, a double no longer holds these sums to the nanosecond.
        made.window(&[ran("a", 1_234_567_891), ran("b", 987_654_321)]);
        made.metrics.look();
        told.lock().expect("nobody panicked").push(i128::from(made.named_ns()));
        Some(request(&made.metrics, &Host::default()))
    };
    let sender = Sender::start(&collector.url(), Duration::from_millis(200), Box::new(report))
        .expect("a sender");
    collector.wait("enough reports", || collector.reports().len() >= REPORTS);
    drop(sender);
    let wanted = wanted.lock().expect("nobody panicked").clone();
    let mut taken = Vec::new();
    for report in collector.reports() {
        let groups = sum(&report, "exactop.group.cpu.time", &[]);
        assert_eq!(groups, sum(&report, "exactop.cpu.time", &["tasks", "exited"]));
        assert!(wanted.contains(&groups), "{groups} was never told");
        taken.push(groups);
    }
    assert!(taken.is_sorted(), "{taken:?}");
}
