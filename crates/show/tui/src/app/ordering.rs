//! The order of a page with its own columns: the table's sort keys, where they apply.

use crate::keys::KeyCommand;
use exactop_model::words::order::Order;

/// The order after a key, and the message about it; `None`: not a sort key. `now`: the current
/// order; `titles`: those of the columns, the name last.
pub(super) fn on_key(
    command: KeyCommand,
    now: Order,
    titles: &[String],
) -> Option<Result<(Order, String), String>> {
    let last = titles.len().saturating_sub(1);
    let column = match command {
        KeyCommand::SortCpu => title(titles, "%CPU"),
        KeyCommand::SortTime => title(titles, "THR%"),
        KeyCommand::SortPid => last,
        KeyCommand::SortLeft => now.column.saturating_sub(1),
        KeyCommand::SortRight => (now.column + 1).min(last),
        KeyCommand::Reverse => now.column,
        KeyCommand::SortMemory => {
            return Some(Err("no memory column here: sort with P, T, N, < or >".into()))
        }
        _ => return None,
    };
    // Names sort ascending, figures descending.
    let natural = column != last;
    let descending = if command == KeyCommand::Reverse { !now.descending } else { natural };
    let text = format!("sorted by {}", titles[column]);
    Some(Ok((Order { column, descending }, text)))
}

fn title(titles: &[String], wanted: &str) -> usize {
    titles.iter().position(|title| title == wanted).map_or(0, |at| at)
}
