//! The graph of one task: a column a window, the newest at the right, in which each state has its
//! part of the height.

use super::states::{self, Mark};
use super::text::{cell, put};
use super::theme::{Ink, Theme};
use crate::app::command::CommandText;
use crate::app::App;
use crate::layout::Screen;
use exactop_model::feed::KeptRow;
use exactop_model::words::books::round_to_sum;
use exactop_model::{Frame, Row, TaskKey};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};

pub(super) fn draw(app: &App, task: TaskKey, screen: &Screen, theme: Theme, buf: &mut Buffer) {
    let width = usize::from(buf.area.width);
    let windows = app.tracked.last(task, width);
    let newest = windows.iter().rev().find_map(|kept| kept.row.as_ref());
    let name =
        newest.map_or(String::new(), |row| format!(" {}", CommandText::from_row(row, true).text()));
    let count = windows.len();
    let s = if count == 1 { "" } else { "s" };
    let here =
        |kept: &KeptRow| app.is_looking_back() && app.frame().is_some_and(|f| is_in(kept, f));
    let mark = match windows.iter().any(|kept| here(kept)) {
        true => " · ^ the window on the screen",
        false => "",
    };
    let heading = format!("{}{name}: the last {count} window{s}{mark}", task.tid);
    let heading = cell(&heading, width, true);
    put(buf, 0, screen.heading_y, u16::MAX, &Line::styled(heading, theme.style(Ink::Heading)));
    let legend = shown_row(app, task, newest).map(|row| legend(row, width, theme));
    let legend = legend.unwrap_or_default();
    let end = screen.end_y();
    // The marks of the shown window have a line of their own.
    let marks = u16::from(!mark.is_empty());
    let bottom = end.saturating_sub(legend.len() as u16 + marks).max(screen.body_y);
    let height = usize::from(bottom - screen.body_y);
    for (n, kept) in windows.iter().rev().enumerate() {
        let x = (width - 1 - n) as u16;
        if here(kept) {
            put(buf, x, bottom, 1, &Line::styled("^", theme.style(Ink::Strong)));
        }
        let marks = kept.row.as_ref().map_or(Vec::new(), |row| column(row, height));
        for (y, mark) in (screen.body_y..bottom).rev().zip(marks) {
            put(buf, x, y, 1, &Line::styled(mark.glyph.to_string(), theme.style(mark.ink)));
        }
    }
    if windows.is_empty() {
        let text = match app.past.as_ref().is_some_and(|past| !past.kept) {
            true => "no graph: a recording shows one window at a time, ← → step through them",
            false => "the next window begins the graph",
        };
        let wait = Line::styled(text, theme.style(Ink::Dim));
        put(buf, 0, screen.body_y, u16::MAX, &wait);
    }
    for (y, line) in (bottom + marks..end).zip(&legend) {
        put(buf, 0, y, u16::MAX, line);
    }
}

/// The row whose figures the legend has, if the window on the screen has one; `None`: no window yet.
/// The present keeps the newest row after the task is gone.
fn shown_row<'a>(app: &'a App, task: TaskKey, newest: Option<&'a Row>) -> Option<Option<&'a Row>> {
    match app.is_looking_back() {
        true => app.arranged.as_ref().map(|arranged| arranged.task(task)),
        false => newest.map(Some),
    }
}

/// True if the frame shows this window, alone or joined with others.
fn is_in(kept: &KeptRow, frame: &Frame) -> bool {
    frame.t0_ns <= kept.t0_ns && kept.t1_ns <= frame.t1_ns
}

/// The marks of a window from below: together as high as the graph, if the states cover the task's
/// life.
fn column(row: &Row, height: usize) -> Vec<Mark> {
    let parts = states::parts(row, &row.delta);
    let known: Vec<(Mark, i128)> =
        parts.into_iter().filter_map(|(mark, ns)| Some((mark, ns?.into()))).collect();
    let sum: i128 = known.iter().map(|(_, ns)| ns).sum();
    let life = i128::from(row.life_ns.max(1));
    let total = (sum * height as i128 / life.max(sum).max(1)) as i64;
    let cells = round_to_sum(&known.iter().map(|(_, ns)| *ns).collect::<Vec<_>>(), total);
    let repeat = |((mark, _), cells): (&(Mark, i128), i64)| vec![*mark; cells.max(0) as usize];
    known.iter().zip(cells).flat_map(repeat).collect()
}

/// The states with their marks and their shares of a window, in lines that fit.
fn legend(row: Option<&Row>, width: usize, theme: Theme) -> Vec<Line<'static>> {
    const ENTRY: usize = 13;
    let tenths = row.map_or(Vec::new(), states::tenths);
    let share = |mark: &Mark| {
        let known = tenths.iter().find(|(column, _)| Some(*column) == mark.column);
        known.map_or("-".into(), |(_, n)| format!("{}.{}", n / 10, n % 10))
    };
    let entries: Vec<[Span; 2]> = states::marks()
        .map(|mark| {
            let glyph = Span::styled(mark.glyph.to_string(), theme.style(mark.ink));
            [glyph, Span::raw(cell(&format!(" {} {}", mark.name, share(&mark)), ENTRY - 1, true))]
        })
        .collect();
    let lines = entries.chunks((width / ENTRY).max(1));
    lines.map(|line| Line::from(line.concat())).collect()
}
