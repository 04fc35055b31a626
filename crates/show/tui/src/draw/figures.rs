//! Tables of pages: figures under their headings, and a name in the remaining width. A narrow
//! screen leaves columns out.

use super::text::{cell, cut_middle};
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

/// Most notes below the rows of a page.
pub(super) fn most_words(screen: &Screen) -> usize {
    usize::from(screen.end_y().saturating_sub(screen.heading_y + 2)) / 3
}

/// Rows that a page shows below its heading, beside its notes.
pub(super) fn rows_beside(words: usize, screen: &Screen) -> usize {
    usize::from(screen.end_y().saturating_sub(screen.heading_y + 1)).saturating_sub(words).max(1)
}

/// The row that stands on a line of such a page. `first`: the first row shown.
pub(super) fn row_of_line(y: u16, first: usize, rows: usize, screen: &Screen) -> Option<usize> {
    let below = usize::from(y.checked_sub(screen.heading_y + 1)?);
    (below < rows && y < screen.end_y()).then_some(first + below)
}
