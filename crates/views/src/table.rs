//! A page as a plain text table: what `-b` prints. No cursor movement, no colour.

use crate::header;
use crate::plan::Page;
use exactop_model::sort;
use exactop_model::words::units;
use exactop_model::{Column, ColumnId, Row, RowKind};
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How the text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Display columns a line may take; longer lines are cut.
    pub width: usize,
    /// One line a CPU in the summary.
    pub each_cpu: bool,
}

/// Prints the summary, an empty line, the heading and the rows.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut dyn Write, page: &Page, options: &TextOptions) -> io::Result<()> {
    for line in header::lines(page, options.each_cpu) {
        writeln!(out, "{}", cut(&line, options.width))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", cut(&heading(&page.columns), options.width))?;
    for row in in_order(page) {
        writeln!(out, "{}", cut(&line(page, row), options.width))?;
    }
    Ok(())
}

/// Living and exited rows in one order, so that what cost most stands first, dead or alive.
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
    join(columns, |column| column.title.into())
}

fn line(page: &Page, row: &Row) -> String {
    join(&page.columns, |column| {
        let text = units::cell(&(column.value)(row, &page.context), column.unit);
        match (column.id, row.kind, row.ident.ppid) {
            (ColumnId::Command, RowKind::Exited, ppid) if ppid != 0 => {
                format!("{text} (child of {ppid})")
            }
            _ => text,
        }
    })
}

/// One blank between cells; the last takes what it needs.
fn join(columns: &[&Column], cell: impl Fn(&Column) -> String) -> String {
    let mut line = String::new();
    for (i, column) in columns.iter().enumerate() {
        let last = i + 1 == columns.len();
        let text = cell(column);
        match (last && column.left_aligned(), column.left_aligned()) {
            (true, _) => line.push_str(&text),
            (_, true) => line.push_str(&left(&text, column.width())),
            (_, false) => line.push_str(&right(&text, column.width())),
        }
        if !last {
            line.push(' ');
        }
    }
    line
}

/// Pads to a width; text too long ends in `+`, as top does it.
fn left(text: &str, width: usize) -> String {
    let text = shorten(text, width);
    let blanks = width.saturating_sub(text.width());
    text + &" ".repeat(blanks)
}

/// Aligns figures to the right. A figure is never cut: a wrong one is worse than a crooked line.
fn right(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width())) + text
}

fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    cut(text, width.saturating_sub(1)) + "+"
}

/// The first `width` display columns of a line.
fn cut(line: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    line.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(cut("日本語", 5), "日本");
        assert_eq!(left("日本語", 5), "日本+");
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(right("123456", 4), "123456");
    }
}
