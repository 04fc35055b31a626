//! A difference as text.

use crate::compare::{Difference, Least, Row, Verdict};
use crate::measure::Per;
use crate::pairs::PairChange;
use crate::stretch::Stretch;
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use exactop_model::text::escape::escape_str;
use exactop_model::words::blame::culprit_name;
use exactop_recording::Gap;
use exactop_report::statistics::{CONFIDENCE, FEWEST};
use std::fmt::Write;

/// Formats a wall clock time.
pub type Clock<'a> = &'a dyn Fn(i128) -> String;

/// The whole difference; at most `most` rows of each kind.
pub fn difference(difference: &Difference, most: usize, clock: Clock) -> String {
    let mut out = String::new();
    let Difference { a, b, per, .. } = difference;
    let _ = writeln!(out, "A  {}", head(a, clock));
    let _ = writeln!(out, "B  {}", head(b, clock));
    out.push_str(&apples_and_oranges(a, b));
    out.push('\n');
    out.push_str(&books(difference));
    out.push('\n');
    let _ = writeln!(out, "{}", verdict(difference));
    let (told, rest): (Vec<&Row>, Vec<&Row>) = difference.all().partition(|row| row.is_beyond());
    if !told.is_empty() {
        out.push('\n');
        out.push_str(&rows(&told, most, *per));
    }
    let (within, others): (Vec<&Row>, Vec<&Row>) =
        rest.into_iter().partition(|row| row.apart.is_some());
    let unweighed = if difference.can_tell() { "Not tested:" } else { "What changed:" };
    let Least { of_cpu_pct, of_row_pct } = difference.least;
    let noise =
        format!("Within noise, or less than {of_cpu_pct} % of a CPU or {of_row_pct} % of the row:");
    for (title, of) in [(noise.as_str(), within), (unweighed, others)] {
        if !of.is_empty() {
            let _ = write!(out, "\n{title}\n{}", rows(&of, most, *per));
        }
    }
    if let Some(changes) = difference.pairs() {
        let title = "Who kept whom off the CPU, ms in each second (not tested against noise):";
        let _ = writeln!(out, "\n{title}");
        for (side, stretch) in [("A", a), ("B", b)] {
            if let Some(lack) = stretch.pairs.as_ref().and_then(|pairs| pairs.lack(stretch.windows))
            {
                let _ = writeln!(out, "{side}  {lack}");
            }
        }
        out.push_str(&pairs(&changes, most));
    }
    out
}

/// Description of a stretch.
pub fn head(stretch: &Stretch, clock: Clock) -> String {
    let Some((from, to)) = stretch.spans else { return "no window".into() };
    let machine = stretch.machine.as_ref();
    let host = machine.map_or("-".into(), |m| escape_str(&m.host));
    let kernel = machine.map_or("-".into(), |m| escape_str(&m.kernel));
    let mut text = format!(
        "{} to {}: {}, {} of {}; {host}, Linux {kernel}",
        clock(from),
        clock(to),
        count(stretch.windows, "window"),
        seconds(stretch.length_ns as f64),
        count(stretch.cpus as u64, "CPU"),
    );
    for later in &stretch.later {
        let _ = write!(text, ", then booted with Linux {}", escape_str(&later.kernel));
    }
    text += &gaps(&stretch.gaps);
    if stretch.inexact > 0 {
        let are = if stretch.inexact == 1 { "is" } else { "are" };
        let _ = write!(text, "; {} {are} inexact", count(stretch.inexact, "window"));
    }
    text
}

/// Their number and length; a gap across a boot has no known length.
fn gaps(all: &[Gap]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let known: Vec<u64> = all.iter().filter_map(|gap| gap.length_ns).collect();
    let unknown = all.len() - known.len();
    let length = match (known.is_empty(), unknown) {
        (false, 0) => format!(", {}", seconds(known.iter().sum::<u64>() as f64)),
        (true, _) => " of unknown length".into(),
        (false, _) => {
            let lost = seconds(known.iter().sum::<u64>() as f64);
            format!(", {lost} and {unknown} of unknown length")
        }
    };
    format!("; {}{length}", count(all.len() as u64, "gap"))
}

/// Notes on what makes the two stretches hard to compare.
fn apples_and_oranges(a: &Stretch, b: &Stretch) -> String {
    let (Some(of_a), Some(of_b)) = (&a.machine, &b.machine) else { return String::new() };
    let mut out = String::new();
    if of_a.host != of_b.host {
        out.push_str("   Two machines.\n");
    } else if of_a.kernel != of_b.kernel {
        out.push_str("   Two kernels.\n");
    }
    if a.cpus != b.cpus {
        let _ = writeln!(out, "   {} and {}.", count(a.cpus as u64, "CPU"), b.cpus);
    }
    if a.anonymous || b.anonymous {
        out.push_str(
            "   Names are hidden: in two files neither the machine nor a name need be the same.\n",
        );
    }
    out
}

fn verdict(difference: &Difference) -> String {
    let unit = difference.per.unit();
    match difference.verdict() {
        Verdict::TooFewWindows => format!(
            "With fewer than {FEWEST} windows on a side a difference cannot be distinguished from noise. \
             Figures are {unit}."
        ),
        Verdict::NothingWeighed => format!(
            "Nothing could be tested against noise: no row has a figure in every piece of time of \
             both sides. Figures are {unit}."
        ),
        Verdict::NothingBeyondNoise => format!(
            "Nothing beyond noise: no tested row differs between A and B more than among the windows \
             of a side ({CONFIDENCE} %, all rows together), by {} % of a CPU and {} % of the \
             row or more.",
            difference.least.of_cpu_pct, difference.least.of_row_pct
        ),
        Verdict::BeyondNoise(n) => format!(
            "{} beyond noise ({CONFIDENCE} %, all rows together). Figures are {unit}.",
            if n == 1 { "1 row differs".into() } else { format!("{n} rows differ") }
        ),
    }
}

/// Accounts of both sides, and their changes.
fn books(difference: &Difference) -> String {
    let Difference { a, b, .. } = difference;
    let mut table = table(["", "A", "B", "CHANGE", "A %", "B %"]);
    let part = |ns: u64, of: &Stretch| match of.accounts.capacity_ns {
        0 => "-".into(),
        all => format!("{:.1}", 100.0 * ns as f64 / all as f64),
    };
    let mut line = |name: &str, of: &dyn Fn(&Stretch) -> Option<u64>| {
        let (Some(in_a), Some(in_b)) = (of(a), of(b)) else { return };
        let change = in_b as f64 - in_a as f64;
        table.add_row([
            name.into(),
            seconds(in_a as f64),
            seconds(in_b as f64),
            signed(change),
            part(in_a, a),
            part(in_b, b),
        ]);
    };
    line("busy", &|s| Some(s.accounts.busy_ns()));
    line("  unnamed", &|s| Some(s.accounts.unnamed_ns));
    line("idle", &|s| Some(s.accounts.idle_ns));
    line("steal", &|s| s.accounts.steal_ns());
    line("irq", &|s| s.accounts.irq_ns());
    if difference.delta(|s| s.accounts.offline_ns) != 0 {
        line("offline", &|s| Some(s.accounts.offline_ns));
    }
    line("capacity", &|s| Some(s.accounts.capacity_ns));
    let mut out = text(&table);
    let rows: i64 = difference.rows.iter().map(|row| row.delta_ns).sum();
    let unnamed = difference.unnamed.delta_ns;
    let busy = difference.delta(|s| s.accounts.busy_ns());
    let _ = writeln!(out, "{}", sum_of_changes(rows.into(), unnamed.into(), busy.into()));
    let residual = b.accounts.residual_ns - a.accounts.residual_ns;
    if residual != 0 {
        let _ = writeln!(out, "The books do not close: residual {residual} ns.");
    }
    out
}

/// Compares the changes of all rows and of unnamed time with that of busy time, all in ns.
pub fn sum_of_changes(rows: i128, unnamed: i128, busy: i128) -> String {
    let parts = format!("Rows {rows} ns and unnamed {unnamed} ns sum to");
    match rows + unnamed {
        sum if sum == busy => format!("{parts} the change of busy time, {busy} ns."),
        sum => format!("{parts} {sum} ns, but busy time changed by {busy} ns."),
    }
}

fn rows(rows: &[&Row], most: usize, per: Per) -> String {
    let interval = format!("DIFFERENCE ({CONFIDENCE} %)");
    let mut table = table(["", "A", "B", &interval, "CPU TIME", "WHO"]);
    let figure = |value: Option<f64>| value.map_or("-".into(), |value| shown(value, per));
    for row in rows.iter().take(most) {
        let group = row.group.as_ref();
        let name = group.map_or("(unnamed)".into(), ToString::to_string);
        table.add_row([
            row.change.name().into(),
            figure(row.a),
            figure(row.b),
            apart(row, per),
            signed(row.delta_ns as f64),
            name,
        ]);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        if at == 5 {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    text(&table) + &and_more(rows.len().saturating_sub(most))
}

/// Pairs of victims and culprits on both sides.
fn pairs(changes: &[PairChange], most: usize) -> String {
    let mut table = table(["A", "B", "CHANGE", "WAITED", "KEPT OFF BY"]);
    for change in changes.iter().take(most) {
        let [in_a, in_b] = change.ms_a_second;
        let culprit = culprit_name(change.kind, &change.culprit);
        let figures = [format!("{in_a:.2}"), format!("{in_b:.2}"), format!("{:+.2}", in_b - in_a)];
        table.add_row(figures.into_iter().chain([change.victim.clone(), culprit.into()]));
    }
    for at in [3, 4] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    let left_out = changes.len().saturating_sub(most);
    text(&table) + &and_more(left_out)
}

/// The line after a table that leaves rows out.
fn and_more(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        n => format!("... and {n} more (--rows)\n"),
    }
}

fn apart(row: &Row, per: Per) -> String {
    let sign = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, shown(value, per));
    let Some(change) = row.change_by_measure() else { return "-".into() };
    match row.apart.and_then(|apart| apart.interval) {
        Some((low, high)) => format!("{} ({}..{})", sign(change), sign(low), sign(high)),
        None => sign(change),
    }
}

fn shown(value: f64, per: Per) -> String {
    match per {
        Per::Work(_) => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

/// A number with a noun in the right form.
fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Seconds with about three significant digits.
pub(crate) fn seconds(ns: f64) -> String {
    let s = ns / 1e9;
    match s.abs() {
        at if at >= 100.0 => format!("{s:.1} s"),
        at if at >= 1.0 => format!("{s:.2} s"),
        _ => format!("{s:.3} s"),
    }
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns > 0.0 { "+" } else { "" }, seconds(ns))
}

fn table<'a>(titles: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(titles);
    for (at, column) in table.column_iter_mut().enumerate() {
        let side = if at == 0 { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(side);
        column.set_padding((0, 2));
    }
    table
}

fn text(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}
