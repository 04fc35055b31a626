//! A plain table of right-aligned figures and left-aligned names, without lines.

use comfy_table::{presets, CellAlignment, ContentArrangement, Table};

/// The heading and the rows; the columns in `names` are aligned left.
pub(crate) fn text(heading: &[&str], names: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heading.to_vec());
    table.add_rows(rows);
    for (column, title) in table.column_iter_mut().zip(heading) {
        let left = names.contains(title);
        column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| line.trim_end().to_string() + "\n");
    lines.collect()
}

/// How many rows were left out, if any.
pub(crate) fn left_out(all: usize, shown: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        1 => "... and 1 more row (--rows)\n".into(),
        n => format!("... and {n} more rows (--rows)\n"),
    }
}
