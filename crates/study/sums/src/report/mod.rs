//! The report of a range as a page: summary, figures and pictures.

mod figures;
mod plots;

pub use figures::json;

use crate::pairs::Pairs;
use crate::stretch::{Stretch, Total};
use crate::text::{head, seconds, Clock};
use exactop_model::blame::rows::VictimRow;
use exactop_model::owner::Grouping;
use exactop_model::words::blame::culprits;
use exactop_model::Counter;
use exactop_report::plot::page::{Block, Document};
use exactop_report::plot::PlotError;

/// Culprits of a victim in the table.
const CULPRITS: usize = 3;

/// Makes the page; its table has at most `most` rows. `drawn` adds the pictures.
///
/// # Errors
/// A picture cannot be drawn.
pub fn page(
    stretch: &Stretch,
    most: usize,
    drawn: bool,
    clock: Clock,
) -> Result<Document, PlotError> {
    let Some((from, to)) = stretch.spans else {
        return Ok(Document(vec![Block::Heading(1, "No window is recorded".into())]));
    };
    let title = format!("CPU time from {} to {}", clock(from), clock(to));
    let mut blocks = vec![
        Block::Heading(1, title),
        Block::Paragraph("", head(stretch, clock)),
        Block::Paragraph("", in_words(stretch)),
    ];
    if drawn {
        blocks.extend(plots::charts(stretch, clock)?);
    }
    blocks.push(Block::Heading(2, "Where the CPUs' time went".into()));
    blocks.push(accounts(stretch));
    blocks.push(Block::Heading(2, format!("CPU time by {}", stretch.by.name())));
    blocks.push(rows(stretch, most));
    if let Some(pairs) = &stretch.pairs {
        blocks.push(Block::Heading(2, "Who kept whom off the CPU".into()));
        let mut remarks: Vec<String> = pairs.lack(stretch.windows).into_iter().collect();
        if stretch.by == Grouping::Command {
            remarks.push("Waits before an exec stand under the earlier name.".into());
        }
        if !remarks.is_empty() {
            blocks.push(Block::Paragraph("", remarks.join(" ")));
        }
        blocks.push(victims(pairs, most));
    }
    if !stretch.gaps.is_empty() {
        blocks.push(Block::Heading(2, "Not recorded".into()));
        blocks.push(Block::List(stretch.gaps.iter().map(|gap| gap_in_words(gap, clock)).collect()));
    }
    Ok(Document(blocks))
}

/// Rows, those with the most CPU time first; without rows that did nothing.
pub(crate) fn ordered(stretch: &Stretch) -> Vec<(u32, &Total)> {
    let mut rows: Vec<(u32, &Total)> = (0..).zip(&stretch.rows).collect();
    rows.retain(|(_, row)| !row.is_nothing());
    rows.sort_by(|(_, x), (_, y)| {
        y.sum.run_ns.cmp(&x.sum.run_ns).then_with(|| x.group.cmp(&y.group))
    });
    rows
}

fn part(ns: u64, of: u64) -> String {
    match of {
        0 => "-".into(),
        all => format!("{:.1}", 100.0 * ns as f64 / all as f64),
    }
}

fn in_words(stretch: &Stretch) -> String {
    let accounts = &stretch.accounts;
    let all = accounts.capacity_ns;
    let mut text = format!(
        "Of {} of CPU time {} was used, {} %",
        seconds(all as f64),
        seconds(accounts.busy_ns() as f64),
        part(accounts.busy_ns(), all)
    );
    let rows = ordered(stretch);
    let said: Vec<String> = rows
        .iter()
        .take(3)
        .filter(|(_, row)| row.sum.run_ns > 0)
        .map(|(_, row)| format!("{} ({} %)", row.group, part(row.sum.run_ns, all)))
        .collect();
    if !said.is_empty() {
        text += &format!("; the largest: {}", said.join(", "));
    }
    for (who, ns, measured) in [
        ("the hypervisor", accounts.steal_ns(), accounts.steal_windows()),
        ("interrupts", accounts.irq_ns(), accounts.irq_windows()),
    ] {
        text += &match (ns, measured) {
            (Some(ns), _) => format!("; {who} took {} %", part(ns, all)),
            (None, 0) => format!("; the time of {who} is not measured separately"),
            (None, some) => format!(
                "; only {some} of {} windows measure the time of {who} separately: tasks and idle contain it",
                stretch.windows
            ),
        };
    }
    let waited = rows.iter().map(|(_, row)| row.counters.get(Counter::LatNs)).sum::<Option<u64>>();
    if let Some(ns) = waited {
        text += &format!("; tasks waited {} for a CPU", seconds(ns as f64));
    }
    text + "."
}

fn accounts(stretch: &Stretch) -> Block {
    let accounts = &stretch.accounts;
    let known = |ns: Option<u64>| ns.map_or("-".into(), |ns| seconds(ns as f64));
    let share = |ns: Option<u64>| ns.map_or("-".into(), |ns| part(ns, accounts.capacity_ns));
    let line = |name: &str, ns: Option<u64>| vec![name.to_string(), known(ns), share(ns)];
    let mut lines = vec![
        line("tasks with a name", Some(accounts.named_ns)),
        line("unnamed", Some(accounts.unnamed_ns)),
        line("interrupts", accounts.irq_ns()),
        line("stolen", accounts.steal_ns()),
        line("idle", Some(accounts.idle_ns)),
        line("offline", Some(accounts.offline_ns)),
    ];
    let residual = accounts.residual_ns;
    lines.push(vec!["residual".into(), format!("{residual} ns"), String::new()]);
    lines.push(line("CPUs x time", Some(accounts.capacity_ns)));
    Block::Table(["account", "CPU time", "%"].map(String::from).to_vec(), lines)
}

fn rows(stretch: &Stretch, most: usize) -> Block {
    let titles = [
        "who",
        "CPU time",
        "% of all CPUs",
        "% of one CPU",
        "waited for a CPU",
        "throttled",
        "switched in",
        "exited",
    ];
    let rows = ordered(stretch);
    let left_out = rows.len().saturating_sub(most);
    let known = |ns: Option<u64>| ns.map_or("-".into(), |ns| seconds(ns as f64));
    let line = |(_, row): &(u32, &Total)| {
        vec![
            row.group.to_string(),
            seconds(row.sum.run_ns as f64),
            part(row.sum.run_ns, stretch.accounts.capacity_ns),
            part(row.sum.run_ns, stretch.length_ns),
            known(row.counters.get(Counter::LatNs)),
            known(row.counters.get(Counter::ThrottleNs)),
            row.counters.get(Counter::Dispatches).map_or("-".into(), |n| n.to_string()),
            stretch.exits(row).map_or("-".into(), |n| n.to_string()),
        ]
    };
    let mut lines: Vec<Vec<String>> = rows.iter().take(most).map(line).collect();
    if left_out > 0 {
        let rest: u64 = rows.iter().skip(most).map(|(_, row)| row.sum.run_ns).sum();
        let mut last = vec![
            format!("({left_out} others)"),
            seconds(rest as f64),
            part(rest, stretch.accounts.capacity_ns),
            part(rest, stretch.length_ns),
        ];
        last.resize(titles.len(), String::new());
        lines.push(last);
    }
    Block::Table(titles.map(String::from).to_vec(), lines)
}

fn victims(pairs: &Pairs, most: usize) -> Block {
    let titles = ["who waited", "waited", "switched in", "kept off by"];
    let waited: Vec<&VictimRow> = pairs.rows.iter().filter(|row| row.waits.lat_ns != 0).collect();
    let line = |row: &&VictimRow| {
        vec![
            row.victim.clone(),
            seconds(row.waits.lat_ns as f64),
            row.waits.dispatches.to_string(),
            culprits(row, CULPRITS),
        ]
    };
    let mut lines: Vec<Vec<String>> = waited.iter().take(most).map(line).collect();
    if let left_out @ 1.. = waited.len().saturating_sub(most) {
        let rest = waited.iter().skip(most);
        let [waited_ns, dispatches] = rest
            .map(|row| [row.waits.lat_ns, row.waits.dispatches])
            .fold([0, 0], |[x, y], [ns, n]| [x + ns, y + n]);
        let others = format!("({left_out} others)");
        let waited = seconds(waited_ns as f64);
        lines.push(vec![others, waited, dispatches.to_string(), String::new()]);
    }
    Block::Table(titles.map(String::from).to_vec(), lines)
}

fn gap_in_words(gap: &exactop_recording::Gap, clock: Clock) -> String {
    let length = gap.length_ns.map_or("".into(), |ns| format!(" ({})", seconds(ns as f64)));
    format!("{} to {}{length}: {}", clock(gap.from_wall_ns), clock(gap.to_wall_ns), gap.why.text())
}
