//! The order of a page with its own columns: the table's sort keys, where they apply.

use crate::keys::KeyCommand;
use exactop_model::words::order::Order;

/// The order after a key, and the message about it; `None`: not a sort key. `shown`: the current
/// order and the titles of the columns, the name last; `None` before the first figures.
pub(super) fn on_key(
    command: KeyCommand,
    shown: Option<(Order, &[String])>,
) -> Option<Result<(Order, String), String>> {
    let (now, titles) = shown.unwrap_or((Order { column: 0, descending: true }, &[]));
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
    if shown.is_none() {
        return Some(Err("no figures yet: wait for the next window".into()));
    }
    // The keys of a column keep its natural order; only R reverses it.
    let reverses = command == KeyCommand::Reverse;
    Some(Ok(order(column, reverses.then_some(!now.descending), titles)))
}

/// The order after a click on the heading of a column, and the message about it.
pub(super) fn by(column: usize, now: Order, titles: &[String]) -> (Order, String) {
    let again = (now.column == column).then_some(!now.descending);
    order(column, again, titles)
}

/// The order by a column. Names sort ascending and figures descending, unless told.
fn order(column: usize, descending: Option<bool>, titles: &[String]) -> (Order, String) {
    let is_figure = column + 1 < titles.len();
    let descending = descending.unwrap_or(is_figure);
    (Order { column, descending }, format!("sorted by {}", titles[column]))
}

fn title(titles: &[String], wanted: &str) -> usize {
    titles.iter().position(|title| title == wanted).map_or(0, |at| at)
}
