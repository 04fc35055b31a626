//! What each format prints for the same window.

mod sample;

use exactop_model::columns::{self, Unit, COLUMNS, TOP};
use exactop_model::filter::Filter;
use exactop_model::sort::SortBy;
use exactop_model::{Column, ColumnId, Counter, ErrorKind, SourceKind};
use exactop_views::table::TextOptions;
use exactop_views::{csv, json, ptop, reference, table, Page, Plan, Selection, User};
use sample::{details, frame, Reads};

fn named(ids: &[&str]) -> Vec<&'static Column> {
    ids.iter().map(|id| columns::find(id).expect("a column")).collect()
}

fn plan(columns: Vec<&'static Column>) -> Plan {
    Plan {
        columns,
        sort: SortBy::column(ColumnId::CpuPct.column()),
        threads: false,
        command_line: false,
        selection: Selection::default(),
        only_active: false,
    }
}

fn page(plan: &Plan, source: SourceKind) -> Page {
    plan.page(frame(source, plan.threads), &mut Reads(details))
}

fn text(plan: &Plan, source: SourceKind, options: &TextOptions) -> String {
    let mut out = Vec::new();
    table::write(&mut out, &page(plan, source), options).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

const WIDE: TextOptions = TextOptions { width: 512, each_cpu: false };

#[test]
fn the_ledgers_window_as_text() {
    insta::assert_snapshot!(text(&plan(columns::of(TOP)), SourceKind::Ledger, &WIDE));
}

#[test]
fn a_window_of_ticks_as_text_says_so() {
    let mut plan = plan(named(&["pid", "user", "s", "cpu_pct", "cpu_plus_pct", "command"]));
    plan.command_line = true;
    let options = TextOptions { width: 60, each_cpu: true };
    insta::assert_snapshot!(text(&plan, SourceKind::Procfs, &options));
}

fn precise(plan: &Plan, source: SourceKind, rows: Option<usize>) -> String {
    let mut out = Vec::new();
    ptop::write(&mut out, &page(plan, source), rows).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

fn precise_plan() -> Plan {
    let mut plan = plan(columns::of(columns::PTOP));
    plan.sort = SortBy::column(ColumnId::TotalPct.column());
    plan.only_active = true;
    plan
}

#[test]
fn the_precise_top_has_units_and_a_sum() {
    insta::assert_snapshot!(precise(&precise_plan(), SourceKind::Ledger, None));
    insta::assert_snapshot!(precise(&precise_plan(), SourceKind::Procfs, Some(1)));
}

#[test]
fn the_precise_tops_sum_is_all_that_was_taken() {
    let page = page(&precise_plan(), SourceKind::Ledger);
    let text = precise(&precise_plan(), SourceKind::Ledger, None);
    let sum = text.lines().last().and_then(|line| line.split_whitespace().nth(7));
    let sum: f64 = sum.and_then(|sum| sum.parse().ok()).expect("a sum");
    let books = &page.frame.books;
    let taken = books.total_ns - books.idle_ns - books.offline_ns;
    let expected = 100.0 * taken as f64 / page.frame.length_ns() as f64;
    assert!((sum - expected).abs() < 0.01, "{sum} {expected}\n{text}{books:?}");
    let few = precise(&precise_plan(), SourceKind::Ledger, Some(0));
    assert_eq!(few.lines().last(), text.lines().last(), "the sum is of all rows");
}

#[test]
fn threads_as_text() {
    let mut plan = plan(named(&["pid", "tgid", "cpu_pct", "command"]));
    plan.threads = true;
    plan.selection.hide_idle = true;
    insta::assert_snapshot!(text(&plan, SourceKind::Ledger, &WIDE));
}

#[test]
fn no_line_is_wider_than_asked() {
    for width in [1, 20, 80] {
        let options = TextOptions { width, each_cpu: true };
        let text = text(&plan(columns::of(TOP)), SourceKind::Ledger, &options);
        assert!(text.lines().all(|l| l.chars().count() <= width), "{text}");
    }
}

#[test]
fn csv_has_a_row_for_each_row() {
    let plan = plan(named(&["pid", "user", "run_ns", "cpu_pct", "irq_ns", "comm", "command"]));
    let mut out = Vec::new();
    csv::write_header(&mut out, &plan.columns).expect("memory takes it");
    csv::write(&mut out, &page(&plan, SourceKind::Ledger)).expect("memory takes it");
    insta::assert_snapshot!(String::from_utf8(out).expect("text"));
}

fn object(plan: &Plan, source: SourceKind) -> serde_json::Value {
    let mut out = Vec::new();
    json::write(&mut out, &page(plan, source)).expect("memory takes it");
    assert_eq!(out.iter().filter(|&&b| b == b'\n').count(), 1, "one line a window");
    serde_json::from_slice(&out).expect("JSON")
}

/// The object without the lists that are tables of the model: those are compared with the tables.
fn shape(mut object: serde_json::Value) -> String {
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let mut errors: Vec<&str> = ErrorKind::ALL.iter().map(|k| k.id()).collect();
    errors.sort_unstable();
    assert_eq!(keys(&object["window"]["errors"].take()), errors);
    let qualities = keys(&object["source"]["quality"].take());
    assert!(Counter::ALL.iter().all(|c| qualities.contains(&c.info().id.to_string())));
    format!("{object:#}")
}

#[test]
fn json_of_the_ledger() {
    let columns = ["pid", "ppid", "user", "pr", "ni", "res", "s", "cpu_pct", "run_ns", "comm"];
    insta::assert_snapshot!(shape(object(&plan(named(&columns)), SourceKind::Ledger)));
}

#[test]
fn json_of_procfs() {
    let columns = named(&["pid", "run_ns", "lat_ns"]);
    insta::assert_snapshot!(shape(object(&plan(columns), SourceKind::Procfs)));
}

#[test]
fn rows_have_every_raw_column_unless_asked_otherwise() {
    let object = object(&plan(json::default_columns()), SourceKind::Ledger);
    for list in ["tasks", "exited"] {
        let row = object[list][0].as_object().expect("a row");
        for column in COLUMNS {
            let raw = column.unit != Unit::Pct && column.id != ColumnId::Command;
            assert_eq!(row.contains_key(column.name), raw, "{list}: {}", column.name);
        }
    }
}

/// Nothing beside the registry lists columns: whatever is an entry there is in every output, can be
/// sorted by and filtered, and is in the reference.
#[test]
fn one_entry_is_all_that_a_column_takes() {
    let reference = [reference::text(), reference::json(), reference::markdown()];
    for column in COLUMNS {
        let mut plan = plan(vec![column]);
        plan.sort = SortBy::column(column);
        let condition = if column.unit == Unit::Text { "!=nobody" } else { ">=0" };
        let filter = Filter::parse(&format!("{}{condition}", column.name)).expect("a filter");
        plan.selection.filters = vec![filter];
        let text = text(&plan, SourceKind::Ledger, &WIDE);
        assert!(text.lines().any(|line| line.trim() == column.title), "{text}");
        let mut header = Vec::new();
        csv::write_header(&mut header, &plan.columns).expect("memory takes it");
        assert!(header.ends_with(format!(",{}\n", column.name).as_bytes()), "{header:?}");
        plan.selection.filters.clear();
        assert!(object(&plan, SourceKind::Ledger)["tasks"][0].get(column.name).is_some());
        let name = |page: &String| page.replace('\\', "").contains(column.name);
        assert!(reference.iter().all(name), "{}", column.name);
    }
}

#[test]
fn the_books_in_json_add_up() {
    for source in [SourceKind::Ledger, SourceKind::Procfs] {
        let object = object(&plan(named(&["run_ns"])), source);
        let books = &object["books"];
        let ns = |key: &str| match &books[key] {
            serde_json::Value::Null => 0,
            n => n.as_i64().expect("an integer"),
        };
        let parts = ["tasks_ns", "exited_ns", "unnamed_ns", "irq_ns", "steal_ns", "idle_ns"];
        let sum: i64 = parts.into_iter().chain(["offline_ns"]).map(ns).sum();
        let residual = object["window"]["residual_ns"].as_i64().expect("an integer");
        assert_eq!(sum + residual, ns("total_ns"), "{source:?}");
    }
}

#[test]
fn the_rows_of_the_ledger_add_up_to_the_books() {
    let object = object(&plan(named(&["run_ns"])), SourceKind::Ledger);
    for (list, account) in [("tasks", "tasks_ns"), ("exited", "exited_ns")] {
        let rows = object[list].as_array().expect("a list");
        let sum: u64 = rows.iter().map(|r| r["run_ns"].as_u64().expect("an integer")).sum();
        assert_eq!(Some(sum), object["books"][account].as_u64(), "{list}");
    }
}

#[test]
fn rows_are_selected_by_pid_user_idleness_and_expression() {
    let pids = |change: &dyn Fn(&mut Selection)| {
        let mut plan = plan(named(&["pid"]));
        change(&mut plan.selection);
        let page = page(&plan, SourceKind::Ledger);
        let pids: Vec<u32> = page.rows.iter().map(|r| r.key.tgid).collect();
        (pids, page.exited.len())
    };
    assert_eq!(pids(&|_| ()), (vec![22_417, 812, 1, 2], 1));
    assert_eq!(pids(&|s| s.pids = vec![22_417]), (vec![22_417], 1));
    assert_eq!(pids(&|s| s.pids = vec![812, 1]), (vec![812, 1], 0));
    assert_eq!(pids(&|s| s.user = Some(User { uid: 70, others: false })), (vec![812], 0));
    let others = User { uid: 70, others: true };
    assert_eq!(pids(&|s| s.user = Some(others)), (vec![22_417, 1, 2], 0));
    assert_eq!(pids(&|s| s.hide_idle = true), (vec![22_417, 812], 1));
    let filter = |text: &str| vec![Filter::parse(text).expect("a filter")];
    assert_eq!(pids(&|s| s.filters = filter("%CPU>20")), (vec![22_417], 1));
    assert_eq!(pids(&|s| s.filters = filter("user=root")), (vec![1, 2], 0));
}
