//! A difference as a page.

use super::{BasisKind, Difference, Row, Side, Verdict};
use crate::by::shown;
use crate::check::counted;
use crate::sums::{measured_in_part, seconds};
use crate::Clock;
use exactop_report::plot::page::{Block, Document};
use exactop_report::statistics::CONFIDENCE;
use exactop_sums::text::sum_of_changes;

/// Makes the page; lists at most `most` rows of each kind.
pub fn page(difference: &Difference, most: usize, clock: Clock) -> Document {
    let Difference { a, b, .. } = difference;
    let mut blocks = vec![
        Block::Paragraph("A ", head(a, clock)),
        Block::Paragraph("B ", head(b, clock)),
        Block::Paragraph("", hosts(difference)),
        books(difference),
        Block::Paragraph("", come_to(difference)),
    ];
    let in_part = measured_in_part(&[&a.sums, &b.sums]).into_iter();
    blocks.extend(in_part.map(|text| Block::Paragraph("", text)));
    blocks.push(Block::Paragraph("", verdict(difference)));
    let (told, rest): (Vec<&Row>, Vec<&Row>) = difference.all().partition(|row| row.is_beyond());
    let (within, others): (Vec<&Row>, Vec<&Row>) =
        rest.into_iter().partition(|row| row.apart.is_some());
    let least = difference.measure.least;
    let noise = format!(
        "Within noise, or less than {} % of a CPU or {} % of the row:",
        least.of_cpu_pct, least.of_row_pct
    );
    let can_tell = difference.basis.can_tell();
    let unweighed = if can_tell { "Not tested:" } else { "What changed:" };
    for (title, of) in [("", told), (&*noise, within), (unweighed, others)] {
        if !of.is_empty() {
            blocks.extend((!title.is_empty()).then(|| Block::Paragraph("", title.into())));
            blocks.extend(rows(difference, &of, most));
        }
    }
    Document(blocks)
}

/// Description of a range.
fn head(side: &Side, clock: Clock) -> String {
    let found = match side.findings {
        0 => String::new(),
        n => format!("; findings on {} ('exactop fleet check' says which)", counted(n, "host")),
    };
    format!(
        "{} to {}: {}, {}{found}",
        clock(side.from_ns),
        clock(side.to_ns),
        counted(side.hosts.len() as u64, "host"),
        counted(side.sums.windows, "window"),
    )
}

/// The hosts that are compared.
fn hosts(difference: &Difference) -> String {
    let (of_a, of_b) = difference.basis.hosts();
    let hosts = |n: usize| counted(n as u64, "host");
    let (all_a, all_b) = (difference.a.hosts.len(), difference.b.hosts.len());
    match (difference.basis.kind, &difference.measure.changed) {
        (BasisKind::Pairs, _) if of_a == all_a && of_a == all_b => {
            format!("{}, each compared with itself.", hosts(of_a))
        }
        (BasisKind::Pairs, _) => format!(
            "{} in both, each compared with itself; {} in A alone and {} in B alone count in sums only.",
            hosts(of_a),
            all_a - of_a,
            all_b - of_a
        ),
        (BasisKind::Sides, _) => format!("{} compared with {of_b} others.", hosts(of_a)),
        (BasisKind::Rollout, text) => format!(
            "{} with '{}' in their names; their change is compared with that of {of_b} others.",
            hosts(of_a),
            text.as_deref().unwrap_or_default()
        ),
    }
}

/// Accounts of both sides, and their sums.
fn books(difference: &Difference) -> Block {
    let Difference { a, b, .. } = difference;
    let part = |ns: u128, of: &Side| match of.sums.capacity_ns {
        0 => "-".into(),
        all => format!("{:.1}", 100.0 * ns as f64 / all as f64),
    };
    let line = |name: &str, of: &dyn Fn(&Side) -> Option<u128>| {
        let (in_a, in_b) = (of(a)?, of(b)?);
        let change = in_b as i128 - in_a as i128;
        Some(vec![
            name.to_string(),
            seconds(in_a),
            seconds(in_b),
            signed(change),
            part(in_a, a),
            part(in_b, b),
        ])
    };
    let lines = [
        line("busy", &|s| Some(s.busy_ns())),
        line("  unnamed", &|s| Some(s.sums.unnamed_ns)),
        line("idle", &|s| Some(s.sums.idle_ns)),
        line("steal", &|s| (s.sums.steal_windows > 0).then_some(s.sums.steal_ns)),
        line("irq", &|s| (s.sums.irq_windows > 0).then_some(s.sums.irq_ns)),
        line("offline", &|s| Some(s.sums.offline_ns)),
        line("capacity", &|s| Some(s.sums.capacity_ns)),
    ];
    let titles = ["", "A", "B", "CHANGE", "A %", "B %"].map(String::from).to_vec();
    Block::Table(titles, lines.into_iter().flatten().collect())
}

fn come_to(difference: &Difference) -> String {
    let rows: i128 = difference.rows.iter().map(|row| row.delta_ns).sum();
    let unnamed = difference.unnamed.delta_ns;
    let busy = difference.delta(Side::busy_ns);
    let mut text = sum_of_changes(rows, unnamed, busy);
    let residual = difference.b.sums.residual_ns - difference.a.sums.residual_ns;
    if residual != 0 {
        text += &format!(" The books do not close: residual {residual} ns.");
    }
    text
}

fn verdict(difference: &Difference) -> String {
    let unit = difference.measure.per.unit();
    match difference.verdict() {
        Verdict::TooFewHosts => format!(
            "With fewer than {} hosts {} a difference cannot be distinguished from noise. Figures are {unit}.",
            difference.basis.fewest(),
            if difference.basis.kind == BasisKind::Pairs { "in both" } else { "on a side" }
        ),
        Verdict::NothingBeyondNoise => format!(
            "Nothing beyond noise: no tested row differs between A and B more than among the hosts of a side \
             ({CONFIDENCE} %, all rows together), by {} % of a CPU and {} % of the row or more.",
            difference.measure.least.of_cpu_pct, difference.measure.least.of_row_pct
        ),
        Verdict::BeyondNoise(n) => format!(
            "{} beyond noise ({CONFIDENCE} %, all rows together). Figures are {unit}.",
            if n == 1 { "1 row differs".into() } else { format!("{n} rows differ") }
        ),
    }
}

fn rows(difference: &Difference, rows: &[&Row], most: usize) -> Vec<Block> {
    let interval = format!("DIFFERENCE ({CONFIDENCE} %)");
    let titles = ["WHO", "", "A", "B", &interval, "CPU TIME", "HOSTS A", "B"];
    let figure = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let line = |row: &&Row| {
        let name = row.name.as_deref();
        vec![
            name.map_or("(unnamed)".into(), |name| shown(difference.by, name)),
            row.change.name().into(),
            figure(row.a),
            figure(row.b),
            apart(row),
            signed(row.delta_ns),
            row.hosts.0.to_string(),
            row.hosts.1.to_string(),
        ]
    };
    let lines = rows.iter().take(most).map(line).collect();
    let left = rows.len().saturating_sub(most);
    let others = format!("... and {left} more (--rows)");
    let table = Block::Table(titles.map(String::from).to_vec(), lines);
    [table].into_iter().chain((left > 0).then_some(Block::Paragraph("", others))).collect()
}

fn apart(row: &Row) -> String {
    let Some(change) = row.change_by_measure() else { return "-".into() };
    match row.apart.and_then(|apart| apart.interval) {
        Some((low, high)) => format!("{change:+.2} ({low:+.2}..{high:+.2})"),
        None => format!("{change:+.2}"),
    }
}

fn signed(ns: i128) -> String {
    let sign = match ns {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", seconds(ns.unsigned_abs()))
}
