//! A page as a plain text table: what `-b` prints. No cursor movement, no colour.

use crate::header;
use crate::plan::Page;
use exactop_model::columns::sort;
use exactop_model::words::units;
use exactop_model::{Column, ColumnId, Row, RowKind};
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Layout of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Most display columns of a line; longer lines are cut.
    pub width: usize,
    /// One line per CPU in the summary.
    pub each_cpu: bool,
    /// Most rows; `None`: all.
    pub rows: Option<usize>,
}

/// Writes the summary, an empty line, the heading and the rows.
pub fn write(out: &mut dyn Write, page: &Page, options: &TextOptions) -> io::Result<()> {
    for line in header::lines(page, options.each_cpu) {
        writeln!(out, "{}", cut(&line, options.width))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", cut(&heading(&page.columns), options.width))?;
    for row in in_order(page).into_iter().take(options.rows.unwrap_or(usize::MAX)) {
        writeln!(out, "{}", cut(&line(page, row), options.width))?;
    }
    Ok(())
}

/// Living and exited rows in one order, so that the most expensive row is first.
fn in_order(page: &Page) -> Vec<&Row> {
    let value = |row: &Row| (page.sort.column.value)(row, &page.context);
    let mut living = page.rows.iter().map(|r| (value(r), r)).peekable();
    let mut exited = page.exited.iter().map(|r| (value(r), r)).peekable();
    let mut merged = Vec::with_capacity(page.rows.len() + page.exited.len());
    while let (Some((a, _)), Some((b, _))) = (living.peek(), exited.peek()) {
        let first = if sort::compare(a, b, page.sort.descending).is_le() {
            living.next()
        } else {
            exited.next()
        };
        merged.extend(first.map(|(_, row)| row));
    }
    merged.extend(living.chain(exited).map(|(_, row)| row));
    merged
}

fn heading(columns: &[&Column]) -> String {
    join(columns, |column, cell| cell.push_str(column.title))
}

fn line(page: &Page, row: &Row) -> String {
    join(&page.columns, |column, cell| {
        units::push_cell(cell, &(column.value)(row, &page.context), column.unit);
        if let (ColumnId::Command, RowKind::Exited, 1..) = (column.id, row.kind, row.ident.ppid) {
            *cell += &format!(" (child of {})", row.ident.ppid);
        }
    })
}

/// One blank between cells; the last cell is as long as its text. `write` appends a cell's text to
/// the line: with ten thousand lines per window, cells get no memory of their own.
fn join(columns: &[&Column], write: impl Fn(&Column, &mut String)) -> String {
    let mut line = String::with_capacity(128);
    let mut cell = String::with_capacity(32);
    for (i, column) in columns.iter().enumerate() {
        let last = i + 1 == columns.len();
        cell.clear();
        write(column, &mut cell);
        match (last && column.left_aligned(), column.left_aligned()) {
            (true, _) => line.push_str(&cell),
            (_, true) => left(&mut line, &cell, column.width()),
            (_, false) => right(&mut line, &cell, column.width()),
        }
        if !last {
            line.push(' ');
        }
    }
    line
}

/// Pads to a width; a longer text ends in `+`, as in top.
fn left(line: &mut String, text: &str, width: usize) {
    let takes = columns_of(text);
    if takes > width {
        let short = cut(text, width.saturating_sub(1));
        line.push_str(short);
        line.push('+');
        blanks(line, width.saturating_sub(columns_of(short) + 1));
    } else {
        line.push_str(text);
        blanks(line, width - takes);
    }
}

/// Aligns figures to the right. A figure is never cut: a wrong figure is worse than a crooked line.
fn right(line: &mut String, text: &str, width: usize) {
    blanks(line, width.saturating_sub(columns_of(text)));
    line.push_str(text);
}

fn blanks(line: &mut String, n: usize) {
    line.extend(std::iter::repeat_n(' ', n));
}

/// Display columns of a text. Most texts are letters and digits, one column each.
fn columns_of(text: &str) -> usize {
    if is_plain(text) {
        text.len()
    } else {
        text.width()
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The first `width` display columns of a line.
fn cut(line: &str, width: usize) -> &str {
    if is_plain(line) {
        return &line[..line.len().min(width)];
    }
    let mut used = 0;
    let too_far = |&(_, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used > width
    };
    line.char_indices().find(too_far).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        let put = |put: fn(&mut String, &str, usize), text, width| {
            let mut line = String::from("|");
            put(&mut line, text, width);
            line
        };
        assert_eq!(cut("日本語", 5), "日本");
        assert_eq!(put(left, "日本語", 5), "|日本+");
        assert_eq!(put(left, "日本語", 4), "|日+ ");
        assert_eq!(put(left, "ab", 4), "|ab  ");
        assert_eq!(put(left, "abcdef", 4), "|abc+");
        assert_eq!(put(right, "ab", 4), "|  ab");
        assert_eq!(put(right, "123456", 4), "|123456");
    }
}
