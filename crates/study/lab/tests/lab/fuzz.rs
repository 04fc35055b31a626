//! Fuzz targets: typed-in experiments and files of a run. Accepted input goes through predictions,
//! verdicts, page and comparison.

use exactop_fuzzing::{corpus, Target};
use exactop_lab::definition::Experiment;
use exactop_lab::machine::MachineFacts;
use exactop_lab::record::{self, Point, Run, Schema};
use exactop_lab::{built_in, compare, plan, predict, read_back, report};

const SMALL: &str = "\
name = 'own'
title = 't'
question = 'q'
method = 'm'
why = 'w'
metric = 'cpu'
window_s = 0.3
repeats = 6
sweep = { nice = [-1, 1], against = 0, repeats = 6 }
[[conditions]]
name = 'first'
predict = 'quota'
workers = [{ name = 'a', group = 'g/h', count = 'cpus+1' }]
groups = { g = { weight = 300 }, 'g/h' = { max = '40%' } }
[[conditions]]
name = 'second'
predict = 0.5
bound = 'at-least'
relative_to = 'first'
workers = [{ name = 'a', nice = -7 }, { name = 'b', background = true }]
";

const WORDS: [&str; 24] = [
    "predict",
    "1.7e308",
    "-1.7e308",
    "nan",
    "inf",
    "[]",
    "workers",
    "'nice'",
    "'weight'",
    "'ratio'",
    "'share'",
    "count",
    "null",
    "18446744073709551615",
    "-9223372036854775808",
    "../",
    "\u{1b}",
    "\\u001b",
    "<script>",
    "relative_to",
    "quick",
    "0",
    "1e-308",
    "\"x\":0.0",
];

fn run_of(experiment: Experiment) -> Run {
    Run {
        schema: Schema::this(),
        seed: 1,
        quick: false,
        began: "then".into(),
        exactop: "0".into(),
        machine: MachineFacts { cpus: 2, lab_cpu: 1, ..MachineFacts::default() },
        experiments: vec![experiment],
        skipped: Vec::new(),
    }
}

fn small() -> Run {
    run_of(Experiment::read(SMALL, "own").expect("it is one"))
}

/// Six repeats of each condition.
fn points(run: &Run) -> Vec<Point> {
    let mut points = Vec::new();
    for experiment in &run.experiments {
        for condition in experiment.conditions.iter().take(3) {
            points.extend((0..6).map(|repeat| Point {
                experiment: experiment.name.clone(),
                condition: condition.name.clone(),
                repeat,
                value: Some(0.4 + f64::from(repeat) / 100.0),
                window_ns: 300_000_000,
                ..Point::default()
            }));
        }
    }
    points
}

/// Makes everything that is made of a run.
fn all_of(run: &Run, points: &[Point]) {
    for experiment in &run.experiments {
        for condition in &experiment.conditions {
            let predicted = predict::prediction(experiment, condition, run.machine.cpus);
            assert!(predicted.is_none_or(f64::is_finite), "{predicted:?}");
        }
    }
    let page = report::page(run, points).expect("a page");
    let (html, markdown) = (page.html(), page.markdown());
    for text in [html, markdown, report::summary(run, points)] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
    for (file, svg) in page.pictures() {
        assert!(!file.contains(['/', '\0']), "{file}");
        assert!(roxmltree::Document::parse(svg).is_ok(), "{svg}");
    }
    let both = (run.clone(), points.to_vec());
    let _ = compare::text(&compare::compare(&both, &both));
}

#[test]
fn fuzz_experiment() {
    let built_in = built_in::all().into_iter().filter_map(|e| built_in::text_of(&e.name));
    Target::new(corpus!("experiment"))
        .examples(built_in.chain([SMALL]))
        .words(WORDS)
        .cases(200)
        .run(|bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            let Ok(experiment) = Experiment::read(text, "own") else { return };
            let quick = experiment.clone().quickened();
            for mut experiment in [experiment, quick] {
                // The trials are only planned, not run.
                experiment.repeats = experiment.repeats.min(6);
                let turns = plan::turns(&experiment, 1);
                assert!(turns.iter().all(|turn| turn.condition < experiment.conditions.len()));
                if !experiment.conditions.is_empty() {
                    let run = run_of(experiment);
                    all_of(&run, &points(&run));
                }
            }
        });
}

/// The parser recurses once for each bracket.
#[test]
fn mismatched_brackets_do_not_overflow_the_stack() {
    let never_closed =
        "[[conditions]]\nworkers = [{ name = 'a', ntions]]\nworkers = [{ nice = 0 }]\n";
    assert!(Experiment::read(&never_closed.repeat(2_000), "own").is_err());
}

#[test]
fn fuzz_run() {
    let run = serde_json::to_string(&small()).expect("JSON");
    Target::new(corpus!("run")).examples([run]).words(WORDS).cases(200).run(|bytes| {
        if let Ok(run) = read_back::parse_run(bytes) {
            all_of(&run, &points(&run));
        }
    });
}

#[test]
fn fuzz_points() {
    let run = small();
    let mut points = points(&run);
    points[0].progress = vec![vec![0.0, 1.5, 2.0], vec![0.0]];
    points[1].invalid = Some("steal 4.1 % > 1 %".into());
    points[2].strip = Some(record::Strip {
        names: vec!["a".into(), "others".into()],
        length_ms: 5.0,
        pieces: vec![(1, 0.0, 2.0, 0), (1, 2.0, 5.0, 1)],
        throttled: vec![(1, 3.0, 4.0)],
        left_out: 2,
    });
    let line = |point: &Point| serde_json::to_string(point).expect("JSON") + "\n";
    let lines: String = points.iter().map(line).collect();
    Target::new(corpus!("points")).examples([lines]).words(WORDS).cases(200).run(|bytes| {
        if let Ok(points) = read_back::parse_points(&run, bytes) {
            all_of(&run, &points);
        }
    });
}
