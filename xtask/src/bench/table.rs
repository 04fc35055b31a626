//! A table, as aligned text and as Markdown.

use super::wrap::wrap;
use std::fmt;

/// Rows of cells below a row of titles. The first column is text, the others are figures.
#[derive(Clone, Debug)]
pub struct Table {
    /// Paragraphs that a page prints before the table.
    caption: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Table {
        Table { caption: String::new(), rows: vec![titles.into_iter().map(Into::into).collect()] }
    }

    /// The table with paragraphs before it; an empty line separates two of them.
    pub fn captioned(self, caption: impl Into<String>) -> Table {
        Table { caption: caption.into(), ..self }
    }

    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Markdown without padding.
    pub fn markdown(&self) -> String {
        let mut text = self.caption_lines();
        for (at, row) in self.rows.iter().enumerate() {
            text += "|";
            for cell in row {
                text += &if cell.is_empty() { " |".into() } else { format!(" {cell} |") };
            }
            text += "\n";
            if at == 0 {
                text += &format!("|---|{}\n", "--:|".repeat(row.len() - 1));
            }
        }
        text
    }

    fn caption_lines(&self) -> String {
        let paragraphs = self.caption.split("\n\n").filter(|text| !text.is_empty());
        paragraphs.map(|text| wrap(text) + "\n\n").collect()
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.caption_lines())?;
        let widths: Vec<usize> = (0..self.rows[0].len()).map(|c| self.width(c)).collect();
        for (at, row) in self.rows.iter().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                match column {
                    0 => write!(f, "| {cell:<width$} |")?,
                    _ => write!(f, " {cell:>width$} |")?,
                }
            }
            writeln!(f)?;
            if at == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let dashes = "-".repeat(*width);
                    match column {
                        0 => write!(f, "|-{dashes}-|")?,
                        _ => write!(f, "-{dashes}:|")?,
                    }
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// A number with a comma before each three digits.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_commas() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    fn table() -> Table {
        let mut table = Table::new(["tool", "%", "BPF"]);
        table.row(["top", "0.15", ""]);
        table
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(
            table().to_string(),
            "| tool |    % | BPF |\n|------|-----:|----:|\n| top  | 0.15 |     |\n"
        );
    }

    #[test]
    fn a_page_s_table_has_its_caption_and_no_padding() {
        assert_eq!(
            table().captioned("One.\n\nTwo.").markdown(),
            "One.\n\nTwo.\n\n| tool | % | BPF |\n|---|--:|--:|\n| top | 0.15 | |\n"
        );
    }
}
