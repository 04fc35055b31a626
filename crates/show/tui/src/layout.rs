//! Places the parts of a screen: lines of the header, CPU cells, columns. Only arithmetic, no
//! drawing.
//!
//! Nothing wraps. Parts that do not fit are left out, the least important first.

use crate::settings::AutoSwitch;
use exactop_model::{Column, ColumnId};
use std::collections::HashMap;

/// Least width; a narrower screen shows only that it is too small.
pub const MIN_WIDTH: u16 = 40;
/// Least height; see [`MIN_WIDTH`].
pub const MIN_HEIGHT: u16 = 10;
/// From this width on, two short lines of the header share one.
pub(crate) const WIDE: u16 = 160;
/// From this width on, the table shows command lines unless the user chose names.
pub const COMMAND_LINES_FROM: u16 = 120;
/// Rows that the table keeps under a long header.
const MIN_ROWS: u16 = 5;

/// The widest canvas; no real terminal has more columns.
const MOST_WIDTH: u16 = 1024;
/// The most cells of a canvas. Each takes some hundred bytes, twice.
const MOST_CELLS: u32 = 1 << 18;

/// The part of a terminal that is drawn on: all of it, up to the size of any real one. A terminal
/// may claim 65535 lines of 65535 columns.
pub fn canvas_size(width: u16, height: u16) -> (u16, u16) {
    let width = width.min(MOST_WIDTH);
    let most = MOST_CELLS / u32::from(width.max(1));
    (width, u16::try_from(most).unwrap_or(u16::MAX).min(height))
}

/// A line of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderLine {
    /// Host name, time, load; cost of looking.
    Machine,
    /// The time line of a recording.
    Time,
    /// The books, with the kernel's tick counts if there is room for both.
    Books,
    /// Findings on the window.
    Findings,
    /// The kernel's tick counts.
    Ticks,
    /// The n-th line of CPUs.
    Cpus(u16),
    /// Numbers of tasks by state, with the memory if there is room for both.
    Tasks,
    /// Memory and swap.
    Memory,
}

/// CPU cells, several per line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuGrid {
    /// Cells per line.
    pub per_line: u16,
    pub lines: u16,
    /// Width of a cell without the gap after it.
    pub cell: u16,
    /// Width of the bar in a cell; 0: only the figure.
    pub bar: u16,
}

/// The gap between two CPU cells.
pub const CPU_GAP: u16 = 2;
const FIGURE: u16 = 6;

/// CPUs that are shown one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// Number of CPUs.
    pub count: usize,
    /// The largest CPU number; it exceeds the count if some are offline.
    pub last: u32,
}

impl Cpus {
    /// This number of CPUs, numbered from 0 without gaps.
    pub fn without_gaps(count: usize) -> Cpus {
        Cpus { count, last: count.saturating_sub(1) as u32 }
    }

    fn has_gaps(self) -> bool {
        self != Cpus::without_gaps(self.count)
    }
}

/// Digits of a number.
fn digits(n: u32) -> u16 {
    n.checked_ilog10().unwrap_or(0) as u16 + 1
}

/// Cells for `cpus` on `width` columns and at most `max_lines` lines. CPUs beyond that have no
/// cell.
pub fn cpu_grid(width: u16, cpus: Cpus, max_lines: u16) -> Option<CpuGrid> {
    let Cpus { count: cpus, last } = cpus;
    if cpus == 0 || max_lines == 0 {
        return None;
    }
    let count = cpus.min(usize::from(u16::MAX)) as u16;
    let label = 3 + digits(last);
    let fitting = |cell: u16| ((width + CPU_GAP) / (cell + CPU_GAP)).max(1);
    let grid = |least: u16| {
        let lines = count.div_ceil(fitting(least));
        let per_line = count.div_ceil(lines);
        (lines, per_line, (width + CPU_GAP) / per_line - CPU_GAP)
    };
    let figures = label + FIGURE;
    let (lines, per_line, cell) = grid(figures + 1 + 10);
    if lines <= max_lines {
        let bar = cell.saturating_sub(figures + 1);
        return Some(CpuGrid { per_line, lines, cell: cell.min(width), bar });
    }
    let (lines, per_line, _) = grid(figures);
    let cell = figures.min(width);
    Some(CpuGrid { per_line, lines: lines.min(max_lines), cell, bar: 0 })
}

/// From this number of CPUs on, each is one character, unless the user asks for bars.
const STRIP_FROM: usize = 32;
/// Below this height CPUs are shown only on request.
const CPUS_FROM: u16 = 20;
/// CPU lines may take one line of this many on a screen; the second constant applies on request.
const CPUS_OF: u16 = 8;
const CPUS_ASKED_OF: u16 = 3;

/// One character per CPU, in lines of a power of two, so that neighbouring CPUs stand below each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct CpuStrip {
    /// Characters per line.
    pub per_line: u16,
    pub lines: u16,
    /// CPUs that share a character; 1 while there is room.
    pub per_mark: u16,
    /// Width of a line's label with the gap after it.
    pub label: u16,
    /// Width of the line's figure; 0: no room.
    pub figure: u16,
}

/// A strip of all `cpus` on `width` columns and at most `max_lines` lines.
pub fn cpu_strip(width: u16, cpus: Cpus, max_lines: u16) -> Option<CpuStrip> {
    if cpus.count == 0 || max_lines == 0 {
        return None;
    }
    let count = cpus.count.min(1 << 15) as u16;
    // Labels look like `cpu64-127 `; the first of many lines has fewer digits.
    let label = |first: u32| 3 + digits(first) + 1 + digits(cpus.last) + 1;
    let room = width.checked_sub(label(cpus.last)).filter(|&room| room > 0)?;
    let fitting = 1 << room.ilog2();
    let mut per_mark: u16 = 1;
    while count.div_ceil(per_mark).div_ceil(fitting) > max_lines {
        per_mark *= 2;
    }
    let marks = count.div_ceil(per_mark);
    let per_line = fitting.min(marks.next_power_of_two());
    let lines = marks.div_ceil(per_line);
    let first =
        if cpus.has_gaps() { cpus.last } else { u32::from((lines - 1) * per_line * per_mark) };
    let label = label(first);
    let figure = if width >= label + per_line + FIGURE { FIGURE } else { 0 };
    Some(CpuStrip { per_line, lines, per_mark, label, figure })
}

/// Form of the CPUs on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuPart {
    /// A cell per CPU, with a figure and mostly a bar.
    Cells(CpuGrid),
    /// A character per CPU.
    Strip(CpuStrip),
}

impl CpuPart {
    /// Lines that it takes.
    pub fn lines(&self) -> u16 {
        match self {
            CpuPart::Cells(grid) => grid.lines,
            CpuPart::Strip(strip) => strip.lines,
        }
    }
}

/// Cells if all CPUs fit.
fn whole_grid(width: u16, cpus: Cpus, max_lines: u16) -> Option<CpuGrid> {
    cpu_grid(width, cpus, max_lines)
        .filter(|grid| usize::from(grid.per_line) * usize::from(grid.lines) >= cpus.count)
}

/// The form of the CPUs on at most `room` lines.
fn cpu_part((width, height): (u16, u16), wants: LayoutNeeds, room: u16) -> Option<CpuPart> {
    let LayoutNeeds { cpus, per_cpu, .. } = wants;
    let strip = |lines| cpu_strip(width, cpus, lines).map(CpuPart::Strip);
    match per_cpu {
        AutoSwitch::Never => None,
        AutoSwitch::Always => {
            let lines = (height / CPUS_ASKED_OF).min(room);
            whole_grid(width, cpus, lines).map(CpuPart::Cells).or_else(|| strip(lines))
        }
        AutoSwitch::Auto if height < CPUS_FROM => None,
        AutoSwitch::Auto => {
            let lines = (height / CPUS_OF).min(room);
            let bars =
                whole_grid(width, cpus, lines).filter(|g| g.bar > 0 && cpus.count < STRIP_FROM);
            bars.map(CpuPart::Cells).or_else(|| strip(lines))
        }
    }
}

/// The setting after key `1`: it shows or hides CPUs, and turns characters that were not requested
/// into cells if these fit. `wants` holds the current form, `auto` whether CPUs may be shown
/// without a request.
pub(crate) fn next_per_cpu(
    (width, height): (u16, u16),
    wants: LayoutNeeds,
    auto: bool,
) -> AutoSwitch {
    let shown = |per_cpu| {
        let screen = screen(width, height, LayoutNeeds { per_cpu, ..wants });
        screen.and_then(|screen| screen.cpus)
    };
    let by_itself = auto && shown(AutoSwitch::Auto).is_some();
    match (shown(wants.per_cpu), shown(AutoSwitch::Always)) {
        (None, _) if by_itself => AutoSwitch::Auto,
        (None, _) => AutoSwitch::Always,
        (Some(CpuPart::Strip(_)), Some(CpuPart::Cells(_))) => AutoSwitch::Always,
        _ if by_itself => AutoSwitch::Never,
        _ => AutoSwitch::Auto,
    }
}

/// Layout of the live view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Screen {
    pub header: Vec<HeaderLine>,
    /// The CPUs, if shown.
    pub cpus: Option<CpuPart>,
    /// The line for prompts, messages and the state of the view.
    pub status_y: u16,
    pub heading_y: u16,
    /// The first row of the table.
    pub body_y: u16,
    pub body_rows: u16,
    /// The line of keys at the bottom, if shown.
    pub footer_y: Option<u16>,
}

impl Screen {
    /// The line after the last one of a page.
    pub fn end_y(&self) -> u16 {
        self.body_y + self.body_rows
    }
}

/// Optional parts of a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutNeeds {
    /// The CPUs of the machine.
    pub cpus: Cpus,
    /// When they are shown one by one.
    pub per_cpu: AutoSwitch,
    /// True for a recording, which has a time line.
    pub recorded: bool,
    /// True if the window has findings.
    pub findings: bool,
    /// True if findings have a line even when there are none: a table that jumps is hard to read.
    pub reserved: bool,
    /// True to show a line of keys.
    pub footer: bool,
}

/// From this height on, there is room for a line of keys.
const FOOTER_FROM: u16 = 20;

/// Divides a screen; `None` if it is too small.
pub fn screen(width: u16, height: u16, wants: LayoutNeeds) -> Option<Screen> {
    if width < MIN_WIDTH || height < MIN_HEIGHT {
        return None;
    }
    let wide = width >= WIDE;
    let room = height - 2 - MIN_ROWS;
    let mut header = vec![HeaderLine::Machine];
    if wants.recorded {
        header.push(HeaderLine::Time);
    }
    header.push(HeaderLine::Books);
    // The line of tasks stays on every screen. An empty line displaces nothing. A line with content
    // makes room for a finding, so that the table stays in its place.
    let cpu_lines = cpu_part((width, height), wants, u16::MAX).map_or(0, |part| part.lines());
    let all = header.len() + usize::from(cpu_lines) + if wide { 1 } else { 3 };
    let has_room = wants.findings && usize::from(room) > header.len() + 1;
    if has_room || wants.reserved && usize::from(room) > all {
        header.push(HeaderLine::Findings);
    }
    let ticks_at = header.len();
    let least = header.len() as u16 + 1;
    let cpus = cpu_part((width, height), wants, room.saturating_sub(least));
    header.extend((0..cpus.map_or(0, |part| part.lines())).map(HeaderLine::Cpus));
    // In the order of the screen; the highest number is left out first.
    let optional: &[(HeaderLine, u16)] = if wide {
        &[(HeaderLine::Tasks, 1)]
    } else {
        &[(HeaderLine::Ticks, 3), (HeaderLine::Tasks, 1), (HeaderLine::Memory, 2)]
    };
    let free = room.saturating_sub(header.len() as u16);
    let chosen = optional.iter().filter(|(_, rank)| *rank <= free);
    for (line, _) in chosen {
        match line {
            HeaderLine::Ticks => header.insert(ticks_at, *line),
            line => header.push(*line),
        }
    }
    let status_y = header.len() as u16;
    let body_y = status_y + 2;
    let has_footer = wants.footer && height >= FOOTER_FROM;
    Some(Screen {
        header,
        cpus,
        status_y,
        heading_y: status_y + 1,
        body_y,
        body_rows: height - body_y - u16::from(has_footer),
        footer_y: has_footer.then_some(height - 1),
    })
}

/// A column on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub struct PlacedColumn {
    pub column: &'static Column,
    /// Its first cell.
    pub x: u16,
    pub width: u16,
}

impl PlacedColumn {
    /// The first cell after it.
    pub fn end(&self) -> u16 {
        self.x + self.width
    }
}

/// Column widths that only grow, so that columns do not jump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Widths(HashMap<ColumnId, u16>);

/// Most cells of a text column, unless it takes the rest of the line.
const MAX_TEXT: u16 = 24;

impl Widths {
    /// Makes room for a cell of this width; true if the column grew.
    pub fn grow(&mut self, column: &'static Column, cell: usize) -> bool {
        let cell = cell.min(usize::from(u16::MAX)) as u16;
        let least = least(column);
        let width = self.0.entry(column.id).or_insert(least);
        let cap = if column.left_aligned() { least.max(column.width() as u16) } else { MAX_TEXT };
        let before = *width;
        *width = before.max(cell.min(cap));
        *width > before
    }

    /// The width of a column.
    pub fn width(&self, column: &'static Column) -> u16 {
        self.0.get(&column.id).copied().unwrap_or_else(|| least(column))
    }
}

/// Width for most values of a column; longer values make it grow.
fn least(column: &Column) -> u16 {
    use exactop_model::columns::Unit;
    let by_unit = match column.unit {
        Unit::Pct | Unit::Count | Unit::Bytes => 5,
        Unit::Id => 6,
        Unit::Int => 3,
        Unit::Time => 8,
        Unit::Ns => 12,
        Unit::Text => column.width() as u16,
    };
    by_unit.max(column.title.len() as u16)
}

/// The column that takes the rest of the line.
fn takes_rest(columns: &[&'static Column]) -> Option<usize> {
    columns
        .iter()
        .position(|c| c.id == ColumnId::Command)
        .or_else(|| columns.iter().rposition(|c| c.left_aligned() && c.width() >= 10))
}

/// The least width of that column: names, or long lines and branches.
pub fn least_rest(width: u16, long: bool) -> u16 {
    const NAMES: u16 = 12;
    match long {
        true => (width / 3).clamp(NAMES, 48),
        false => NAMES,
    }
}

/// The column with the larger rank stays when two do not fit. The sort column must be visible.
fn rank(column: &Column, sort: &Column) -> u8 {
    const SORT: u8 = 250;
    if column == sort {
        SORT
    } else {
        column.rank
    }
}

/// The least width of a bar of states that is readable.
const MIN_BAR: u16 = 16;
/// The greatest width: a finer bar shows no more.
const MAX_BAR: u16 = 60;

/// The width of a bar of states right of all these columns; `None` if it would displace one of
/// them.
pub fn bar_width(
    columns: &[&'static Column],
    widths: &Widths,
    width: u16,
    least_rest: u16,
) -> Option<u16> {
    let spare = width.checked_sub(total(columns, widths, least_rest).saturating_add(1))?;
    (spare >= MIN_BAR).then(|| (spare / 3 * 2).clamp(MIN_BAR, MAX_BAR))
}

/// Columns that are useful only together: both are left out if one does not fit.
const PAIR: [ColumnId; 2] = [ColumnId::UsrPct, ColumnId::SysPct];

/// Places columns on a line. Unscrolled, columns of lowest rank are left out until the rest fits,
/// with at least `least_rest` cells for the command. Scrolled to the `offset`-th column, PID, the
/// command and the columns that fit from there on stay.
pub fn place(
    columns: &[&'static Column],
    widths: &Widths,
    sort: &Column,
    offset: usize,
    width: u16,
    least_rest: u16,
) -> Vec<PlacedColumn> {
    let mut chosen: Vec<&'static Column> = if offset == 0 {
        columns.to_vec()
    } else {
        let skipped: Vec<ColumnId> =
            columns.iter().filter(|c| !c.never_scrolls).take(offset - 1).map(|c| c.id).collect();
        columns.iter().copied().filter(|c| !skipped.contains(&c.id)).collect()
    };
    while total(&chosen, widths, least_rest) > width && chosen.len() > 1 {
        let out = if offset == 0 { least_important(&chosen, sort) } else { rightmost(&chosen) };
        let gone = chosen.remove(out);
        let half = |column: &Column| PAIR.contains(&column.id) && column != sort;
        // In a scrolled table both columns can be reached.
        if offset == 0 && half(gone) && !chosen.iter().all(|column| half(column)) {
            chosen.retain(|column| !half(column));
        }
    }
    lay(&chosen, widths, width, least_rest)
}

fn least_important(columns: &[&'static Column], sort: &Column) -> usize {
    let ranked = columns.iter().enumerate().rev().min_by_key(|(_, c)| rank(c, sort));
    ranked.map_or(0, |(i, _)| i)
}

fn rightmost(columns: &[&'static Column]) -> usize {
    let last = columns.iter().rposition(|c| !c.never_scrolls);
    last.unwrap_or(columns.len() - 1)
}

fn total(columns: &[&'static Column], widths: &Widths, least_rest: u16) -> u16 {
    let rest = takes_rest(columns);
    let cells = columns.iter().enumerate().map(|(i, c)| match rest == Some(i) {
        true => least_rest,
        false => widths.width(c),
    });
    cells.fold(0u16, |sum, w| sum.saturating_add(w + 1)).saturating_sub(1)
}

fn lay(
    columns: &[&'static Column],
    widths: &Widths,
    width: u16,
    least_rest: u16,
) -> Vec<PlacedColumn> {
    let rest = takes_rest(columns);
    let spare = width.saturating_sub(total(columns, widths, least_rest));
    let mut x = 0u16;
    let mut placed = Vec::with_capacity(columns.len());
    for (i, &column) in columns.iter().enumerate() {
        let wanted = if rest == Some(i) { least_rest + spare } else { widths.width(column) };
        let cell = wanted.min(width.saturating_sub(x));
        placed.push(PlacedColumn { column, x, width: cell });
        x = x.saturating_add(cell + 1);
    }
    placed
}
