//! A real OpenTelemetry collector, which writes received reports into a file (`make test-collector`
//! builds it from its Go modules), for every test that sends reports.

use exactop_testkit::wait;
use serde_json::Value;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A collector that ends when it is dropped.
pub struct Collector {
    child: Child,
    dir: TempDir,
    port: u16,
}

impl Collector {
    /// Starts a collector; `None`: it is not installed, and the test prints how to build it.
    pub fn start() -> Option<Collector> {
        let Ok(program) = std::env::var("EXACTOP_TEST_COLLECTOR") else {
            eprintln!("not run: no collector: 'make test-collector' builds it and runs this test");
            return None;
        };
        let dir = tempfile::tempdir().expect("a directory");
        let port = exactop_testkit::port();
        let settings = format!(
            "receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{port}'}}}}}}}}\n\
             exporters: {{file: {{path: '{}'}}}}\n\
             service: {{pipelines: {{metrics: {{receivers: [otlp], exporters: [file]}}}}}}\n",
            dir.path().join("out.json").display()
        );
        let file = dir.path().join("collector.yml");
        std::fs::write(&file, settings).expect("it can be written");
        let child = Command::new(program)
            .arg(format!("--config=file:{}", file.display()))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.path().join("log")).expect("it can be written"))
            .spawn();
        let child = child.expect("EXACTOP_TEST_COLLECTOR is a program");
        let collector = Collector { child, dir, port };
        collector.wait("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(collector)
    }

    /// URL for reports.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The reports so far, in whole lines.
    pub fn reports(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join("out.json")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Waits until a condition holds. If it never does, prints the collector's log.
    #[track_caller]
    pub fn wait(&self, what: &str, so: impl Fn() -> bool) {
        let said = || format!("it says {:?}", std::fs::read_to_string(self.dir.path().join("log")));
        wait::find_or_say(what, || so().then_some(()), said);
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The points of a metric in a report; sums must be cumulative.
pub fn points<'a>(report: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let scopes =
        list(&report["resourceMetrics"]).flat_map(|resource| list(&resource["scopeMetrics"]));
    let metrics = scopes.flat_map(|scope| list(&scope["metrics"]));
    metrics.filter(move |metric| metric["name"] == name).flat_map(|metric| {
        let sum = &metric["sum"];
        let is_cumulative = sum["isMonotonic"] == true && sum["aggregationTemporality"] == 2;
        assert!(sum.is_null() || is_cumulative, "{metric}");
        list(if sum.is_null() { &metric["gauge"]["dataPoints"] } else { &sum["dataPoints"] })
    })
}

/// The sum of a metric's whole numbers over the points with one of these words in an attribute;
/// without words, over all points.
pub fn sum(report: &Value, name: &str, words: &[&str]) -> i128 {
    let told = |point: &Value| {
        let mut said = list(&point["attributes"]).map(|a| a["value"]["stringValue"].as_str());
        said.any(|said| words.contains(&said.expect("text")))
    };
    let value = |point: &Value| whole(&point["asInt"]);
    points(report, name).filter(|point| words.is_empty() || told(point)).map(value).sum()
}

/// A whole number; the protocol writes 64-bit numbers as JSON strings.
pub fn whole(number: &Value) -> i128 {
    number.as_str().expect("whole").parse().expect("a number")
}
