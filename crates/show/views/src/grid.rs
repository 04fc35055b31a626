//! A plain table of right-aligned figures and left-aligned names, without lines. A narrow screen
//! shows only the columns that fit.

use crate::sheet::{self, Sheet};
use comfy_table::{presets, CellAlignment, ContentArrangement, Table};
use unicode_width::UnicodeWidthStr;

/// Kind of text in a column; all other columns are right-aligned figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A name, which is cut in its middle.
    Name,
    /// A name with an explanation in brackets, which is cut first.
    Explained,
    /// Parts separated by commas; parts that do not fit are left out.
    List,
    /// Shown whole or not at all.
    Words,
}

impl Text {
    /// Least width of a cut text.
    fn least(self) -> usize {
        match self {
            // A name of 15 characters and a number in brackets, less a few.
            Text::Name | Text::Explained => 20,
            // "ETIMEDOUT 12345, ...".
            Text::List => 20,
            Text::Words => usize::MAX,
        }
    }

    fn cut(self, cell: &str, width: usize) -> String {
        match self {
            Text::Name => sheet::name(cell, width),
            Text::Explained if cell.width() > width => {
                sheet::name(cell.rsplit_once("  (").map_or(cell, |(name, _)| name), width)
            }
            Text::Explained => cell.into(),
            Text::List => sheet::list(cell, width),
            Text::Words => cell.into(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    /// The columns of text.
    pub texts: &'a [(&'a str, Text)],
    /// Columns to leave out, in this order, if there is no room for all; other columns always stay.
    /// Columns joined by `|` go together.
    pub yields: &'a [&'a str],
}

impl Layout<'_> {
    fn text(&self, title: &str) -> Option<Text> {
        self.texts.iter().find(|(of, _)| *of == title).map(|&(_, text)| text)
    }
}

/// Blanks between columns.
const GAP: usize = 2;

/// The heading and the rows.
pub(crate) fn text(
    heading: &[&str],
    mut rows: Vec<Vec<String>>,
    layout: &Layout,
    width: Option<usize>,
) -> String {
    let shown = match width {
        Some(width) => fit(heading, &mut rows, layout, width),
        None => (0..heading.len()).collect(),
    };
    let heading: Vec<&str> = shown.iter().map(|&at| heading[at]).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heading.clone());
    table.add_rows(rows.iter().map(|row| shown.iter().map(|&at| row[at].as_str())));
    for (column, title) in table.column_iter_mut().zip(&heading) {
        column.set_cell_alignment(match layout.text(title) {
            Some(_) => CellAlignment::Left,
            None => CellAlignment::Right,
        });
        column.set_padding((0, GAP as u16));
    }
    let lines = table.lines().map(|line| line.trim_end().to_string() + "\n");
    lines.collect()
}

/// Cuts texts to the width, and returns the columns that stay.
fn fit(heading: &[&str], rows: &mut [Vec<String>], layout: &Layout, width: usize) -> Vec<usize> {
    let texts: Vec<_> = heading.iter().map(|title| layout.text(title)).collect();
    let mut widths: Vec<usize> = (0..heading.len()).map(|at| widest(heading, rows, at)).collect();
    let least = |at: usize| widths[at].min(texts[at].map_or(usize::MAX, Text::least));
    let mut shown: Vec<usize> = (0..heading.len()).collect();
    for yields in layout.yields {
        if taken(&shown, least) <= width {
            break;
        }
        shown.retain(|&at| yields.split('|').all(|title| title != heading[at]));
    }
    let lists = shown.iter().copied().filter(|&at| texts[at] == Some(Text::List));
    let is_name = |at: &usize| matches!(texts[*at], Some(Text::Name | Text::Explained));
    let names = || shown.iter().copied().filter(is_name);
    for at in lists {
        let others = taken(&shown, |at| widths[at]) - widths[at];
        let room = width.saturating_sub(others).max(Text::List.least());
        cut(rows, at, Text::List, room);
        widths[at] = widest(heading, rows, at);
    }
    // The widest columns are cut first.
    while taken(&shown, |at| widths[at]) > width {
        let widest = names().max_by_key(|&at| widths[at]);
        let Some(at) = widest.filter(|&at| widths[at] > heading[at].width()) else { break };
        widths[at] -= 1;
    }
    names().for_each(|at| texts[at].into_iter().for_each(|text| cut(rows, at, text, widths[at])));
    shown
}

fn widest(heading: &[&str], rows: &[Vec<String>], at: usize) -> usize {
    let cells = rows.iter().map(|row| row[at].width());
    cells.chain([heading[at].width()]).max().unwrap_or(0)
}

fn cut(rows: &mut [Vec<String>], at: usize, text: Text, width: usize) {
    for row in rows {
        row[at] = text.cut(&row[at], width);
    }
}

fn taken(shown: &[usize], width: impl Fn(usize) -> usize) -> usize {
    shown.iter().map(|&at| width(at)).sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

/// A line with the number of omitted rows, if any.
pub(crate) fn left_out(all: usize, sheet: Sheet) -> String {
    let text = match all.saturating_sub(sheet.rows) {
        0 => return String::new(),
        1 => "... and 1 more row (--rows)".into(),
        n => format!("... and {n} more rows (--rows)"),
    };
    sheet.line(&text, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_columns_goes_first_and_names_stay() {
        let layout = Layout {
            texts: &[("WHO", Text::Name), ("WHY", Text::List)],
            yields: &["B", "WHY", "A"],
        };
        let shown = |width| {
            let row = ["1", "222", "somebody_long (12345)", "EAGAIN 1200, ENOENT 3, EINTR 1"];
            let rows = vec![row.map(String::from).to_vec()];
            let text = text(&["A", "B", "WHO", "WHY"], rows, &layout, width);
            assert!(width.is_none_or(|w| text.lines().all(|line| line.width() <= w)), "{text}");
            text.lines().nth(1).map(String::from).expect("a row")
        };
        let whole = "1  222  somebody_long (12345)  EAGAIN 1200, ENOENT 3, EINTR 1";
        assert_eq!(shown(None), whole);
        assert_eq!(shown(Some(62)), whole);
        assert_eq!(shown(Some(60)), "1  222  somebody_long (12345)  EAGAIN 1200, ENOENT 3, ...");
        assert_eq!(shown(Some(45)), "1  somebody_long (12345)  EAGAIN 1200, ...");
        assert_eq!(shown(Some(40)), "1  somebody_long (12345)");
        assert_eq!(shown(Some(20)), "somebody_lon…(12345)");
        assert_eq!(shown(Some(9)), "s…(12345)");
    }
}
