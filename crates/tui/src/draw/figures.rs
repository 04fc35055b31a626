//! Tables of pages: figures under their headings, and a name that takes what is left. Where the screen
//! is narrow, columns give way.

use super::text::cell;
use unicode_width::UnicodeWidthStr;

/// Columns that a name gets at least.
const NAME: usize = 20;

/// The width of each column, 0 for those that gave way: those in `give_way` first, in their order.
pub(super) fn widths(
    heading: &[String],
    texts: &[Vec<String>],
    give_way: &[&str],
    room: usize,
) -> Vec<usize> {
    let widest = |i: usize| texts.iter().map(|t| t[i].width()).max().unwrap_or(0);
    let width = |i: usize| widest(i).max(heading[i].width()) + 1;
    let mut widths: Vec<usize> = (0..heading.len() - 1).map(width).collect();
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

/// A line of it.
pub(super) fn joined(texts: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (text, &width) in texts.iter().zip(widths).filter(|(_, width)| **width > 0) {
        out += &cell(text, width - 1, false);
        out.push(' ');
    }
    out + texts.last().map_or("", String::as_str)
}
