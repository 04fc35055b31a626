//! The export equals the recording: read back by this crate's own library, and by DuckDB.

use exactop_export::{export, fields, Files, Replacing, TableName};
use exactop_files::Directory;
use exactop_model::{Book, Books, Snapshot, SourceKind};
use exactop_recording::{Clocks, Machine, Options, Recorder, Recording, Sync, TimeRange};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Wall clock minus CLOCK_MONOTONIC, ns: midnight (UTC) is within the recording.
const OFFSET: i64 = 1_760_054_400_000_000_000 - 112_000_000_000;
const WINDOWS: u64 = 20;

/// True sums of the recording's windows.
#[derive(Debug, Default, PartialEq)]
struct Truth {
    capacity: u64,
    named: u64,
    others: u64,
    tasks: usize,
    exited: usize,
}

fn machine() -> Machine {
    Machine {
        host: "<made>\x1b[2J".into(),
        boot_id: "boot".into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.1.0".into(),
    }
}

fn recorded(path: &Path) -> Truth {
    recorded_from(SourceKind::Ledger, path)
}

fn recorded_from(source: SourceKind, path: &Path) -> Truth {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine(), options).expect("a recorder");
    let (mut book, mut truth) = (Book::new(), Truth::default());
    for n in 0..=WINDOWS {
        let now: Snapshot = exactop_testkit::snapshot(source, n, None);
        recorder.record(&now, &book, Clocks { wall_offset_ns: OFFSET, suspended_ns: 0 });
        let Some(window) = book.advance(now) else { continue };
        let books = Books::from_window(&window);
        assert_eq!(books.residual_ns, 0);
        truth.capacity += books.total_ns;
        truth.named += books.tasks_ns + books.exited_ns;
        let told: u64 = books.irq_ns.into_iter().chain(books.steal_ns).sum();
        truth.others += books.unnamed_ns + books.idle_ns + books.offline_ns + told;
        truth.tasks += window.tasks.len();
        truth.exited += window.exited.len();
    }
    truth
}

/// An export: its directory and its true sums.
fn exported() -> (tempfile::TempDir, PathBuf, Truth) {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, out) = (dir.path().join("recording"), dir.path().join("out"));
    let truth = recorded(&path);
    let into = Directory::open_or_make(&out).expect("a directory");
    let recording = Recording::open(&path).expect("a recording");
    let exported = export(recording, TimeRange::default(), &mut &into).expect("exported");
    assert_eq!((exported.windows, exported.days), (WINDOWS, 2), "midnight is in it");
    (dir, out, truth)
}

/// Sums of a table's columns over all days, and its number of rows. Nulls are in no sum.
fn sums(out: &Path, which: TableName, columns: &[&str]) -> (Vec<u64>, usize) {
    let (sums, rows) = known_sums(out, which, columns);
    (sums.into_iter().map(|sum| sum.unwrap_or(0)).collect(), rows)
}

/// The same; `None` for a column that has only nulls.
fn known_sums(out: &Path, which: TableName, columns: &[&str]) -> (Vec<Option<u64>>, usize) {
    let (mut sums, mut rows) = (vec![None; columns.len()], 0);
    let places: Vec<usize> = columns
        .iter()
        .map(|name| fields(which).iter().position(|field| field.name == *name).expect(name))
        .collect();
    for day in std::fs::read_dir(out).expect("days") {
        let path = day.expect("a day").path().join(format!("{}.parquet", which.name()));
        let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            rows += 1;
            for (n, (sum, &place)) in sums.iter_mut().zip(&places).enumerate() {
                match row.get_column_iter().nth(place) {
                    Some((_, Field::ULong(number))) => *sum.get_or_insert(0) += *number,
                    Some((_, Field::Null)) => {}
                    other => panic!("{}: {other:?} is no number", columns[n]),
                }
            }
        }
    }
    (sums, rows)
}

#[test]
fn every_table_sums_up_to_the_recording() {
    let (_dir, out, truth) = exported();
    let columns = [
        "capacity_ns",
        "tasks_ns",
        "exited_ns",
        "unnamed_ns",
        "irq_ns",
        "steal_ns",
        "idle_ns",
        "offline_ns",
    ];
    let (accounts, windows) = sums(&out, TableName::Accounts, &columns);
    assert_eq!(windows as u64, WINDOWS);
    assert_eq!(accounts[0], truth.capacity);
    assert_eq!(accounts[1] + accounts[2], truth.named);
    assert_eq!(accounts[3..].iter().sum::<u64>(), truth.others);
    assert_eq!(accounts[1..].iter().sum::<u64>(), truth.capacity, "CPUs x time");
    let (rows, n) = sums(&out, TableName::Rows, &["run_ns"]);
    assert_eq!((rows[0], n), (truth.named, truth.tasks + truth.exited));
    let (groups, _) = sums(&out, TableName::Groups, &["run_ns"]);
    assert_eq!(groups[0], truth.named);
    let (charges, _) = sums(&out, TableName::Charges, &["run_ns"]);
    assert_eq!(charges[0], truth.named);
}

#[test]
fn exits_that_the_source_cannot_see_are_null() {
    for source in [SourceKind::Ledger, SourceKind::Procfs, SourceKind::Snapshot] {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, out) = (dir.path().join("recording"), dir.path().join("out"));
        recorded_from(source, &path);
        let into = Directory::open_or_make(&out).expect("a directory");
        let recording = Recording::open(&path).expect("a recording");
        export(recording, TimeRange::default(), &mut &into).expect("exported");
        for (which, columns) in [
            (TableName::Accounts, &["exited_ns"][..]),
            (TableName::Rows, &["exited_processes", "exited_tasks"]),
            (TableName::Groups, &["exited_processes"]),
            (TableName::Charges, &["exited_processes"]),
        ] {
            let (sums, rows) = known_sums(&out, which, columns);
            let is_known = source == SourceKind::Ledger;
            let expected = |sum: &Option<u64>| sum.map(|sum| sum > 0) == is_known.then_some(true);
            assert!(rows > 0 && sums.iter().all(expected), "{source:?} {which:?}: {sums:?}");
        }
    }
}

#[test]
fn only_the_requested_range_is_exported() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, out) = (dir.path().join("recording"), dir.path().join("out"));
    recorded(&path);
    let into = Directory::open_or_make(&out).expect("a directory");
    // A window that ends at midnight belongs to the next day.
    let before = Some(1_760_054_400_000_000_000i128 - 1);
    for (from, to) in [(None, before), (before, None)] {
        let recording = Recording::open(&path).expect("a recording");
        let exported = export(recording, TimeRange { from, to }, &mut &into).expect("exported");
        assert!(exported.windows > 0 && exported.windows < WINDOWS);
    }
    let (capacity, windows) = sums(&out, TableName::Accounts, &["capacity_ns"]);
    assert_eq!(windows as u64, WINDOWS, "the two parts are the whole");
    assert_eq!(capacity[0], WINDOWS * 2 * exactop_testkit::WINDOW);
}

/// Files of all days.
fn files(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let below = |path: &Path| std::fs::read_dir(path).expect("a directory").flatten();
    let all = below(out).flat_map(|day| below(&day.path()));
    all.map(|file| (file.path(), std::fs::read(file.path()).expect("a file"))).collect()
}

#[test]
fn a_part_of_a_day_does_not_replace_more() {
    let (dir, out, _) = exported();
    let whole = files(&out);
    let into = Directory::open_or_make(&out).expect("a directory");
    let midnight = 1_760_054_400_000_000_000i128;
    let export = |when, files: &mut dyn Files| {
        export(Recording::open(&dir.path().join("recording")).expect("it"), when, files)
    };
    let since = |ns: i128| TimeRange { from: Some(midnight + ns), to: None };
    let window = i128::from(exactop_testkit::WINDOW);
    // All but one window of each day, and windows of one day only.
    let but_one = TimeRange { from: None, to: Some(midnight - window - 1) };
    for (when, windows) in [(since(0), 1), (since(window), 2), (but_one, 1)] {
        let error = export(when, &mut &into).expect_err("it has less").to_string();
        let told = format!("has windows that this export lacks ({windows}, the first of '");
        assert!(error.contains(&told) && !error.contains('\x1b'), "{error}");
        assert_eq!(files(&out), whole, "nothing was written");
    }
    // A whole day, and all days again.
    export(since(-1), &mut &into).expect("no less");
    export(TimeRange::default(), &mut &into).expect("no less");
    assert_eq!(files(&out), whole);
    let accounts = whole.keys().find(|path| path.ends_with("accounts.parquet")).expect("it");
    std::fs::write(accounts, "a foreign file").expect("written");
    let error = export(TimeRange::default(), &mut &into).expect_err("it is another").to_string();
    assert!(error.contains("is not a table of 'exactop export'"), "{error}");
    export(since(window), &mut Replacing(&mut &into)).expect("it was said");
    assert_ne!(files(&out), whole);
    export(TimeRange::default(), &mut Replacing(&mut &into)).expect("it was said");
    assert_eq!(files(&out), whole);
}

#[test]
fn the_document_has_every_column() {
    const DOCUMENT: &str = include_str!("../../../../../docs/reference/recording.md");
    for &which in TableName::ALL {
        let begin = DOCUMENT.find(&format!("`{}.parquet`", which.name())).expect("the table");
        let end = DOCUMENT[begin..].find("\n\n").expect("an end") + begin;
        for field in fields(which).iter().filter(|f| !is_counter(&f.name)) {
            // Pairs and histograms have the columns of victims, which the table of waits has.
            let victims = DOCUMENT.find("`waits.parquet`").expect("the table");
            let has_victims = matches!(which, TableName::Pairs | TableName::Histograms);
            let begin = if has_victims { victims } else { begin };
            let name = field.name.strip_prefix("culprit_").unwrap_or(&field.name);
            let name = format!("`{name}`");
            assert!(DOCUMENT[begin..end].contains(&name), "{}: {name}", which.name());
        }
    }
}

fn is_counter(name: &str) -> bool {
    exactop_model::Counter::ALL.iter().any(|counter| counter.info().id == name)
}

/// A script that prints DuckDB's totals, one number a line.
const ASK: &str = r#"
import duckdb, sys
out = sys.argv[1]
of = lambda what, table: duckdb.sql(f"select {what} from read_parquet('{out}/*/{table}.parquet', hive_partitioning = true)").fetchall()[0][0]
print(of("sum(capacity_ns)::uhugeint", "accounts"))
print(of("sum(cpus * length_ns)::uhugeint", "accounts"))
print(of("sum(tasks_ns + exited_ns + unnamed_ns + irq_ns + steal_ns + idle_ns + offline_ns + residual_ns)::hugeint", "accounts"))
print(of("sum(run_ns)::uhugeint", "rows"))
print(of("sum(run_ns)::uhugeint", "groups"))
print(of("count(distinct day)", "rows"))
print(of("typeof(run_ns)", "rows").count("UBIGINT"))
print(of("typeof(window_end)", "rows"))
"#;

/// The output of a script with DuckDB on an export; `None`: it is not installed, which is printed.
pub fn duckdb(script: &str, out: &Path) -> Option<String> {
    let python = std::env::var("EXACTOP_TEST_DUCKDB").unwrap_or_else(|_| "python3".into());
    let there = Command::new(&python).args(["-c", "import duckdb"]).output();
    if !there.is_ok_and(|out| out.status.success()) {
        let how = "'make duckdb' installs it, 'make test' runs this test with it";
        eprintln!("not run: {python} has no module duckdb; {how}");
        assert!(std::env::var_os("EXACTOP_TEST_DUCKDB").is_none(), "{how}");
        return None;
    }
    let told = Command::new(&python).args(["-c", script]).arg(out).output().expect("python");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    Some(String::from_utf8(told.stdout).expect("UTF-8"))
}

#[test]
fn duckdb_reads_the_same_totals() {
    let (_dir, out, truth) = exported();
    let Some(told) = duckdb(ASK, &out) else { return };
    let told: Vec<&str> = told.lines().collect();
    let (capacity, named) = (truth.capacity.to_string(), truth.named.to_string());
    let expected = [
        &*capacity,
        &*capacity,
        &*capacity,
        &*named,
        &*named,
        "2",
        "1",
        "TIMESTAMP WITH TIME ZONE",
    ];
    // Newer versions of DuckDB have a type for nanoseconds in UTC.
    assert_eq!(told[..7], expected[..7]);
    assert!(told[7].starts_with("TIMESTAMP"), "{}", told[7]);
}
