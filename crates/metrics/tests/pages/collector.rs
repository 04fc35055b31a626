//! Reports to a real OpenTelemetry collector, which writes what it took into a file
//! (`make test-collector` builds it from its Go modules).

use crate::made::{ran, Cgroups, Made};
use exactop_metrics::otlp::{request, Host, Sender};
use exactop_metrics::{CgroupNames, Settings};
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// So many reports are enough.
const REPORTS: usize = 5;

/// Ends with its owner.
struct Collector(Child);

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn collector(program: &str, directory: &Path, port: u16) -> Collector {
    let settings = format!(
        "receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}\n\
         exporters: {{file: {{path: '{}'}}}}\n\
         service: {{pipelines: {{metrics: {{receivers: [otlp], exporters: [file]}}}}}}\n",
        directory.join("out.json").display()
    );
    let file = directory.join("collector.yml");
    std::fs::write(&file, settings).expect("it can be written");
    let child = Command::new(program)
        .arg(format!("--config=file:{}", file.display()))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(directory.join("log")).expect("it can be written"))
        .spawn();
    Collector(child.expect("EXACTOP_TEST_COLLECTOR is a program"))
}

/// The sum of a metric's whole numbers, of the points with one of these words in an attribute; of all
/// without any.
fn sum(report: &Value, name: &str, words: &[&str]) -> u64 {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of = |point: &Value| {
        let told = |a: &Value| words.contains(&a["value"]["stringValue"].as_str().expect("text"));
        words.is_empty() || list(&point["attributes"]).iter().any(told)
    };
    let resources = list(&report["resourceMetrics"]);
    let scopes = resources.iter().flat_map(|r| list(&r["scopeMetrics"]));
    let metrics = scopes.flat_map(|s| list(&s["metrics"])).filter(|m| m["name"] == name);
    let points = metrics.flat_map(|m| {
        assert!(m["sum"]["isMonotonic"] == true && m["sum"]["aggregationTemporality"] == 2, "{m}");
        list(&m["sum"]["dataPoints"])
    });
    let value = |point: Value| point["asInt"].as_str().expect("whole").parse::<u64>().expect("ns");
    points.filter(of).map(value).sum()
}

#[test]
fn a_real_collector_has_the_same_sums() {
    let Ok(program) = std::env::var("EXACTOP_TEST_COLLECTOR") else {
        eprintln!("not run: no collector: 'make test-collector' builds it and runs this test");
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let _collector = collector(&program, directory.path(), port);
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
        // More than a double holds to the nanosecond, after a few.
        made.window(&[ran("a", 1_234_567_891), ran("b", 987_654_321)]);
        made.metrics.look();
        told.lock().expect("nobody panicked").push(made.named_ns());
        Some(request(&made.metrics, &Host::default()))
    };
    let url = format!("http://127.0.0.1:{port}");
    let sender =
        Sender::start(&url, Duration::from_millis(200), Box::new(report)).expect("a sender");
    let begin = Instant::now();
    // Whole lines only.
    let lines = || {
        let text = std::fs::read_to_string(directory.path().join("out.json"));
        let text = text.unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    while lines().len() < REPORTS {
        if begin.elapsed() > Duration::from_secs(120) {
            let log = std::fs::read_to_string(directory.path().join("log"));
            panic!("nothing came: {:?}: {log:?}", sender.status().error);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let wanted = wanted.lock().expect("nobody panicked").clone();
    let mut taken = Vec::new();
    for report in lines() {
        let groups = sum(&report, "exactop.group.cpu.time", &[]);
        assert_eq!(groups, sum(&report, "exactop.cpu.time", &["tasks", "exited"]));
        assert!(wanted.contains(&groups), "{groups} was never told");
        taken.push(groups);
    }
    assert!(taken.is_sorted(), "{taken:?}");
}
