//! The precise top of 2010: CPU time by kind, each process's own and its children's, a row of
//! units, and a row of sums. On a busy machine the ledger's sum is the CPUs times 100 %.
//!
//! Other time has rows of its own in brackets, so that the sum is complete: exited
//! tasks without a living ancestor, unnamed time, interrupts, and steal on idle CPUs.

use crate::plan::Page;
use crate::sum::Sum;
use exactop_model::columns::sort::{self, SortBy};
use exactop_model::words::units;
use exactop_model::{ColumnId, Counter, Row, RowKind};
use std::io::{self, Write};

/// Figures of a row, ns; empty where a figure is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    user: Sum,
    system: Sum,
    steal: Sum,
    child_user: Sum,
    child_system: Sum,
    child_steal: Sum,
    total: Sum,
}

impl Figures {
    fn from_row(row: &Row) -> Figures {
        let (user, system) = row.split_ns().ok().unzip();
        let mut total = Sum::new(row.own_taken_ns());
        total.add(Sum::new(row.children_taken_ns()));
        let own = Figures {
            user: Sum::new(user),
            system: Sum::new(system),
            steal: Sum::new(row.delta.get(Counter::StealNs)),
            total,
            ..Figures::default()
        };
        // Children belong to the process; only its leader's row shows them.
        if row.kind == RowKind::Task && !row.key.is_leader() {
            return own;
        }
        let (user, system) = row.children_split_ns().ok().unzip();
        let steal = row.children.and_then(|c| c.get(Counter::StealNs));
        Figures {
            child_user: Sum::new(user),
            child_system: Sum::new(system),
            child_steal: Sum::new(steal),
            ..own
        }
    }

    /// Figures of an exited group: all its time is a child's.
    fn of_exited(row: &Row) -> Figures {
        let Figures { user, system, steal, total, .. } = Figures::from_row(row);
        Figures {
            child_user: user,
            child_system: system,
            child_steal: steal,
            total,
            ..Figures::default()
        }
    }

    /// Time of unknown task and kind.
    fn unnamed(ns: u64) -> Figures {
        let unknown = Sum::new(None);
        Figures {
            user: unknown,
            system: unknown,
            child_user: unknown,
            child_system: unknown,
            total: Sum::new(Some(ns)),
            ..Figures::default()
        }
    }

    fn add(&mut self, other: &Figures) {
        self.user.add(other.user);
        self.system.add(other.system);
        self.steal.add(other.steal);
        self.child_user.add(other.child_user);
        self.child_system.add(other.child_system);
        self.child_steal.add(other.child_steal);
        self.total.add(other.total);
    }

    /// The cells in the order of the columns.
    fn cells(&self) -> [Sum; 7] {
        [
            self.user,
            self.system,
            self.steal,
            self.child_user,
            self.child_system,
            self.child_steal,
            self.total,
        ]
    }
}

struct Line {
    pid: String,
    figures: Figures,
    elapsed: String,
    name: String,
}

impl Line {
    fn from_row(row: &Row, page: &Page) -> Line {
        let elapsed = page.context.boottime_ns.map(|now| now.saturating_sub(row.key.start_ns));
        let id = if row.kind == RowKind::Task { row.key.tid } else { row.key.tgid };
        Line {
            pid: id.to_string(),
            figures: Figures::from_row(row),
            elapsed: elapsed.map_or("-".into(), hours),
            name: name(row, page),
        }
    }

    fn bracketed(name: &str, figures: Figures) -> Line {
        Line { pid: "-".into(), figures, elapsed: "-".into(), name: format!("[{name}]") }
    }

    fn text(&self, window_ns: u64, shown: &Shown) -> String {
        let percent = |ns: u64| format!("{:.2}", ns as f64 * 100.0 / window_ns.max(1) as f64);
        let mut line = format!("{:>7} ", self.pid);
        for (cell, _) in self.figures.cells().iter().zip(shown.cells).filter(|(_, shown)| *shown) {
            let text = cell.known().map_or("-".into(), percent);
            line.push_str(&format!("{text:>7}{}", cell.mark()));
        }
        if shown.elapsed {
            line.push_str(&format!("{:>7} ", self.elapsed));
        }
        line.push_str(&self.name);
        line.trim_end().into()
    }
}

/// The columns that fit.
struct Shown {
    cells: [bool; CELLS],
    elapsed: bool,
}

const CELLS: usize = 7;
/// Width of a column with the blank beside it.
const COLUMN: usize = 8;
/// Columns that stay with a name.
const NAME: usize = 8;
/// Cells that are left out after `Elap+`, in this order: parts of sums that stay.
const GIVE_WAY: [usize; 4] = [5, 2, 4, 3];

impl Shown {
    /// The columns that fit on a screen of this width; `None`: all.
    fn on(width: Option<usize>) -> Shown {
        let mut shown = Shown { cells: [true; CELLS], elapsed: true };
        let lacks = |shown: &Shown| width.is_some_and(|width| shown.width() + NAME > width);
        if lacks(&shown) {
            shown.elapsed = false;
        }
        for cell in GIVE_WAY {
            if lacks(&shown) {
                shown.cells[cell] = false;
            }
        }
        shown
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().filter(|shown| **shown).count();
        COLUMN * (1 + cells + usize::from(self.elapsed))
    }

    fn row(&self, [pid, cells @ .., elapsed, name]: [&str; CELLS + 3]) -> String {
        let cells = cells.iter().zip(self.cells).filter(|(_, shown)| *shown);
        let titles = cells.map(|(title, _)| title).chain(self.elapsed.then_some(&elapsed));
        let titles: String = titles.map(|title| format!(" {title:>7}")).collect();
        format!("{pid:>7}{titles} {name}")
    }
}

/// Hours and minutes: `1:05`.
fn hours(ns: u64) -> String {
    let minutes = ns / 60_000_000_000;
    format!("{}:{:02}", minutes / 60, minutes % 60)
}

fn name(row: &Row, page: &Page) -> String {
    let command = ColumnId::Command.column();
    units::cell(&(command.value)(row, &page.context), command.unit)
}

/// Writes heading, units, at most `rows` rows that took CPU time, and the sum of all rows.
pub fn write(out: &mut dyn Write, page: &Page, rows: Option<usize>) -> io::Result<()> {
    write_on(out, page, rows, None)
}

/// Writes the same on a screen of `width` columns; names stay, and parts of sums are left out.
pub fn write_on(
    out: &mut dyn Write,
    page: &Page,
    rows: Option<usize>,
    width: Option<usize>,
) -> io::Result<()> {
    let shown = Shown::on(width);
    let window_ns = page.frame.length_ns();
    let lines = lines(page);
    let mut sum = Figures::default();
    lines.iter().for_each(|line| sum.add(&line.figures));
    writeln!(out, "{}", shown.row(HEADING))?;
    writeln!(out, "{}", shown.row(UNITS))?;
    for line in lines.iter().take(rows.unwrap_or(usize::MAX)) {
        writeln!(out, "{}", line.text(window_ns, &shown))?;
    }
    let elapsed = page.context.boottime_ns.map_or("-".into(), hours);
    let sum = Line { pid: "V:V:S".into(), figures: sum, elapsed, name: String::new() };
    writeln!(out, "{}", sum.text(window_ns, &shown))
}

const HEADING: [&str; CELLS + 3] =
    ["pid", "user", "sys", "ste", "cuser", "csys", "cste", "total", "Elap+", "Name"];
const UNITS: [&str; CELLS + 3] =
    ["(#)", "(%)", "(%)", "(%)", "(%)", "(%)", "(%)", "(%)", "(hm)", "(str)"];

/// Rows that took CPU time, largest total first unless another order is requested, and time that
/// belongs to no process.
fn lines(page: &Page) -> Vec<Line> {
    let takes = |row: &&Row| Figures::from_row(row).total.known() > Some(0);
    let mut rows: Vec<&Row> = page.rows.iter().filter(takes).collect();
    sort_rows(&mut rows, page.sort, page);
    let mut lines: Vec<Line> = rows.into_iter().map(|row| Line::from_row(row, page)).collect();
    lines.extend(of_nobody(page));
    lines
}

fn sort_rows(rows: &mut [&Row], by: SortBy, page: &Page) {
    rows.sort_by(|a, b| {
        let value = |row: &Row| (by.column.value)(row, &page.context);
        sort::compare(&value(a), &value(b), by.descending).then(a.key.cmp(&b.key))
    });
}

fn of_nobody(page: &Page) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut orphans = Figures::default();
    for row in page.exited.iter().filter(|row| row.ident.ppid == 0) {
        orphans.add(&Figures::of_exited(row));
    }
    let only = |total| Figures { total: Sum::new(total), ..Figures::default() };
    let books = &page.frame.books;
    // Time that no row's total holds: %CPU excludes both, and steal may hit an idle CPU.
    let of_rows = |row: &Row| {
        let own = row.delta.get(Counter::StealNs).unwrap_or(0);
        own + row.children.and_then(|c| c.get(Counter::StealNs)).unwrap_or(0)
    };
    let stolen: u64 =
        page.rows.iter().map(of_rows).sum::<u64>() + orphans.child_steal.known().unwrap_or(0);
    // If exits are not seen, much unnamed time is already in the parents' cuser and csys.
    let unnamed = if page.frame.died.is_some() { books.unnamed_ns } else { 0 };
    for (name, figures) in [
        ("exited, no ancestor lives", orphans),
        ("unnamed", Figures::unnamed(unnamed)),
        ("interrupts", only(books.irq_ns)),
        ("steal beside tasks", only(books.steal_ns.map(|ns| ns.saturating_sub(stolen)))),
    ] {
        if figures.total.known().is_some_and(|ns| ns > 0) && page.is_whole {
            lines.push(Line::bracketed(name, figures));
        }
    }
    lines
}
