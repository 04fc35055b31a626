//! Pictures of a range: where the time went, which groups used it, and on which CPUs.

use super::ordered;
use crate::accounts::Accounts;
use crate::slots::{to_draw, Slot};
use crate::stretch::Stretch;
use crate::text::Clock;
use exactop_report::plot::page::Block;
use exactop_report::plot::{
    Areas, Cell, Heat, PlotError, Whole, IRQ, OTHERS, PALE, STEAL, TASKS, UNNAMED,
};
use std::collections::{BTreeMap, BTreeSet};

/// Most pieces of time that are drawn; each gap may add one.
const PIECES: usize = 160;
/// Rows with their own colour.
const TOP: usize = 5;
const SECOND: i128 = 1_000_000_000;

/// The time axis: since the beginning, in a unit that suits the length.
struct Axis {
    from: i128,
    unit_ns: f64,
    label: String,
}

impl Axis {
    fn from_stretch(stretch: &Stretch, clock: Clock) -> Option<Axis> {
        let (from, to) = stretch.spans?;
        let (unit_ns, unit) = match (to - from) / SECOND {
            ..300 => (1e9, "seconds"),
            300..18_000 => (60e9, "minutes"),
            _ => (3600e9, "hours"),
        };
        Some(Axis { from, unit_ns, label: format!("{unit} since {}", clock(from)) })
    }

    fn at(&self, wall_ns: i128) -> f64 {
        (wall_ns - self.from) as f64 / self.unit_ns
    }
}

/// All pictures.
pub fn charts(stretch: &Stretch, clock: Clock) -> Result<Vec<Block>, PlotError> {
    let Some(axis) = Axis::from_stretch(stretch, clock) else { return Ok(Vec::new()) };
    let pieces = to_draw(&stretch.slots, PIECES);
    let mut blocks = Vec::new();
    for areas in [accounts(&pieces, &axis), rows(stretch, &pieces, &axis)] {
        let mut caption = format!("{}; together 100 % of the CPUs at every instant.", areas.title);
        for name in &areas.unmeasured {
            caption +=
                &format!(" Not measured in every window: {name}. Tasks and idle contain it.");
        }
        blocks.push(Block::Picture(file(&areas.title), caption, areas.svg()?));
    }
    let heat = match sub_second(stretch, clock) {
        Some(heat) => heat,
        None => cpus(stretch, &pieces, &axis),
    };
    let caption = format!("{}: executing tasks.", heat.title);
    blocks.push(Block::Picture(file(&heat.title), caption, heat.svg()?));
    Ok(blocks)
}

fn file(title: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("{}.svg", title.chars().map(word).collect::<String>())
}

fn wholes(pieces: &[Slot], axis: &Axis, parts: impl Fn(&Slot) -> Vec<u64>) -> Vec<Whole> {
    let whole = |slot: &Slot| Whole {
        from: axis.at(slot.from_wall_ns),
        to: axis.at(slot.to_wall_ns),
        parts: parts(slot),
    };
    pieces.iter().map(whole).collect()
}

fn names(names: &[(&str, usize)]) -> Vec<(String, usize)> {
    names.iter().map(|&(name, colour)| (name.to_string(), colour)).collect()
}

/// An account of the picture: its name, its colour, and its time; `None`: not measured.
type Account = (&'static str, usize, fn(&Accounts) -> Option<u64>);

const ACCOUNTS: [Account; 5] = [
    ("tasks", TASKS, |accounts| Some(accounts.named_ns)),
    ("unnamed", UNNAMED, |accounts| Some(accounts.unnamed_ns)),
    ("interrupts", IRQ, Accounts::irq_ns),
    ("stolen", STEAL, Accounts::steal_ns),
    ("idle, offline", PALE, |accounts| Some(accounts.idle_ns + accounts.offline_ns)),
];

/// The accounts over time; a residual is in no account and is left out. So is
/// an account that was not measured.
fn accounts(pieces: &[Slot], axis: &Axis) -> Areas {
    let is_measured = |(_, _, ns): &Account| pieces.iter().all(|slot| ns(&slot.accounts).is_some());
    let (measured, unmeasured): (Vec<Account>, Vec<Account>) =
        ACCOUNTS.into_iter().partition(is_measured);
    let parts = |slot: &Slot| measured.iter().filter_map(|(_, _, ns)| ns(&slot.accounts)).collect();
    Areas {
        title: "Where the CPUs' time went".into(),
        x_label: axis.label.clone(),
        y_label: "% of all CPUs".into(),
        names: measured.iter().map(|&(name, colour, _)| (name.to_string(), colour)).collect(),
        wholes: wholes(pieces, axis, parts),
        unmeasured: unmeasured.into_iter().map(|(name, ..)| name.to_string()).collect(),
    }
}

fn rows(stretch: &Stretch, pieces: &[Slot], axis: &Axis) -> Areas {
    let top: Vec<(u32, String)> = ordered(stretch)
        .into_iter()
        .take(TOP)
        .map(|(number, row)| (number, row.group.to_string()))
        .collect();
    let parts = |slot: &Slot| {
        let run_ns = |number: &u32| slot.rows.get(number).map_or(0, |sum| sum.run_ns);
        let mut parts: Vec<u64> = top.iter().map(|(number, _)| run_ns(number)).collect();
        let accounts = &slot.accounts;
        let others = accounts.busy_ns().saturating_sub(parts.iter().sum());
        let not_busy = [
            Some(accounts.idle_ns),
            Some(accounts.offline_ns),
            accounts.irq_ns(),
            accounts.steal_ns(),
        ];
        parts.extend([others, not_busy.into_iter().flatten().sum()]);
        parts
    };
    let mut all: Vec<(String, usize)> =
        top.iter().enumerate().map(|(at, (_, name))| (name.clone(), at)).collect();
    all.extend(names(&[("all others", OTHERS), ("not used by tasks", PALE)]));
    Areas {
        title: format!("CPU time by {}", stretch.by.name()),
        x_label: axis.label.clone(),
        y_label: "% of all CPUs".into(),
        names: all,
        wholes: wholes(pieces, axis, parts),
        ..Areas::default()
    }
}

/// CPU use over time, a row for each CPU.
fn cpus(stretch: &Stretch, pieces: &[Slot], axis: &Axis) -> Heat {
    let numbers: BTreeSet<u32> =
        stretch.slots.iter().flat_map(|slot| slot.cpus.keys().copied()).collect();
    let numbers: Vec<u32> = numbers.into_iter().collect();
    let cell = |slot: &Slot, row: usize, cpu: &u32| {
        let used = slot.cpus.get(cpu).filter(|used| used.length_ns > 0)?;
        let part = used.busy_ns as f64 / used.length_ns as f64;
        Some(Cell { row, from: axis.at(slot.from_wall_ns), to: axis.at(slot.to_wall_ns), part })
    };
    let of = |slot: &Slot| {
        let cells = numbers.iter().enumerate().filter_map(|(row, cpu)| cell(slot, row, cpu));
        cells.collect::<Vec<Cell>>()
    };
    Heat {
        title: "Use of each CPU".into(),
        x_label: axis.label.clone(),
        rows: numbers.iter().map(|cpu| format!("CPU {cpu}")).collect(),
        cells: pieces.iter().flat_map(of).collect(),
    }
}

/// Use within each second, if windows are short: a column for each second, its beginning at the
/// top.
fn sub_second(stretch: &Stretch, clock: Clock) -> Option<Heat> {
    let (from, _) = stretch.spans?;
    let (windows, longest_ns) = stretch.short.all()?;
    let rows = (SECOND as u64 / longest_ns).clamp(2, 20) as usize;
    let length = SECOND / rows as i128;
    let begin = from.div_euclid(SECOND) * SECOND;
    // Windows in one cell are summed.
    let mut sums: BTreeMap<(i128, usize), (u64, u64)> = BTreeMap::new();
    for window in windows {
        // A window belongs to the cell of its middle.
        let middle = (window.from_wall_ns + window.to_wall_ns) / 2 - begin;
        let row = (middle.rem_euclid(SECOND) / length) as usize;
        let cell = sums.entry((middle.div_euclid(SECOND), row.min(rows - 1))).or_default();
        cell.0 += window.busy_ns;
        cell.1 += window.capacity_ns;
    }
    let cells = sums.into_iter().filter(|(_, (_, all))| *all > 0);
    let cells = cells.map(|((second, row), (busy, all))| {
        let from = second as f64;
        Cell { row, from, to: from + 1.0, part: busy as f64 / all as f64 }
    });
    let name = |row: usize| format!("{} ms", row * 1000 / rows);
    Some(Heat {
        title: "Use of all CPUs within each second".into(),
        x_label: format!("seconds since {}", clock(begin)),
        rows: (0..rows).map(name).collect(),
        cells: cells.collect(),
    })
}
