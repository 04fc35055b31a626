//! Tests of the order of rows.

use exactop_model::columns::sort::{self, Ranked, SortBy};
use exactop_model::columns::{self, Context};
use exactop_model::{Counter, Row, SourceKind};
use proptest::prelude::*;

fn context() -> Context {
    Context {
        window_ns: 1_000_000_000,
        cpus: 2,
        of_machine: false,
        command_line: false,
        memory_total: None,
        boottime_ns: None,
    }
}

/// Rows that differ in few figures, so that many are equal but for their number in `total`.
fn rows(figures: &[(u32, u64)]) -> Vec<Row> {
    let row = exactop_testkit::frame(SourceKind::Ledger, false).rows[0].clone();
    let numbered = figures.iter().enumerate();
    let made = numbered.map(|(n, &(pid, run_ns))| {
        let mut row = row.clone();
        (row.key.tgid, row.key.tid) = (pid, pid);
        row.delta.set(Counter::RunNs, run_ns);
        row.total.set(Counter::RunNs, n as u64);
        row
    });
    made.collect()
}

proptest! {
    /// The standard library's stable sort gives the same order, also of equal rows.
    #[test]
    fn rows_are_sorted_and_equal_ones_stay(
        figures in proptest::collection::vec((1..6u32, 0..4u64), 0..40),
        descending: bool,
    ) {
        let column = columns::find("cpu_pct").expect("a column");
        let by = SortBy { column, descending };
        let context = context();
        let mut sorted = rows(&figures);
        let mut expected = sorted.clone();
        sort::sort(&mut sorted, by, &context);
        expected.sort_by_cached_key(|row| {
            let tie = (row.key.tgid, row.key.tid, row.ident.ppid);
            Ranked::new((column.value)(row, &context), descending, tie)
        });
        prop_assert_eq!(sorted, expected);
    }
}
