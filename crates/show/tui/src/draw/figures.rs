//! Tables of pages: figures under their headings, and a name in the remaining width. A narrow
//! screen leaves columns out.

use super::text::{cell, cut, cut_middle, cut_to_part, in_lines};
use crate::layout::Screen;
use exactop_model::words::order::Order;
use unicode_width::UnicodeWidthStr;

/// Least width of a name.
const NAME: usize = 20;

/// The headings, with an arrow at the sort column; and the columns of `give_way` that may be left
/// out.
pub(super) fn titled<'t>(
    mut titles: Vec<String>,
    order: Order,
    give_way: &[&'t str],
) -> (Vec<String>, Vec<&'t str>) {
    let is_name = order.column + 1 == titles.len();
    let arrow = if order.descending { "▾" } else { "▴" };
    let title = &mut titles[order.column];
    let may = give_way.iter().copied().filter(|other| other != title).collect();
    *title = if is_name { format!("{title}{arrow}") } else { format!("{arrow}{title}") };
    (titles, may)
}

/// The width of each column; 0: left out. Columns without a figure are left out first, to keep
/// names whole, then those in `give_way`, in their order.
pub(super) fn widths(
    heading: &[String],
    texts: &[Vec<String>],
    give_way: &[&str],
    room: usize,
) -> Vec<usize> {
    let widest = |i: usize| texts.iter().map(|t| t[i].width()).max().unwrap_or(0);
    let width = |i: usize| widest(i).max(heading[i].width()) + 1;
    let mut widths: Vec<usize> = (0..heading.len() - 1).map(width).collect();
    let longest = widest(heading.len() - 1);
    for i in (0..widths.len()).rev().filter(|_| !texts.is_empty()) {
        if widths.iter().sum::<usize>() + longest.max(NAME) <= room {
            break;
        }
        if texts.iter().all(|text| text[i] == "-") {
            widths[i] = 0;
        }
    }
    for title in give_way {
        if widths.iter().sum::<usize>() + NAME <= room {
            break;
        }
        if let Some(i) = heading.iter().position(|h| h == title) {
            widths[i] = 0;
        }
    }
    widths
}

/// A line of a table.
pub(super) fn joined(texts: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (text, &width) in texts.iter().zip(widths).filter(|(_, width)| **width > 0) {
        out += &cell(text, width - 1, false);
        out.push(' ');
    }
    out + texts.last().map_or("", String::as_str)
}

/// A line of exactly this width. It ends in the `long` name if there is room; else in the last
/// text, cut in the middle.
pub(super) fn named(texts: &[String], long: &str, widths: &[usize], room: usize) -> String {
    let (name, figures) = texts.split_last().map_or(("", texts), |(name, rest)| (name, rest));
    let figures = joined(&[figures, &[String::new()]].concat(), widths);
    let left = room.saturating_sub(figures.width());
    let name = if long.width() <= left { long.into() } else { cut_middle(name, left) };
    cell(&(figures + &name), room, true)
}

/// The column of a cell of the heading line. The blank after a column belongs to it.
pub(super) fn column_at(x: u16, widths: &[usize]) -> usize {
    let mut end = 0;
    let mut is_beyond = |width: &usize| {
        end += width;
        usize::from(x) >= end
    };
    widths.iter().take_while(|width| is_beyond(width)).count()
}

/// Most lines of notes below the rows of a page.
pub(super) fn most_words(screen: &Screen) -> usize {
    usize::from(screen.end_y().saturating_sub(screen.heading_y + 2)) / 3
}

/// Indent of the further lines of a note.
const HANG: usize = 2;

/// The notes below the rows in lines of the screen's width: whole notes, as many as `most` lines
/// hold. Only the first one is cut if it needs more.
pub(super) fn notes(texts: impl Iterator<Item = String>, most: usize, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        let note = note(&text, width);
        let left = most - lines.len();
        if note.len() > left {
            if let Some(fits) = left.checked_sub(1).filter(|_| lines.is_empty()) {
                lines.extend(note[..fits].iter().cloned());
                let rest: Vec<&str> = note[fits..].iter().map(|line| line.trim_start()).collect();
                lines.push(cut_to_part(&rest.join(" "), width));
            }
            break;
        }
        lines.extend(note);
    }
    lines
}

/// One note in lines.
fn note(text: &str, width: usize) -> Vec<String> {
    if text.width() <= width {
        return vec![text.into()];
    }
    let lines = in_lines(text, width.saturating_sub(HANG)).into_iter().enumerate();
    let hang = |n| if n == 0 { 0 } else { HANG };
    lines.map(|(n, line)| cut(&format!("{:1$}{line}", "", hang(n)), width)).collect()
}

/// Rows that a page shows below its heading, beside its lines of notes.
pub(super) fn rows_beside(notes: usize, screen: &Screen) -> usize {
    usize::from(screen.end_y().saturating_sub(screen.heading_y + 1)).saturating_sub(notes).max(1)
}

/// The row that stands on a line of such a page. `first`: the first row shown.
pub(super) fn row_of_line(y: u16, first: usize, rows: usize, screen: &Screen) -> Option<usize> {
    let below = usize::from(y.checked_sub(screen.heading_y + 1)?);
    (below < rows && y < screen.end_y()).then_some(first + below)
}
