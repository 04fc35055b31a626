//! Pictures of an experiment.

use crate::analysis::Finding;
use crate::definition::{Experiment, Metric};
use crate::predict;
use crate::record::{Point as Trial, Strip};
use exactop_report::plot::page::Block;
use exactop_report::plot::{Axis, Chart, Mark, Piece, PlotError, Point, Series, Strips, PALE};

/// Longest name below the axis; longer ones are replaced by numbers, as in the table.
const NAME: usize = 13;
/// Factor per step of niceness, by the rule of thumb.
const STEP: f64 = 1.25;

/// All pictures that there are figures for.
pub fn charts(
    experiment: &Experiment,
    others: &[&Finding],
    swept: &[&Finding],
    trials: &[Trial],
) -> Result<Vec<Block>, PlotError> {
    let mut charts: Vec<(String, String, Chart)> = Vec::new();
    // Figures of different kinds do not share an axis.
    let mut kinds: Vec<(Metric, bool)> = Vec::new();
    for finding in others.iter().filter(|f| f.estimate.is_some() && f.predicted.is_some()) {
        let kind = (finding.metric, finding.relative_to.is_some());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    for (metric, relative) in kinds {
        let same = |f: &&&Finding| f.metric == metric && f.relative_to.is_some() == relative;
        let findings: Vec<&Finding> = others.iter().filter(same).copied().collect();
        let (file, chart) = measured(experiment, metric, relative, &findings);
        charts.push((file, numbered(&findings), chart));
    }
    if !swept.is_empty() {
        let file = format!("{}-sweep.svg", experiment.name);
        charts.push((file, String::new(), sweep(experiment, swept)));
        let file = format!("{}-sweep-off.svg", experiment.name);
        charts.push((file, String::new(), off_the_table(experiment, swept)));
    }
    for finding in others {
        let first = trials.iter().find(|t| {
            t.experiment == experiment.name
                && t.condition == finding.condition
                && !t.progress.is_empty()
        });
        if let Some(trial) = first {
            let number =
                others.iter().position(|f| f.condition == finding.condition).unwrap_or(0) + 1;
            let file = format!("{}-progress-{number}.svg", experiment.name);
            charts.push((file, String::new(), progress(trial)));
        }
    }
    let block = |(file, more, chart): (String, String, Chart)| {
        Ok(Block::Picture(file, format!("{}{more}", chart.title), chart.svg()?))
    };
    let mut blocks: Vec<Block> = charts.into_iter().map(block).collect::<Result<_, PlotError>>()?;
    blocks.extend(who_ran_when(experiment, trials)?);
    Ok(blocks)
}

/// Strips of the drawn trials, and the throttling of their groups.
fn who_ran_when(experiment: &Experiment, trials: &[Trial]) -> Result<Vec<Block>, PlotError> {
    let mut blocks = Vec::new();
    let drawn = trials.iter().filter(|t| t.experiment == experiment.name);
    let strips = drawn.filter_map(|t| Some((t, t.strip.as_ref()?)));
    for (i, (trial, strip)) in strips.filter(|(_, strip)| shows_workers(strip)).enumerate() {
        let drawing = occupation(trial, strip);
        let file = format!("{}-strip-{}.svg", experiment.name, i + 1);
        let left = match strip.left_out {
            0 => String::new(),
            n => format!(" ({n} pieces or events left out)"),
        };
        let caption = format!("{}{left}", drawing.title);
        blocks.push(Block::Picture(file, caption, drawing.svg()?));
        let condition = experiment.conditions.iter().find(|c| c.name == trial.condition);
        if let Some(rate) = condition.and_then(predict::common_quota) {
            let chart = throttling(trial, strip, rate);
            let file = format!("{}-throttling-{}.svg", experiment.name, i + 1);
            blocks.push(Block::Picture(file, chart.title.clone(), chart.svg()?));
        }
    }
    Ok(blocks)
}

/// True if the strip shows a worker: on a CPU without a switch the log names no task.
fn shows_workers(strip: &Strip) -> bool {
    let others = strip.names.len().saturating_sub(1);
    strip.pieces.iter().any(|piece| piece.3 < others)
}

/// Tasks on the lab's CPUs over time, and time when a quota stopped the workers; white is idle.
fn occupation(trial: &Trial, strip: &Strip) -> Strips {
    let kept = strip.throttled.iter().map(|&(cpu, from, to)| (cpu, from, to, PALE));
    let pale = if strip.throttled.is_empty() { "" } else { "throttled, CPU idle" };
    let mut cpus: Vec<u32> = strip.pieces.iter().map(|piece| piece.0).collect();
    cpus.extend(strip.throttled.iter().map(|piece| piece.0));
    cpus.sort_unstable();
    cpus.dedup();
    let lane = |cpu: u32| cpus.partition_point(|&other| other < cpu);
    let pieces = strip.pieces.iter().copied().chain(kept);
    Strips {
        title: format!("{}: who ran when, {}", trial.experiment, trial.condition),
        x_label: "ms".into(),
        range: (0.0, strip.length_ms),
        lanes: cpus.iter().map(|cpu| format!("CPU {cpu}")).collect(),
        names: strip.names.clone(),
        pale: pale.into(),
        pieces: pieces.map(|(cpu, from, to, of)| Piece { lane: lane(cpu), of, from, to }).collect(),
    }
}

/// CPU time over time: rising while the workers run, level while they are throttled.
fn throttling(trial: &Trial, strip: &Strip, rate: f64) -> Chart {
    let others = strip.names.len().saturating_sub(1);
    let mut used = vec![Point::at(0.0, 0.0)];
    let mut sum = 0.0;
    for &(_, from, to, _) in strip.pieces.iter().filter(|piece| piece.3 < others) {
        used.push(Point::at(from, sum));
        sum += to - from;
        used.push(Point::at(to, sum));
    }
    used.push(Point::at(strip.length_ms, sum));
    let quota = [0.0, strip.length_ms].map(|ms| Point::at(ms, ms * rate)).to_vec();
    Chart {
        title: format!("{}: CPU time used, {}", trial.experiment, trial.condition),
        x: Axis::new("ms"),
        y: Axis::new("ms of CPU time"),
        series: vec![
            series("the quota's rate", Mark::Prediction, 1, quota),
            series("used; level: throttled or asleep", Mark::Line, 0, used),
        ],
    }
}

/// Every repeat, the median with its interval, and the prediction.
fn measured(
    experiment: &Experiment,
    metric: Metric,
    relative: bool,
    findings: &[&Finding],
) -> (String, Chart) {
    let place = |i: usize| i as f64;
    let each = findings.iter().enumerate().flat_map(|(i, finding)| {
        let n = finding.values.len().max(2) as f64;
        let spread = move |k: usize| (k as f64 / (n - 1.0) - 0.5) * 0.36;
        finding.values.iter().enumerate().map(move |(k, &v)| Point::at(place(i) + spread(k), v))
    });
    let medians = findings.iter().enumerate().filter_map(|(i, finding)| {
        let estimate = finding.estimate?;
        Some(Point { x: place(i), y: estimate.median, interval: estimate.interval })
    });
    let mut lines = vec![
        series("each repeat", Mark::Points, 5, each.collect()),
        series("median, 95 %", Mark::Intervals, 0, medians.collect()),
    ];
    let mut name = "predicted";
    for (i, finding) in findings.iter().enumerate() {
        let Some(predicted) = finding.predicted else { continue };
        let ends = [-0.4, 0.4].map(|by| Point::at(place(i) + by, predicted));
        lines.push(series(name, Mark::Prediction, 1, ends.to_vec()));
        // Only once in the legend.
        name = "";
    }
    let short = are_short(findings);
    let names = findings.iter().enumerate().map(|(i, finding)| match short {
        true => finding.condition.clone(),
        false => format!("{}", i + 1),
    });
    let kind = kind(metric, relative);
    let label = if short { "condition" } else { "condition, by number" };
    let chart = Chart {
        title: format!("{}: {kind}", experiment.name),
        x: Axis { names: names.collect(), ..Axis::new(label) },
        y: Axis::new(match metric == experiment.metric && !experiment.unit.is_empty() {
            true => experiment.unit.clone(),
            false => kind.clone(),
        }),
        series: lines,
    };
    let words = kind.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let file = format!("{}-{}.svg", experiment.name, words.collect::<Vec<_>>().join("-"));
    (file, chart)
}

/// True if the names fit below the axis.
fn are_short(findings: &[&Finding]) -> bool {
    findings.iter().all(|f| f.condition.chars().count() <= NAME) && findings.len() <= 8
}

/// Names of the numbers below the axis.
fn numbered(findings: &[&Finding]) -> String {
    if are_short(findings) {
        return String::new();
    }
    let name = |(i, finding): (usize, &&Finding)| format!("{}: {}", i + 1, finding.condition);
    let names: Vec<String> = findings.iter().enumerate().map(name).collect();
    format!(" ({})", names.join("; "))
}

fn kind(metric: Metric, relative: bool) -> String {
    let what = match metric {
        Metric::Share => "share of the CPU time",
        Metric::Ratio => "ratio of CPU times",
        Metric::Cpu => "CPUs used",
        Metric::Machine => "part of all CPUs",
        Metric::Named => "part that has a name",
        Metric::TopSum => "sum of top's rows",
        Metric::NiceTime => "part of user time that is nice",
        Metric::Niceness => "niceness",
        Metric::Throttled => "part of periods throttled",
        Metric::Burst => "ms of CPU time in a burst",
        Metric::Period => "ms from burst to burst",
        Metric::Migrations => "moves a second",
        Metric::Throughput => "steps a second",
        Metric::Latency => "seconds until all are done",
        Metric::ProgressShare => "share of the steps",
        Metric::PerConnection => "us of CPU time a connection",
    };
    if relative {
        format!("{what}, relative")
    } else {
        what.into()
    }
}

fn sweep(experiment: &Experiment, swept: &[&Finding]) -> Chart {
    let measured = swept.iter().filter_map(|finding| {
        let estimate = finding.estimate?;
        Some(Point { x: finding.x?, y: estimate.median, interval: estimate.interval })
    });
    let table = swept.iter().filter_map(|f| Some(Point::at(f.x?, f.predicted?)));
    let against = against(experiment);
    let rule = swept.iter().filter_map(|f| Some(Point::at(f.x?, by_rule(against, f.x?))));
    Chart {
        title: format!("{}: share at each niceness against {against}", experiment.name),
        x: Axis::new("niceness"),
        y: Axis { range: Some((0.0, 1.0)), ..Axis::new("share of the CPU time") },
        series: vec![
            series("1.25 for each step", Mark::Line, 6, rule.collect()),
            series("the kernel's table", Mark::Prediction, 1, table.collect()),
            series("measured, 95 %", Mark::Intervals, 0, measured.collect()),
        ],
    }
}

fn against(experiment: &Experiment) -> f64 {
    experiment.sweep.map_or(0, |sweep| sweep.against) as f64
}

/// Share by the rule of thumb.
fn by_rule(against: f64, nice: f64) -> f64 {
    let ratio = STEP.powf(against - nice);
    ratio / (1.0 + ratio)
}

/// Differences from the kernel's table, which are too small to see in the other picture.
fn off_the_table(experiment: &Experiment, swept: &[&Finding]) -> Chart {
    let against = against(experiment);
    let measured = swept.iter().filter_map(|finding| {
        let (estimate, table) = (finding.estimate?, finding.predicted?);
        let interval = estimate.interval.map(|(low, high)| (low - table, high - table));
        Some(Point { x: finding.x?, y: estimate.median - table, interval })
    });
    let rule = swept.iter().filter_map(|finding| {
        let x = finding.x?;
        Some(Point::at(x, by_rule(against, x) - finding.predicted?))
    });
    let edge = |sign: f64| {
        let at = |finding: &&Finding| Some(Point::at(finding.x?, sign * finding.delta));
        swept.iter().filter_map(at).collect::<Vec<Point>>()
    };
    Chart {
        title: format!("{}: how far off the kernel's table", experiment.name),
        x: Axis::new("niceness"),
        y: Axis::new("share less that of the table"),
        series: vec![
            series("inside is between", Mark::Prediction, 1, edge(1.0)),
            series("", Mark::Prediction, 1, edge(-1.0)),
            series("1.25 for each step", Mark::Line, 6, rule.collect()),
            series("measured, 95 %", Mark::Intervals, 0, measured.collect()),
        ],
    }
}

fn series(name: &str, mark: Mark, colour: usize, points: Vec<Point>) -> Series {
    Series { name: name.into(), mark, colour: Some(colour), points }
}

/// Progress of each process over time.
fn progress(trial: &Trial) -> Chart {
    let line = |(id, times): (usize, &Vec<f64>)| {
        let parts = times.len().max(2) - 1;
        let at = |(i, &ms): (usize, &f64)| Point::at(ms, 100.0 * i as f64 / parts as f64);
        Series {
            name: format!("process {}", id + 1),
            mark: Mark::Line,
            colour: None,
            points: times.iter().enumerate().map(at).collect(),
        }
    };
    Chart {
        title: format!("{}: progress over time, {}", trial.experiment, trial.condition),
        x: Axis::new("ms since all were released"),
        y: Axis { range: Some((0.0, 105.0)), ..Axis::new("% of the steps done") },
        series: trial.progress.iter().enumerate().map(line).collect(),
    }
}
