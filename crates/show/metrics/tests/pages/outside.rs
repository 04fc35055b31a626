//! Checks of the page by other programs: promtool (Debian's package prometheus), and the strict
//! parser of OpenMetrics in Python's prometheus_client (Debian's package python3-prometheus-client).

use crate::blamed::book;
use crate::made::{ran, Cgroups, Did, Made};
use crate::sized::{waited, WAITS};
use exactop_metrics::{DaemonInfo, Exporting, Format, Process, Settings};
use exactop_model::blame::Culprit;
use exactop_model::owner::CgroupNames;
use exactop_model::Degraded;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Names with special characters, and figures that exceed a double.
fn made() -> Made {
    let hostile = CgroupNames {
        namespace: Some("a\"b\\c\nd".into()),
        pod: Some("\u{202e}pod".into()),
        container: Some("~other".into()),
        unit: Some(String::new()),
    };
    let settings = Settings { buckets: true, ..Settings::default() };
    let mut made = Made::new(settings, Cgroups([(1, hostile)].into()));
    for _ in 0..3 {
        let odd = Did { comm: b"\xff\"\n} 1".to_vec(), cgroup: Some(1), run_ns: 3, lat_ns: 9 };
        made.window(&[ran("sh", 999_999_999), odd, Did { cgroup: None, ..ran("~left", 1) }]);
        made.metrics.look();
    }
    let mut blame = waited(&WAITS);
    blame.add(&book(&[(1, Culprit::Idle, 9)]));
    made.told_otherwise(&[], |now| now.blame = Some(blame.clone()));
    made.metrics.set_own(DaemonInfo {
        version: "0.1",
        commit: Some("0123abc"),
        host: "a\"b\\\n\u{1b}".into(),
        boot_id: "01234567-89ab".into(),
        process: || Process {
            begun_ns: Some(1),
            cpu_ns: 1_500_000_001,
            resident_bytes: Some(4096),
            open_files: Some(7),
        },
    });
    made.metrics.set_degraded(Some(Degraded { history: true, ..Degraded::default() }));
    made.metrics.set_exporting(Some(Exporting { behind_ns: Some(1), ..Exporting::default() }));
    made
}

/// Runs a program with this input; `None`: it is not installed, and `how` says how to get it.
fn run(program: &str, arguments: &[&str], input: &[u8], how: &str) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("not run: no {program}: {how}");
        return None;
    };
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    Some(child.wait_with_output().expect("it ends"))
}

fn words(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{error}")
}

const PROMTOOL: &str = "'scripts/deps.sh' installs it (Debian's prometheus)";

#[test]
fn promtool_takes_the_page() {
    let page = made().scrape(Format::Prometheus);
    let Some(output) = run("promtool", &["check", "metrics"], page.as_bytes(), PROMTOOL) else {
        return;
    };
    assert!(output.status.success(), "{}\n{page}", words(&output));
    let wrong = page.replace("# TYPE exactop_cpus gauge", "# TYPE exactop_cpus nothing");
    let output = run("promtool", &["check", "metrics"], wrong.as_bytes(), PROMTOOL);
    assert!(!output.expect("it is there").status.success(), "it would say so");
}

/// The one that Debian's packages of modules are for.
const PYTHON: &str = "/usr/bin/python3";

/// Reads a page from standard input strictly, and prints the sums of families in ns.
const STRICT: &str = "
import sys
from decimal import Decimal
from prometheus_client.openmetrics.parser import text_fd_to_metric_families as parse
text = sys.stdin.buffer.read().decode()
import io
sums = {}
for family in parse(io.StringIO(text)):
    assert family.type in ('counter', 'gauge', 'histogram'), family
    assert family.documentation
    for sample in family.samples:
        sums[sample.name] = sums.get(sample.name, 0) + sample.value
        assert all(c.isprintable() for v in sample.labels.values() for c in v), sample
for name in ('exactop_cpu_seconds_total', 'exactop_group_cpu_seconds_total', 'exactop_cpus'):
    print(name, round(Decimal(sums[name]), 9))
";

#[test]
fn the_strict_parser_takes_openmetrics() {
    let there = Command::new(PYTHON).args(["-c", "import prometheus_client"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        let how = "'scripts/deps.sh' installs it (Debian's python3-prometheus-client)";
        eprintln!("not run: {PYTHON} has no module prometheus_client: {how}");
        return;
    }
    let mut made = made();
    let page = made.scrape(Format::OpenMetrics);
    let read = |page: &str| run(PYTHON, &["-c", STRICT], page.as_bytes(), "").expect("it is there");
    let output = read(&page);
    assert!(output.status.success(), "{}\n{page}", words(&output));
    let sums = words(&output);
    // Four windows of a second on four CPUs.
    assert!(sums.contains("exactop_cpu_seconds_total 16.0"), "{sums}");
    assert!(sums.contains("exactop_group_cpu_seconds_total 3.000000009"), "{sums}");
    for (right, wrong) in [
        ("# EOF\n", ""),
        ("_total{", "{"),
        ("# UNIT exactop_cpu_seconds seconds", "# UNIT exactop_cpu_seconds s"),
        ("account=\"idle\"", "account=\"tasks\""),
    ] {
        assert!(!read(&page.replace(right, wrong)).status.success(), "{wrong}: it would say so");
    }
}

#[test]
fn the_rules_are_right() {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/prometheus");
    for (word, file) in [
        ("check", "rules.yml"),
        ("check", "alerts.yml"),
        ("test", "tests.yml"),
        ("check", "../../crates/fleet/prometheus/rules.yml"),
    ] {
        let file = format!("{rules}/{file}");
        let Some(output) = run("promtool", &[word, "rules", &file], b"", PROMTOOL) else { return };
        assert!(output.status.success(), "{}", words(&output));
    }
}

/// An alert rule on a family that does not exist would never fire.
#[test]
fn the_rules_name_existing_families() {
    let page = made().scrape(Format::Prometheus);
    let told: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
    let told: Vec<&str> = told.iter().filter_map(|line| line.split(' ').next()).collect();
    let files = [
        include_str!("../../../../../deploy/prometheus/rules.yml"),
        include_str!("../../../../../deploy/prometheus/alerts.yml"),
        include_str!("../../../../fleet/prometheus/rules.yml"),
        include_str!("../../../../fleet/dashboards/prometheus.json"),
        include_str!("../../../../../docs/reference/metrics.md"),
    ];
    for text in files {
        // Names that the rules record contain colons.
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c));
        let is_ours = |name: &&str| name.starts_with("exactop_") || name.starts_with("process_");
        for name in names.filter(is_ours).filter(|name| *name != "process_") {
            let created = name.replace("_created", "_total");
            assert!(told.contains(&name) || told.contains(&created.as_str()), "{name}");
        }
    }
}

/// The manual's table of families: names, types, labels and help texts of a page that has all.
fn families() -> String {
    let page = made().scrape(Format::Prometheus);
    let groups = Settings::default().by;
    let is_of_groups = |label: &&str| groups.iter().any(|by| by.name() == *label);
    let mut table = String::from("| family | type | labels | meaning |\n|---|---|---|---|\n");
    for line in page.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let ["#", "HELP", name, help] = words[..] else { continue };
        let starts = format!("# TYPE {name} ");
        let kind = page.lines().find_map(|line| line.strip_prefix(&starts)).expect("a type");
        let mut labels = Vec::new();
        for label in page.lines().filter_map(|line| line.strip_prefix(name)).flat_map(names) {
            let label = if is_of_groups(&label) { "the group's" } else { label };
            (!labels.contains(&label)).then(|| labels.push(label));
        }
        let quoted = labels.iter().map(|&label| match label {
            "the group's" => label.to_string(),
            label => format!("`{label}`"),
        });
        let labels = quoted.collect::<Vec<_>>().join(", ");
        table += &format!("| `{name}` | {kind} | {labels} | {help} |\n");
    }
    table.replace("|  |", "| |")
}

/// Names of the labels in what follows a series' name. Hostile values have no such text.
fn names(series: &str) -> Vec<&str> {
    let labels = series.split_once('{').map_or("", |(_, labels)| labels);
    let parts = labels.split("=\"").filter_map(|part| part.rsplit(['"', ',', '{']).next());
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    parts.filter(is_name).collect()
}

#[test]
fn the_manual_has_the_table_of_families() {
    let (manual, table) = (include_str!("../../../../../docs/reference/metrics.md"), families());
    assert!(manual.contains(&table), "docs/reference/metrics.md needs this table:\n{table}");
}
