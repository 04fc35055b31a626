//! The report as a page.

use super::{plots, Report, Row};
use crate::check;
use crate::sums::{pct, seconds};
use crate::Clock;
use exactop_report::plot::page::{Block, Document};
use exactop_report::plot::PlotError;

/// Most hosts with findings that are listed.
const FINDINGS: usize = 10;

/// Makes the page; its table has at most `most` rows. `drawn` adds the pictures.
///
/// # Errors
/// A picture cannot be drawn.
pub fn page(
    report: &Report,
    most: usize,
    drawn: bool,
    clock: Clock,
) -> Result<Document, PlotError> {
    let title =
        format!("The fleet's CPU time from {} to {}", clock(report.from_ns), clock(report.to_ns));
    let mut blocks = vec![Block::Heading(1, title), Block::Paragraph("", in_words(report))];
    if drawn {
        blocks.extend(plots::charts(report, clock)?);
    }
    blocks.push(Block::Heading(2, "Where the CPUs' time went".into()));
    blocks.push(accounts(report));
    blocks.push(Block::Heading(2, format!("CPU time by {}", report.by.name())));
    blocks.push(rows(report, most));
    blocks.push(Block::Heading(2, "Balance of the books".into()));
    blocks.extend(check::page(&report.balance, FINDINGS, clock).0);
    Ok(Document(blocks))
}

/// CPU time, in seconds or hours depending on the total.
fn time(ns: u128, all: u128) -> String {
    match all {
        0..36_000_000_000_000 => seconds(ns),
        _ => format!("{:.2} h", ns as f64 / 3.6e12),
    }
}

fn in_words(report: &Report) -> String {
    let (sums, all) = (&report.sums, report.sums.cpus_x_time_ns);
    let used = sums.named_ns() + sums.unnamed_ns;
    let mut text = format!(
        "{}; of {} of CPU time {} was used, {} %",
        check::counted(report.balance.present_hosts().count() as u64, "host"),
        time(all, all),
        time(used, all),
        pct(used as i128, all)
    );
    let share = |row: &Row| format!("{} ({} %)", report.shown(row), pct(row.run_ns as i128, all));
    let largest: Vec<String> =
        report.rows.iter().take(3).filter(|row| row.run_ns > 0).map(share).collect();
    if !largest.is_empty() {
        text += &format!("; the largest: {}", largest.join(", "));
    }
    if sums.steal_windows > 0 {
        let least = if sums.steal_windows < sums.windows { "at least " } else { "" };
        text += &format!("; hypervisors took {least}{} %", pct(sums.steal_ns as i128, all));
    }
    text += ".";
    let hosts = &report.balance.hosts;
    let doubled: u64 = hosts.iter().map(|host| host.doubled).sum();
    if doubled > 0 {
        let rows = check::counted(doubled, "duplicate row");
        text += &format!(" {rows}: here each window counts once.");
    }
    let shared: Vec<&str> = hosts
        .iter()
        .filter(|host| !host.boots_at_once.is_empty())
        .map(|host| &*host.name)
        .collect();
    if !shared.is_empty() {
        text += &format!(
            " Two machines have the name {}: rows by host have the boot.",
            shared.join(", ")
        );
    }
    let unwell = hosts.iter().filter(|host| !host.is_well()).count() as u64;
    if unwell > 0 {
        text += &format!(" There are findings on {}: see below.", check::counted(unwell, "host"));
    }
    text
}

fn accounts(report: &Report) -> Block {
    let sums = &report.sums;
    let line = |(name, ns): (&str, Option<i128>)| {
        let known = ns.map_or("-".into(), |ns| match u128::try_from(ns) {
            Ok(ns) => time(ns, sums.cpus_x_time_ns),
            Err(_) => format!("{ns} ns"),
        });
        vec![name.to_string(), known, ns.map_or("-".into(), |ns| pct(ns, sums.cpus_x_time_ns))]
    };
    let mut lines: Vec<Vec<String>> = sums.accounts().into_iter().map(line).collect();
    lines.push(line(("CPUs x time", Some(sums.cpus_x_time_ns as i128))));
    Block::Table(["account", "CPU time", "%"].map(String::from).to_vec(), lines)
}

fn rows(report: &Report, most: usize) -> Block {
    let titles =
        ["who", "CPU time", "% of all CPUs", "waited for a CPU", "throttled", "exited", "hosts"];
    let all = report.sums.cpus_x_time_ns;
    let known = |ns: Option<u128>| ns.map_or("-".into(), |ns| time(ns, all));
    let line = |row: &Row| {
        vec![
            report.shown(row),
            time(row.run_ns, all),
            pct(row.run_ns as i128, all),
            known(row.lat_ns),
            known(row.throttle_ns),
            row.exited.map_or("-".into(), |n| n.to_string()),
            row.hosts.to_string(),
        ]
    };
    let mut lines: Vec<Vec<String>> = report.rows.iter().take(most).map(line).collect();
    let others = report.rows.get(most..).unwrap_or_default();
    if !others.is_empty() {
        let rest: u128 = others.iter().map(|row| row.run_ns).sum();
        let mut last =
            vec![format!("({} others)", others.len()), time(rest, all), pct(rest as i128, all)];
        last.resize(titles.len(), String::new());
        lines.push(last);
    }
    Block::Table(titles.map(String::from).to_vec(), lines)
}
