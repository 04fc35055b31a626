//! Names that spreadsheets would run as formulas, in every kind of CSV.

use exactop_model::cgroups::{rows, GroupSample, Groups};
use exactop_model::columns;
use exactop_model::columns::sort::SortBy;
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::syscalls::{SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::on_demand::waits::{OtherShare, WaitRow, WaitWindow};
use exactop_model::on_demand::wakeups::{Edge, WakeupWindow};
use exactop_model::{ColumnId, Comm, SourceKind, SyscallNr, TaskRef};
use exactop_testkit::{details, frame, Details};
use exactop_views::on_demand::{syscalls, waits, wakeups};
use exactop_views::{cgroups, csv, Plan, Selection};

const NAMES: [&str; 6] = ["=cmd|' /C x'!A0", "+1+1", "-1+1", "@SUM(A1)", "＝1", "'=1"];

fn who(name: &str) -> TaskRef {
    TaskRef::thread(70, 71, Comm::new(name.as_bytes()), Comm::new(name.as_bytes()))
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// Checks that every cell but numbers is text to a spreadsheet, and that the names can be
/// recovered.
fn check(bytes: &[u8], names: usize) {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
    let mut found = 0;
    for record in reader.records() {
        for cell in &record.expect("CSV") {
            let formula = cell.starts_with(['=', '+', '-', '@', '＝', '\t', '\r']);
            assert!(!formula || is_number(cell), "a formula: {cell}");
            let had_back = cell.strip_prefix('\'');
            found += usize::from(had_back.is_some_and(|name| {
                NAMES.iter().any(|own| Comm::new(own.as_bytes()).to_string() == name)
            }));
        }
    }
    assert_eq!(found, names, "{}", String::from_utf8_lossy(bytes));
}

#[test]
fn rows_of_tasks() {
    let ids = ["pid", "user", "ni", "comm", "command", "cgroup"];
    let plan = Plan {
        columns: ids.map(|id| columns::find(id).expect("a column")).to_vec(),
        sort: SortBy::column(ColumnId::CpuPct.column()),
        threads: false,
        command_line: false,
        selection: Selection::default(),
        only_active: false,
    };
    let mut frame = frame(SourceKind::Ledger, false);
    for (row, name) in frame.rows.iter_mut().zip(NAMES.iter().cycle()) {
        row.ident.comm = Comm::new(name.as_bytes());
        // A number stays a number.
        row.ident.nice = -7;
    }
    let page = plan.page(frame, &mut Details(details));
    let mut out = Vec::new();
    csv::write(&mut out, &page).expect("memory takes it");
    // The name occurs as comm and as command.
    check(&out, 2 * page.rows.len());
    assert!(String::from_utf8_lossy(&out).contains(",-7,"), "a number is no text");
}

#[test]
fn calls_waits_and_wakes() {
    let row = |name: &&str| SyscallRow::new(Some(who(name)), SyscallNr(99_999));
    let (t0_ns, t1_ns, losses) = (0, 1_000_000_000, Losses::default());
    let window = SyscallWindow {
        t0_ns,
        t1_ns,
        by: SyscallsBy::Thread,
        rows: NAMES.iter().map(row).collect(),
        failures: Vec::new(),
        dispatches: Vec::new(),
        losses,
    };
    check(&syscalls::csv(&window, false), NAMES.len());
    let edge = |name: &&str| Edge {
        waker: who(name),
        wakee: who(name),
        wakeups: 1,
        chains: 1,
        unproductive: 0,
        unproductive_ns: 0,
        late_ns: 0,
    };
    let window = WakeupWindow {
        t0_ns,
        t1_ns,
        edges: NAMES.iter().map(edge).collect(),
        fans: vec![],
        losses,
    };
    check(&wakeups::csv(&window, false), 2 * NAMES.len());
    let row = |name: &&str| WaitRow {
        woken_by: vec![OtherShare { who: who(name), amount: 1 }],
        ..WaitRow::new(who(name))
    };
    let window = WaitWindow { t0_ns, t1_ns, rows: NAMES.iter().map(row).collect(), losses };
    // The name occurs as the row's name on each of its lines; a waker's name has a number after it.
    let lines = waits::csv(&window, true);
    let count = String::from_utf8_lossy(&lines).lines().count();
    check(&lines, count);
}

#[test]
fn groups() {
    let sample = |name: &&str| GroupSample { name: name.to_string(), ..GroupSample::default() };
    let samples: Vec<GroupSample> = NAMES
        .iter()
        .map(|n| Comm::new(n.as_bytes()).to_string())
        .map(|n| sample(&n.as_str()))
        .collect();
    let window = Groups {
        t0_ns: 0,
        t1_ns: 1_000_000_000,
        cpus: Some(2),
        no_ledger: None,
        rows: rows(&samples, &samples, None),
    };
    check(&cgroups::csv(&window), NAMES.len());
}
