//! Results that attack their reader: in Markdown, HTML, SVG, CSV and on the terminal.

use exactop_files::Directory;
use exactop_lab::definition::Experiment;
use exactop_lab::machine::MachineFacts;
use exactop_lab::record::{Point, Run, Schema, Strip, WorkerFigures};
use exactop_lab::report;
use exactop_lab::{built_in, compare, read_back};
use serde_json::{json, Value};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Attacks for all fields that are not names.
const HOSTILE: &str = "=cmd|' /C calc'!A0 \x1b[2J\x1b]0;pwned\x07 <script>alert(1)</script> & ]]> \
    \"'`*_[a](javascript:x) ![i](//x) https://evil.example @SUM(1) | \r\n# head \u{9b}31m \u{202e}txt \
    \u{fffe} {{x}} $x$ ../../X";
/// Attacks for names: everything except cursor movements.
const NAME: &str = "=cmd|' /C'!A0 <script>x</script> & \"`*_[a](javascript:x) ../../X";

const EXPERIMENT: &str = "\
name = 'own'
title = 't'
question = 'q'
method = 'm'
why = 'w'
metric = 'cpu'
sweep = { nice = [-1, 1], against = 0, repeats = 7 }
[[conditions]]
name = 'first'
predict = 'quota'
workers = [{ name = 'a', group = 'g' }]
groups = { g = { max = '40%' } }
[[conditions]]
name = 'second'
predict = 0.5
relative_to = 'first'
workers = [{ name = 'a' }, { name = 'b' }]
";

/// A run with an attack in every field, as far as fields accept it.
fn hostile() -> (Run, Vec<Point>) {
    let mut experiment = Experiment::read(EXPERIMENT, "own").expect("it is one");
    for text in [&mut experiment.title, &mut experiment.question, &mut experiment.method] {
        *text = HOSTILE.into();
    }
    (experiment.why, experiment.unit) = (HOSTILE.into(), HOSTILE.into());
    experiment.conditions[0].name = NAME.into();
    experiment.conditions[1].relative_to = Some(NAME.into());
    experiment.conditions[0].workers[0].name = NAME.into();
    let some = || Some(HOSTILE.to_string());
    let machine = MachineFacts {
        kernel: some(),
        scheduler: some(),
        hz: some(),
        cpus: 2,
        siblings: some(),
        model: some(),
        hypervisor: some(),
        governor: some(),
        cgroup: some(),
        cgroup_version: some(),
        preemption: some(),
        ..MachineFacts::default()
    };
    let run = Run {
        schema: Schema::this(),
        seed: 1,
        quick: false,
        began: HOSTILE.into(),
        exactop: HOSTILE.into(),
        machine,
        skipped: vec![(HOSTILE.into(), HOSTILE.into())],
        experiments: vec![experiment],
    };
    let points = points(&run);
    (run, points)
}

fn points(run: &Run) -> Vec<Point> {
    let mut points = Vec::new();
    for condition in &run.experiments[0].conditions {
        for repeat in 0..8 {
            points.push(Point {
                experiment: "own".into(),
                condition: condition.name.clone(),
                repeat,
                value: Some(0.4 + f64::from(repeat) / 1000.0),
                invalid: (repeat == 7).then(|| HOSTILE.into()),
                window_ns: 1_000_000_000,
                workers: vec![WorkerFigures { name: HOSTILE.into(), ..WorkerFigures::default() }],
                progress: vec![vec![0.0, 5.0, 9.0]],
                ..Point::default()
            });
        }
    }
    points.push(Point {
        experiment: "own".into(),
        condition: NAME.into(),
        strip: Some(Strip {
            names: vec![HOSTILE.into(), "others".into()],
            length_ms: 10.0,
            pieces: vec![(1, 0.0, 4.0, 0), (0, 4.0, 6.0, 1)],
            throttled: vec![(1, 4.0, 5.0)],
            left_out: 1,
        }),
        ..Point::default()
    });
    points
}

/// A directory as a run leaves it.
fn written(run: &Value, points: &[Value]) -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("run.json"), run.to_string()).expect("written");
    let lines: String = points.iter().map(|point| format!("{point}\n")).collect();
    fs::write(home.path().join("points.jsonl"), lines).expect("written");
    home
}

fn as_values() -> (Value, Vec<Value>) {
    let (run, points) = hostile();
    let value = |point: &Point| serde_json::to_value(point).expect("JSON");
    (serde_json::to_value(&run).expect("JSON"), points.iter().map(value).collect())
}

fn read(home: &TempDir) -> Result<(Run, Vec<Point>), String> {
    let directory = Directory::open(home.path()).expect("ours");
    read_back::read(&directory).map_err(|error| error.to_string())
}

/// The error for a run with one change.
fn refused(change: impl FnOnce(&mut Value, &mut Vec<Value>)) -> String {
    let (mut run, mut points) = as_values();
    change(&mut run, &mut points);
    read(&written(&run, &points)).err().unwrap_or("it is taken".into())
}

/// Checks that a terminal interprets nothing.
fn quiet(text: &str) {
    let acts = |c: &char| (c.is_control() && *c != '\n') || matches!(*c, '\u{202e}' | '\u{fffe}');
    assert_eq!(text.chars().find(acts), None, "{text:?}");
}

/// The page as XML, without the parts that only HTML has.
fn xml(html: &str) -> String {
    let body = html.split_once("<body>").expect("a body").1;
    format!("<body>{body}").replace("</html>", "")
}

#[test]
fn hostile_text_in_every_field_stays_text_everywhere() {
    let (run, points) = as_values();
    let home = written(&run, &points);
    let (run, points) = read(&home).expect("all of it may be written");
    let directory = Directory::open(home.path()).expect("ours");
    report::write(&directory, &run, &points).expect("a report");
    quiet(&report::summary(&run, &points));
    let both = (run, points);
    let compared = compare::text(&compare::compare(&both, &both));
    assert!(compared.contains("script"), "{compared}");
    quiet(&compared);

    let html = fs::read_to_string(home.path().join("report.html")).expect("HTML");
    quiet(&html);
    let parsed = xml(&html);
    let parsed = roxmltree::Document::parse(&parsed).expect("well-formed");
    let elements: Vec<&str> =
        parsed.descendants().filter(|n| n.is_element()).map(|n| n.tag_name().name()).collect();
    for bad in ["script", "img", "a", "iframe"] {
        assert!(!elements.contains(&bad), "{bad}");
    }
    assert!(parsed.descendants().any(|n| n.text().is_some_and(|t| t.contains("<script>"))));

    let markdown = fs::read_to_string(home.path().join("report.md")).expect("Markdown");
    quiet(&markdown);
    // Escaped characters are not markup.
    let markup = markdown.replace("\\[", "").replace("\\]", "").replace("\\`", "");
    for bad in ["<script", "](javascript", "![i", "https://", "\n# head", "*_", "`"] {
        assert!(!markup.contains(bad), "{bad}: {markdown}");
    }
    for table in markdown.split("\n\n").filter(|part| part.starts_with("| ")) {
        let bars = |line: &str| line.matches('|').count() - line.matches("\\|").count();
        let counts: Vec<usize> = table.lines().map(bars).collect();
        assert!(counts.windows(2).all(|two| two[0] == two[1]), "{table}");
    }

    let mut drawings = 0;
    for entry in fs::read_dir(home.path().join("plots")).expect("pictures") {
        let svg = fs::read_to_string(entry.expect("an entry").path()).expect("SVG");
        quiet(&svg);
        let parsed = roxmltree::Document::parse(&svg).expect("well-formed");
        assert_eq!(parsed.root_element().tag_name().name(), "svg");
        assert!(parsed.descendants().all(|n| n.tag_name().name() != "script"));
        drawings += 1;
    }
    assert!(drawings >= 6, "{drawings} drawings");
    cells(&home.path().join("points.csv"));
}

/// Checks that a spreadsheet takes formulas as text.
fn cells(path: &Path) {
    let mut reader = csv::Reader::from_path(path).expect("CSV");
    let mut hostile = 0;
    for record in reader.records() {
        for cell in &record.expect("a line") {
            quiet(cell);
            let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
            assert!(!formula, "{cell}");
            hostile += usize::from(cell.starts_with("'=cmd"));
        }
    }
    // Nine trials of the condition with that name, and one discarded trial of each of five.
    assert_eq!(hostile, 9 + 5);
}

#[test]
fn names_are_no_paths_and_hold_no_control_characters() {
    for name in ["../../X", "/etc/x", "", "a b", "a\x1b", ".", &"x".repeat(65)] {
        let said = refused(|run, _| run["experiments"][0]["name"] = json!(name));
        assert!(said.contains("letters, digits, - and _"), "{name}: {said}");
    }
    for name in ["\x1b[2J", "a\nb", "\u{9b}31m", "\u{202e}x", "", &"x".repeat(121)] {
        let said = refused(|run, points| {
            run["experiments"][0]["conditions"][1]["name"] = json!(name);
            points.clear();
        });
        assert!(said.contains("run.json") && said.contains("name = "), "{name:?}: {said}");
    }
    let worker = refused(|run, _| {
        run["experiments"][0]["conditions"][0]["workers"][0]["name"] = json!("a\x07");
    });
    assert!(worker.contains("without control characters"), "{worker}");
    let unknown = refused(|_, points| points[0]["condition"] = json!("\x1b[2J"));
    assert!(unknown.contains("line 1: the run has no experiment"), "{unknown}");
}

#[test]
fn files_that_no_run_can_have_written_are_refused() {
    let said = refused(|run, _| run["experiments"][0]["conditions"][0]["workers"] = json!([]));
    assert!(said.contains("no workers"), "{said}");
    let said = refused(|run, _| run["machine"]["cpus"] = json!(0));
    assert!(said.contains("machine.cpus = 0"), "{said}");
    for figure in [1.7e308, -1.7e308, 1e13] {
        let said = refused(|run, _| {
            run["experiments"][0]["conditions"][1]["predict"] = json!(figure);
        });
        assert!(said.contains("predict = "), "{said}");
        let said = refused(|_, points| points[3]["value"] = json!(figure));
        assert!(said.contains("line 4: value = "), "{said}");
        let said = refused(|_, points| points[0]["progress"] = json!([[figure]]));
        assert!(said.contains("progress"), "{said}");
    }
    for (part, piece) in [
        ("pieces", json!([[0, 0.0, 99.0, 0]])),
        ("pieces", json!([[0, 5.0, 1.0, 0]])),
        ("pieces", json!([[0, 0.0, 1.0, 7]])),
        ("pieces", json!([[4_000_000_000u32, 0.0, 1.0, 0]])),
        ("throttled", json!([[0, -1.0, 1.0]])),
        ("length_ms", json!(1e300)),
    ] {
        let said = refused(|_, points| {
            let last = points.len() - 1;
            points[last]["strip"][part] = piece.clone();
        });
        assert!(said.contains("points.jsonl: line"), "{part} {piece}: {said}");
    }
    let many = refused(|_, points| *points = vec![points[0].clone(); 10_002]);
    assert!(many.contains("line 10002: trials of a condition"), "{many}");
    let twice = refused(|run, _| {
        let first = run["experiments"][0].clone();
        run["experiments"] = json!([first, first]);
    });
    assert!(twice.contains("occurs twice"), "{twice}");
}

#[test]
fn a_run_without_a_skipped_condition_is_read() {
    let (mut run, mut points) = as_values();
    let conditions = run["experiments"][0]["conditions"].as_array_mut().expect("a list");
    conditions.remove(0);
    points.retain(|point| point["condition"] != NAME);
    let read = read(&written(&run, &points));
    assert!(read.is_ok(), "{read:?}");
}

#[test]
fn a_report_does_not_follow_planted_links() {
    let (run, points) = as_values();
    let home = written(&run, &points);
    let outside = tempfile::tempdir().expect("a directory");
    let victim = outside.path().join("victim");
    fs::write(&victim, "kept").expect("written");
    for name in ["report.html", "report.new", "run.new", "points.csv", "points.new"] {
        std::os::unix::fs::symlink(&victim, home.path().join(name)).expect("a link");
    }
    let (run, points) = read(&home).expect("a run");
    let directory = Directory::open(home.path()).expect("ours");
    report::write(&directory, &run, &points).expect("a report");
    assert_eq!(fs::read_to_string(&victim).expect("there"), "kept");
    // Nor through a link to another directory.
    fs::remove_dir_all(home.path().join("plots")).expect("removed");
    std::os::unix::fs::symlink(outside.path(), home.path().join("plots")).expect("a link");
    assert!(report::write(&directory, &run, &points).is_err());
    assert_eq!(fs::read_dir(outside.path()).expect("there").count(), 1, "the victim alone");
}

#[test]
fn figures_that_are_typed_in_have_the_same_bounds() {
    let with = |line: &str| {
        let text = EXPERIMENT.replacen("predict = 0.5", line, 1);
        Experiment::read(&text, "own").map_err(|error| error.to_string())
    };
    assert!(with("predict = -0.5").is_ok());
    for line in [
        "predict = 1.7e308",
        "predict = -1.7e308",
        "predict = nan",
        "predict = inf",
        "predict = 0.5\ndelta = -1.0",
        "predict = 0.5\ndelta = nan",
        "predict = 0.5\nx = 1e300",
    ] {
        let said = with(line).expect_err(line);
        assert!(said.contains(": write "), "{said}");
    }
    let sweep = EXPERIMENT.replacen("nice = [-1, 1]", "nice = [-9223372036854775808, 1]", 1);
    assert!(Experiment::read(&sweep, "own").is_err());
    assert!(built_in::all().iter().all(|built_in| !built_in.conditions.is_empty()));
}
