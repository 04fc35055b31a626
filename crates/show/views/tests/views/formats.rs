//! Output of each format for the same window.

use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, Unit, COLUMNS, TOP};
use exactop_model::words::audit::without_place;
use exactop_model::{
    Column, ColumnId, Counter, Degraded, ErrorKind, Needs, Row, RowKind, SourceKind,
};
use exactop_testkit::{details, frame, Details, EXITED, PROCESSES};
use exactop_views::table::TextOptions;
use exactop_views::{csv, json, ptop, reference, table, Page, Plan, Selection, User};

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
    plan.page(frame(source, plan.threads), &mut Details(details))
}

fn text(plan: &Plan, source: SourceKind, options: &TextOptions) -> String {
    text_of(&page(plan, source), options)
}

fn text_of(page: &Page, options: &TextOptions) -> String {
    let mut out = Vec::new();
    table::write(&mut out, page, options).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

const WIDE: TextOptions = TextOptions { width: 512, each_cpu: false, rows: None };

#[test]
fn the_ledgers_window_as_text() {
    insta::assert_snapshot!(text(&plan(columns::by_ids(TOP)), SourceKind::Ledger, &WIDE));
}

#[test]
fn a_window_of_ticks_as_text_says_so() {
    let mut plan = plan(named(&["pid", "user", "s", "cpu_pct", "cpu_plus_pct", "command"]));
    plan.command_line = true;
    let options = TextOptions { width: 60, each_cpu: true, rows: None };
    let mut frame = frame(SourceKind::Procfs, false);
    frame.errors.add(ErrorKind::LostWakeup, 1);
    insta::assert_snapshot!(text_of(&plan.page(frame, &mut Details(details)), &options));
}

#[test]
fn the_exactness_of_a_window_stands_above_its_rows() {
    let shown = |change: fn(&mut exactop_model::Frame)| {
        let plan = plan(columns::by_ids(TOP));
        let mut frame = frame(SourceKind::Ledger, false);
        change(&mut frame);
        text_of(&plan.page(frame, &mut Details(details)), &WIDE)
    };
    assert!(!shown(|_| ()).contains("no witness"));
    let unwitnessed = shown(|frame| frame.missed_switches = None);
    assert!(unwitnessed.contains(" (no witness)"), "{unwitnessed}");
    let missing = shown(|frame| {
        frame.provenance.degraded = Some(Degraded { history: true, brief: true, threads: true });
    });
    let line = "Missing: history, exit rows, thread rows (daemon at its memory bound)\n";
    assert!(missing.contains(line), "{missing}");
    let unknown = shown(|frame| frame.provenance.degraded = None);
    let line = "Missing: unknown (an earlier version did not state it)\n";
    assert!(unknown.contains(line), "{unknown}");
    let missed = shown(|frame| frame.missed_switches = Some(1_234));
    assert!(missed.contains("Events: switches missed 1,234"), "{missed}");
}

#[test]
fn formats_without_a_header_report_tasks_without_a_slot() {
    let mut frame = frame(SourceKind::Ledger, false);
    assert_eq!(without_place(&frame), None);
    frame.errors.add(ErrorKind::NoSlot, 1_000);
    frame.errors.add(ErrorKind::NoGroup, 2);
    let line = without_place(&frame).expect("a notice");
    let kinds = "tasks without a slot 1,000, exits without a slot 2: ";
    assert!(line.starts_with(kinds), "{line}");
}

fn precise(plan: &Plan, source: SourceKind, rows: Option<usize>) -> String {
    let mut out = Vec::new();
    ptop::write(&mut out, &page(plan, source), rows).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

fn precise_plan() -> Plan {
    let mut plan = plan(columns::by_ids(columns::PTOP));
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
fn the_precise_top_keeps_names_on_a_narrow_screen() {
    let page = page(&precise_plan(), SourceKind::Ledger);
    for width in [32, 40, 60, 80, 100] {
        let mut out = Vec::new();
        ptop::write_on(&mut out, &page, None, Some(width)).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        let heading = text.lines().next().expect("a heading");
        let name = heading.find(" Name").expect("a name") + 1;
        assert!(name + 8 <= width.max(40), "{width}: {heading}");
        assert_eq!(heading.contains("Elap+"), width >= 80, "{heading}");
        for line in text.lines().skip(2) {
            let total: Vec<&str> = heading[..name].split_whitespace().collect();
            assert_eq!(
                line[..name.min(line.len())].split_whitespace().count(),
                total.len(),
                "{line}"
            );
        }
        assert!(["user", "sys", "total"].iter().all(|title| heading.contains(title)), "{heading}");
    }
}

#[test]
fn the_precise_tops_sum_is_all_used_time() {
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

/// The process stays, and the sum says that it is larger.
#[test]
fn a_process_whose_childrens_time_is_unknown_counts_with_its_own() {
    let mut page = page(&precise_plan(), SourceKind::Ledger);
    let text = |page: &Page| {
        let mut out = Vec::new();
        ptop::write(&mut out, page, None).expect("memory takes it");
        String::from_utf8(out).expect("text")
    };
    let before = text(&page).lines().count();
    let row = page.rows.iter_mut().filter(|row| row.children.is_some());
    let row = row.max_by_key(|row| row.delta.get(Counter::RunNs)).expect("a parent");
    let pid = row.key.tgid;
    row.children.as_mut().expect("a parent").forget(Counter::RunNs);
    assert_eq!(row.taken_ns(), None, "CPU+ is the sum of both");
    assert!(row.own_taken_ns() > Some(0));
    let text = text(&page);
    let is_it = |line: &&str| line.split_whitespace().next() == Some(&*pid.to_string());
    assert!(text.lines().any(|line| is_it(&line)), "{pid}: {text}");
    assert_eq!(text.lines().count(), before, "{text}");
    let sum = text.lines().last().and_then(|line| line.split_whitespace().nth(7));
    assert!(sum.is_some_and(|sum| sum.contains('+')), "{text}");
}

#[test]
fn the_precise_tops_sum_marks_missing_figures() {
    let mut page = page(&precise_plan(), SourceKind::Ledger);
    let busiest = page.rows.iter_mut().max_by_key(|row| row.delta.get(Counter::RunNs));
    let row = busiest.expect("rows");
    // No tick has hit the task yet.
    for counter in [Counter::UserNs, Counter::SystemNs, Counter::UtimeNs, Counter::StimeNs] {
        row.delta.forget(counter);
        row.total.forget(counter);
    }
    let mut out = Vec::new();
    ptop::write(&mut out, &page, None).expect("memory takes it");
    let text = String::from_utf8(out).expect("text");
    let sum: Vec<&str> = text.lines().last().expect("a sum").split_whitespace().collect();
    let marked: Vec<bool> = sum[1..8].iter().map(|cell| cell.ends_with('+')).collect();
    assert_eq!(marked, [true, true, false, false, false, false, false], "{text}");
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
        let options = TextOptions { width, each_cpu: true, rows: None };
        let text = text(&plan(columns::by_ids(TOP)), SourceKind::Ledger, &options);
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

/// The object without the lists that are tables of the model, which other tests compare with the
/// tables.
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
    let mut plan = plan(named(&columns));
    plan.selection.pids = vec![22_417, 22_700];
    insta::assert_snapshot!(shape(object(&plan, SourceKind::Ledger)));
}

#[test]
fn json_of_procfs() {
    let mut plan = plan(named(&["pid", "run_ns", "lat_ns"]));
    plan.selection.pids = vec![22_417, 1];
    insta::assert_snapshot!(shape(object(&plan, SourceKind::Procfs)));
}

#[test]
fn rows_have_every_raw_column_by_default() {
    let object = object(&plan(json::default_columns()), SourceKind::Ledger);
    for list in ["tasks", "exited"] {
        let row = object[list][0].as_object().expect("a row");
        for column in COLUMNS {
            // Names of containers and disk I/O need files, so they are output only on request.
            let read = !column.needs.has(Needs::NAMES) && !column.needs.has(Needs::DISK);
            let raw = column.unit != Unit::Pct && column.id != ColumnId::Command && read;
            assert_eq!(row.contains_key(column.name), raw, "{list}: {}", column.name);
        }
    }
}

/// Only the registry lists columns: every entry is in every output, is usable for sorting and
/// filtering, and is in the reference.
#[test]
fn one_registry_entry_makes_a_column() {
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
        assert!(header.ends_with(format!(",{},wall_s\n", column.name).as_bytes()), "{header:?}");
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
fn exited_groups_have_the_name_of_their_user() {
    let named = |rows: &mut [&mut Row], needs: Needs| {
        details(rows, needs);
        let exited = rows.iter_mut().filter(|row| row.kind == RowKind::Exited);
        exited
            .filter(|_| needs.has(Needs::USER))
            .for_each(|row| row.detail.user = Ok("bin".into()));
    };
    let exited = |filter: &str| {
        let mut plan = plan(columns::by_ids(&[ColumnId::Pid, ColumnId::User]));
        plan.selection.filters = vec![Filter::parse(filter).expect("a filter")];
        plan.page(frame(SourceKind::Ledger, false), &mut Details(named)).exited
    };
    let rows = exited("user=bin");
    assert_eq!(rows.len(), EXITED.len());
    assert!(rows.iter().all(|row| row.detail.user.as_deref() == Ok("bin")));
    assert_eq!(exited("user=root"), []);
    // Also if no filter needs the name.
    assert!(exited("pid>=0").iter().all(|row| row.detail.user.is_ok()));
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
    assert_eq!(pids(&|_| ()).1, EXITED.len());
    assert_eq!(pids(&|s| s.pids = vec![22_417]), (vec![22_417], 2));
    assert_eq!(pids(&|s| s.pids = vec![812, 1]), (vec![812, 1], 0));
    assert_eq!(pids(&|s| s.user = Some(User { uid: 105, others: false })), (vec![812, 813], 0));
    let others = User { uid: 105, others: true };
    assert_eq!(pids(&|s| s.user = Some(others)).0.len(), PROCESSES.len() - 2);
    let busy = vec![22_417, 22_418, 22_600, 812, 813, 14];
    assert_eq!(pids(&|s| s.hide_idle = true), (busy, EXITED.len()));
    let filter = |text: &str| vec![Filter::parse(text).expect("a filter")];
    assert_eq!(pids(&|s| s.filters = filter("%CPU>20")), (vec![22_417, 22_418], 2));
    assert_eq!(pids(&|s| s.filters = filter("user=root")), (vec![14, 1, 2, 311, 990], 0));
}
