//! Content of the page.

use super::{discards, figure, interval, plots, predicted, why_moved};
use crate::analysis::{Finding, Findings, Verdict};
use crate::definition::Experiment;
use crate::record::{Point, Run};
use crate::statistics::detectable;
use exactop_report::plot::page::{Block, Document};
use exactop_report::plot::PlotError;

/// The page of a run.
pub fn document(run: &Run, points: &[Point], results: &[Findings]) -> Result<Document, PlotError> {
    let mut blocks = opening(run, points, results);
    for (experiment, findings) in run.experiments.iter().zip(results) {
        blocks.extend(of_experiment(experiment, findings, points)?);
    }
    blocks.extend(closing());
    Ok(Document(blocks))
}

fn opening(run: &Run, points: &[Point], results: &[Findings]) -> Vec<Block> {
    let kernel = run.machine.kernel.as_deref().unwrap_or("-");
    let counted = points.iter().filter(|p| p.strip.is_none());
    let (made, invalid) = counted.fold((0, 0), |(made, invalid), point| {
        (made + 1, invalid + usize::from(point.invalid.is_some()))
    });
    let drawn = points.len() - made;
    let how = if run.quick { "Quick run: short windows, few repeats. " } else { "" };
    let mut blocks = vec![
        Block::Heading(1, format!("Scheduler experiments on Linux {kernel}")),
        Block::Paragraph(
            "",
            format!(
                "{how}Begun {}, seed {}, exactop {}. {made} trials, {invalid} of them \
                 discarded by the limits below, and {drawn} more that are drawn and do not count. A figure is the median over repeats with its 95 % interval; a verdict \
                 says whether the whole interval is where it was predicted (inside), elsewhere \
                 (OUTSIDE), or neither (can't tell).",
                run.began,
                run.seed,
                run.exactop,
            ),
        ),
        Block::Heading(2, "Verdicts".into()),
    ];
    let rows = run.experiments.iter().zip(results).map(|(experiment, findings)| {
        let count = |verdict| findings.findings.iter().filter(|f| f.verdict == verdict).count();
        let counts = [Verdict::Inside, Verdict::Outside, Verdict::CantTell, Verdict::Measured];
        let mut row = vec![format!("{}: {}", experiment.name, experiment.title)];
        row.extend(counts.map(|verdict| count(verdict).to_string()));
        row
    });
    let titles = ["experiment", "inside", "outside", "can't tell", "measured only"];
    blocks.push(Block::Table(titles.map(String::from).to_vec(), rows.collect()));
    if !run.skipped.is_empty() {
        let lines = run.skipped.iter().map(|(what, why)| format!("{what}: not run here: {why}"));
        blocks.push(Block::List(lines.collect()));
    }
    blocks.push(Block::Heading(2, "The machine".into()));
    let rows = run.machine.rows().into_iter().map(|(name, value)| vec![name.into(), value]);
    blocks.push(Block::Table(vec!["what".into(), "value".into()], rows.collect()));
    blocks
}

fn of_experiment(
    experiment: &Experiment,
    findings: &Findings,
    points: &[Point],
) -> Result<Vec<Block>, PlotError> {
    let mut blocks = vec![
        Block::Heading(2, format!("{}: {}", experiment.name, experiment.title)),
        Block::Paragraph("Question.", experiment.question.clone()),
        Block::Paragraph("Method.", method(experiment)),
        Block::Paragraph("Prediction.", experiment.why.trim().into()),
    ];
    let findings = &findings.findings;
    let (swept, others): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|f| f.x.is_some());
    blocks.push(figures(&others));
    blocks.push(beside(&others));
    blocks.extend(why_moved::table(&experiment.name, &others, points));
    if !swept.is_empty() {
        blocks.push(Block::Heading(3, "Sweep".into()));
        blocks.push(figures(&swept));
    }
    let notes = findings.iter().filter_map(|f| Some(format!("{}: {}", f.condition, discards(f)?)));
    let notes: Vec<String> = notes.collect();
    if !notes.is_empty() {
        blocks.push(Block::Paragraph("Discarded.", "These trials do not count:".into()));
        blocks.push(Block::List(notes));
    }
    blocks.extend(plots::charts(experiment, &others, &swept, points)?);
    Ok(blocks)
}

fn method(experiment: &Experiment) -> String {
    let limits = experiment.limits;
    format!(
        "{} Windows of {} s, {} repeats of each condition, in an order drawn anew for each repeat. A \
         trial does not count if on the lab's CPUs steal is over {} %, foreign CPU time over {} %, \
         interrupts over {} %, or unnamed time over {} %.",
        experiment.method.trim(),
        experiment.window_s,
        experiment.repeats,
        limits.steal_pct,
        limits.foreign_pct,
        limits.irq_pct,
        limits.unnamed_pct,
    )
}

fn figures(findings: &[&Finding]) -> Block {
    let titles = ["condition", "n", "measured (95 %)", "predicted", "verdict", "would show"];
    let row = |finding: &&Finding| {
        let estimate = finding.estimate.as_ref();
        let name = match &finding.relative_to {
            Some(other) => format!("{}, relative to {other}", finding.condition),
            None => finding.condition.clone(),
        };
        vec![
            name,
            finding.values.len().to_string(),
            estimate.map_or("-".into(), interval),
            predicted(finding),
            finding.verdict.name().into(),
            estimate.and_then(detectable).map_or("-".into(), figure),
        ]
    };
    Block::Table(titles.map(String::from).to_vec(), findings.iter().map(row).collect())
}

fn beside(findings: &[&Finding]) -> Block {
    let titles = [
        "other figures (medians)",
        "steal %",
        "foreign %",
        "first worker: LAT %",
        "moves/s",
        "icx/s",
        "vcx/s",
        "exactop %",
    ];
    let row = |finding: &&Finding| {
        let seen = finding.beside;
        let figures = [
            seen.steal_pct,
            seen.foreign_pct,
            seen.lat_pct,
            seen.migrations_s,
            seen.icx_s,
            seen.vcx_s,
            seen.cost_pct,
        ];
        let cells = figures.map(|f| f.map_or("-".to_string(), |f| format!("{f:.2}")));
        std::iter::once(finding.condition.clone()).chain(cells).collect()
    };
    Block::Table(titles.map(String::from).to_vec(), findings.iter().map(row).collect())
}

fn closing() -> Vec<Block> {
    vec![
        Block::Heading(2, "How to read this".into()),
        Block::List(vec![
            "The unit is the repeat: each window gives one figure. The number of repeats is fixed \
             beforehand. points.csv has every trial, including the discarded ones."
                .into(),
            "Intervals are of the median: percentile bootstrap (4,000 draws, from the run's seed), \
             widened to the interval of the order statistics, which is wider for few repeats. \
             Fewer than six repeats have no interval."
                .into(),
            "'Would show' is half the interval's width: a smaller difference from the prediction \
             would not be visible."
                .into(),
            "Who ran when: from the switch log, for at most 0.3 s of a separate trial. A CPU's strip \
             begins with its first switch; a task that ran alone all the time is not drawn."
                .into(),
            "CPU time is the ledger's, in nanoseconds, with the same instants for all tasks. Shares \
             are of a window in which all workers ran and wanted more."
                .into(),
        ]),
    ]
}
