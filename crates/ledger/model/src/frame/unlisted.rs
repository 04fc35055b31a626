//! CPU time of tasks that the books have and no row has.
//!
//! Rows are made from the same window as the books, so there is none. A fault that loses a row must
//! not go unseen: it shows as a row of its own, and the window is inexact.

use super::{exited_row, Row};
use crate::ledger::books::Books;
use crate::ledger::counters::Counter;
use crate::ledger::key::{AccountId, Comm};
use crate::ledger::snapshot::ExitSample;

/// Name of the row.
const NAME: &[u8] = b"(unlisted)";

/// Time of the books' tasks and exited tasks less that of all rows, ns.
pub(super) fn unlisted_ns<'a>(books: &Books, rows: impl Iterator<Item = &'a Row>) -> i64 {
    let rows = rows.filter_map(|row| row.delta.get(Counter::RunNs)).fold(0, u64::wrapping_add);
    books.tasks_ns.wrapping_add(books.exited_ns).wrapping_sub(rows) as i64
}

/// The row of such time. Time that is in two rows has none.
pub(super) fn row(unlisted_ns: i64) -> Option<Row> {
    let run_ns = u64::try_from(unlisted_ns).ok().filter(|ns| *ns > 0)?;
    let nobody = ExitSample::empty(AccountId(0), Default::default(), Comm::new(NAME));
    let mut row = exited_row(&nobody, 0, false);
    row.delta.set(Counter::RunNs, run_ns);
    row.total = row.delta;
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(run_ns: &[u64]) -> Vec<Row> {
        run_ns.iter().map(|&ns| row(ns as i64).expect("a row")).collect()
    }

    fn books() -> Books {
        Books { tasks_ns: 15_849, exited_ns: 1_000, ..Books::default() }
    }

    #[test]
    fn rows_that_have_all_time_leave_nothing() {
        let all = rows(&[15_849, 1_000]);
        assert_eq!(unlisted_ns(&books(), all.iter()), 0);
        assert_eq!(row(0), None);
    }

    #[test]
    fn time_without_a_row_gets_one_of_its_own() {
        let mut listed = rows(&[1_000]);
        let unlisted_ns = unlisted_ns(&books(), listed.iter());
        let row = row(unlisted_ns).expect("a row");
        assert_eq!((row.ident.comm.bytes(), row.delta.get(Counter::RunNs)), (NAME, Some(15_849)));
        listed.push(row);
        assert_eq!(super::unlisted_ns(&books(), listed.iter()), 0);
    }

    #[test]
    fn time_in_two_rows_is_told_without_a_row() {
        let twice = rows(&[15_849, 15_849, 1_000]);
        let unlisted_ns = unlisted_ns(&books(), twice.iter());
        assert_eq!((unlisted_ns, row(unlisted_ns)), (-15_849, None));
    }
}
