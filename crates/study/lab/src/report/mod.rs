//! Report of a run: HTML in one file, Markdown with pictures, and JSON and CSV of all trials.

mod content;
mod plots;
mod why_moved;

pub use exactop_report::plot::page::{Block, Document};

use crate::analysis::{analyse, Finding, Findings, Verdict};
use crate::record::{self, Point, Run};
use crate::statistics::Estimate;
use crate::LabError;
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use exactop_files::Directory;
use exactop_model::text::escape::{csv_cell, escape_str, harmless};

/// Formats an estimate: `0.555 (0.553..0.557)`.
pub fn interval(estimate: &Estimate) -> String {
    let median = figure(estimate.median);
    match estimate.interval {
        Some((low, high)) => format!("{median} ({}..{})", figure(low), figure(high)),
        None => format!("{median} (n {})", estimate.n),
    }
}

/// Formats a figure with four significant digits.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        m if m >= 1000.0 => format!("{value:.0}"),
        m if m >= 100.0 => format!("{value:.1}"),
        m if m >= 10.0 => format!("{value:.2}"),
        m if m >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// Number of discarded trials and the reasons; similar reasons are grouped, with the worst value.
pub fn discards(finding: &Finding) -> Option<String> {
    let mut kinds: Vec<(&str, &str, usize)> = Vec::new();
    for (why, count) in &finding.discarded {
        let kind = why.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, worst, n)) => {
                *n += count;
                if first_number(why) > first_number(worst) {
                    *worst = why;
                }
            }
            None => kinds.push((kind, why, *count)),
        }
    }
    let all: usize = kinds.iter().map(|(.., n)| n).sum();
    let told = |(_, why, n): &(&str, &str, usize)| match kinds.len() {
        1 => harmless(why),
        _ => format!("{} ({n})", harmless(why)),
    };
    let reasons: Vec<String> = kinds.iter().map(told).collect();
    let reasons = reasons.join(", ");
    (all > 0).then(|| format!("{all} of {} discarded because {reasons}", finding.made))
}

fn first_number(text: &str) -> f64 {
    let from = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let number: String =
        text[from..].chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse().unwrap_or(0.0)
}

/// Summary at the end of a run.
pub fn summary(run: &Run, points: &[Point]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["experiment", "condition", "n", "measured (95 %)", "predicted", "verdict"]);
    let mut notes = Vec::new();
    for Findings { experiment, findings } in &analyse(run, points) {
        for finding in findings {
            let measured = finding.estimate.as_ref().map_or("-".into(), interval);
            table.add_row([
                harmless(experiment),
                harmless(&finding.condition),
                finding.values.len().to_string(),
                measured,
                predicted(finding),
                finding.verdict.name().into(),
            ]);
            if let Some(note) = discards(finding) {
                notes.push(format!("{experiment}, {}: {note}", finding.condition));
            }
        }
    }
    for (what, why) in &run.skipped {
        notes.push(format!("{what}: not run: {why}"));
    }
    for column in table.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let notes = notes.iter().map(|note| harmless(note));
    let lines = table.lines().map(|line| line.trim_end().to_string()).chain(notes);
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The prediction with its tolerance.
pub fn predicted(finding: &Finding) -> String {
    use crate::definition::Bound;
    let Some(predicted) = finding.predicted else { return "-".into() };
    match finding.bound {
        Bound::Equal => format!("{} +- {}", figure(predicted), figure(finding.delta)),
        Bound::AtLeast => format!(">= {}", figure(predicted)),
        Bound::AtMost => format!("<= {}", figure(predicted)),
    }
}

/// Number of findings outside of their predictions.
pub fn outside(run: &Run, points: &[Point]) -> usize {
    let all = analyse(run, points);
    let findings = all.iter().flat_map(|result| &result.findings);
    findings.filter(|finding| finding.verdict == Verdict::Outside).count()
}

/// The page.
///
/// # Errors
/// A chart cannot be drawn.
pub fn page(run: &Run, points: &[Point]) -> Result<Document, LabError> {
    drawn(run, points, &analyse(run, points))
}

fn drawn(run: &Run, points: &[Point], results: &[Findings]) -> Result<Document, LabError> {
    content::document(run, points, results).map_err(|error| LabError::Machine(error.to_string()))
}

/// Writes all files into the run's directory.
///
/// # Errors
/// [`LabError::Files`], or a chart cannot be drawn.
pub fn write(directory: &Directory, run: &Run, points: &[Point]) -> Result<(), LabError> {
    let results = analyse(run, points);
    let document = drawn(run, points, &results)?;
    let plots = directory.within("plots")?;
    for (file, svg) in document.pictures() {
        plots.replace(file, svg.as_bytes())?;
    }
    directory.replace("report.html", document.html().as_bytes())?;
    directory.replace("report.md", document.markdown().as_bytes())?;
    let all = serde_json::json!({ "run": run, "results": results, "points": points });
    record::write_json(directory, "report.json", &all)?;
    Ok(directory.replace("points.csv", csv(points)?.as_bytes())?)
}

/// One line for each trial.
fn csv(points: &[Point]) -> Result<String, LabError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| LabError::Machine(error.to_string());
    let header = [
        "experiment",
        "condition",
        "repeat",
        "turn",
        "drawn",
        "value",
        "invalid",
        "window_ns",
        "steal_pct",
        "foreign_pct",
        "irq_pct",
        "unnamed_pct",
        "residual_ns",
        "errors",
        "cost_pct",
    ];
    writer.write_record(header).map_err(failed)?;
    let text = |text: &str| csv_cell(&escape_str(text)).into_owned();
    let maybe = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
    for point in points {
        let record = [
            text(&point.experiment),
            text(&point.condition),
            point.repeat.to_string(),
            point.turn.to_string(),
            point.strip.is_some().to_string(),
            maybe(point.value),
            point.invalid.as_deref().map_or(String::new(), text),
            point.window_ns.to_string(),
            maybe(point.steal_pct),
            maybe(point.foreign_pct),
            maybe(point.irq_pct),
            maybe(point.unnamed_pct),
            point.residual_ns.map_or(String::new(), |n| n.to_string()),
            point.errors.map_or(String::new(), |n| n.to_string()),
            maybe(point.cost_pct),
        ];
        writer.write_record(record).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| LabError::Machine(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_reasons_are_grouped_with_the_worst_value() {
        let head = "name='t'\ntitle=''\nquestion=''\nmethod=''\nwhy=''\nmetric='share'\n";
        let text = format!("{head}[[conditions]]\nname='c'\nworkers=[{{}}]");
        let experiment = crate::definition::Experiment::read(&text, "t").unwrap();
        let run = Run {
            schema: record::Schema::this(),
            seed: 1,
            quick: false,
            began: String::new(),
            exactop: String::new(),
            machine: crate::machine::MachineFacts::default(),
            experiments: vec![experiment],
            skipped: Vec::new(),
        };
        let point = |invalid: Option<&str>| Point {
            experiment: "t".into(),
            condition: "c".into(),
            value: Some(0.5),
            invalid: invalid.map(String::from),
            ..Point::default()
        };
        let told = |reasons: &[Option<&str>]| {
            let points: Vec<Point> = reasons.iter().map(|why| point(*why)).collect();
            discards(&analyse(&run, &points)[0].findings[0])
        };
        assert_eq!(told(&[None, None]), None);
        let steal = [Some("steal 1.2 % > 1 %"), None, Some("steal 14.0 % > 1 %")];
        assert_eq!(told(&steal).unwrap(), "2 of 3 discarded because steal 14.0 % > 1 %");
        let two = [Some("steal 1.2 % > 1 %"), Some("a\x1b"), None];
        let said = told(&two).unwrap();
        assert!(said.starts_with("2 of 3 discarded because ") && !said.contains('\x1b'), "{said}");
        assert!(said.contains("steal 1.2 % > 1 % (1)"), "{said}");
    }
}
