//! The files of an exporter that follows a log, whatever happens to both: each window is there
//! once, and windows that the log lost are gaps, to the nanosecond.

use crate::growing::{balance, follow, known, until, Growing};
use crate::puts::{Fares, Puts};
use exactop_export::clickhouse::{Address, Patience};
use exactop_export::onward::{Destination, Exporter, News, Status};
use exactop_export::{Objects, Shelf};
use exactop_fleet::{Account, Books, Parquet};
use exactop_recording::{Options, TimeRange, SENDERS};
use exactop_testkit::{wait, WINDOW};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

fn into(dir: &Path) -> Destination {
    Destination::Files(Shelf::Here(dir.into()))
}

fn to(url: &str) -> Destination {
    let address = Address::read(url).expect("an address");
    let objects = Objects::new(&address, None, None, Patience::ONCE).expect("all it takes to ask");
    Destination::Files(Shelf::There(Box::new(objects)))
}

fn is_away(exporter: &Exporter, why: &str) {
    let says = |status: &Status| status.error.as_ref().is_some_and(|error| error.contains(why));
    until(why, exporter, |status| says(status) && status.pending_bytes > 0);
}

/// Files of a table, in directories of days.
fn files(dir: &Path, table: &str) -> Vec<PathBuf> {
    let below =
        |path: &Path| fs::read_dir(path).expect("a directory").flatten().map(|entry| entry.path());
    let all = below(dir).flat_map(|day| below(&day).collect::<Vec<_>>());
    let is_of = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(table))
    };
    let mut of: Vec<_> = all.filter(is_of).collect();
    // By the number of their first window.
    of.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    of
}

/// Checks that each of `windows` windows is there once and complete.
fn holds(dir: &Path, windows: u64) {
    let balance = balance(dir);
    assert!(balance.holds(), "{:?}", balance.hosts);
    assert_eq!(balance.windows(), windows);
    for table in ["charges-", "blame-"] {
        assert_eq!(files(dir, "accounts-").len(), files(dir, table).len());
    }
    // No unfinished file is left.
    assert_eq!(files(dir, ".exactop"), Vec::<PathBuf>::new());
}

#[test]
fn a_missing_or_foreign_directory_gets_all_files_later() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let (books, aside) = (dir.path().join("books"), dir.path().join("aside"));
    let exporter = follow(&log.path, into(&books));
    log.windows(5);
    is_away(&exporter, "No such file");
    assert!(!books.exists(), "it may be a disk that is not mounted");
    fs::create_dir(&books).expect("made");
    fs::set_permissions(&books, Permissions::from_mode(0o777)).expect("rights");
    is_away(&exporter, "others can write to");
    fs::set_permissions(&books, Permissions::from_mode(0o755)).expect("rights");
    until("the first windows", &exporter, |status| known(status) == 5);
    fs::rename(&books, &aside).expect("away");
    log.windows(700);
    is_away(&exporter, "No such file");
    // A file or a link in its place.
    fs::write(&books, "a file").expect("written");
    is_away(&exporter, "give a directory");
    fs::remove_file(&books).expect("removed");
    fs::rename(&aside, &books).expect("back");
    until("all of it", &exporter, |status| known(status) == 705 && status.error.is_none());
    let status = exporter.status();
    assert_eq!((status.losses, status.pending_bytes), (0, 0), "{status:?}");
    assert_eq!(exporter.news().last(), Some(&News::Again));
    // The last windows are delivered before it ends.
    log.windows(3);
    exporter.finish(wait::LIMIT);
    holds(&books, 708);
}

#[test]
fn a_repeated_batch_replaces_its_files_after_any_kill() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let books = dir.path().join("books");
    fs::create_dir(&books).expect("made");
    let cursor = log.path.join(SENDERS).join("parquet.json");
    let mut recorded = 0;
    for round in 0..8u64 {
        let before = fs::read(&cursor).ok();
        log.windows(20);
        recorded += 20;
        let exporter = follow(&log.path, into(&books));
        until("all of it", &exporter, |status| known(status) > 0 && status.pending_bytes == 0);
        exporter.finish(wait::LIMIT);
        holds(&books, recorded);
        if round % 3 == 0 {
            continue;
        }
        // As if it was killed before it saved its cursor; each second time between the two tables.
        fs::write(&cursor, before.expect("it went before")).expect("written");
        if round % 3 == 1 {
            fs::remove_file(files(&books, "accounts-").last().expect("one")).expect("removed");
        }
    }
    let exporter = follow(&log.path, into(&books));
    until("all of it", &exporter, |status| known(status) > 0);
    exporter.finish(wait::LIMIT);
    holds(&books, recorded);
}

#[test]
fn an_exporter_resumes_in_its_earlier_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
    for (round, books) in [&one, &other, &one, &other].into_iter().enumerate() {
        fs::create_dir_all(books).expect("made");
        log.windows(10);
        let exporter = follow(&log.path, into(books));
        until("all of it", &exporter, |status| known(status) > 0);
        exporter.finish(wait::LIMIT);
        holds(books, 10 * (round as u64 + 1));
    }
}

#[test]
fn a_server_that_loses_answers_has_each_window_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let books = dir.path().join("books");
    let server = Puts::start(&books, Fares::Away);
    let mut recorded = 0;
    for fares in [Fares::Away, Fares::Moody, Fares::Well, Fares::Moody] {
        server.fares(fares);
        let asked = server.requests();
        let exporter = follow(&log.path, to(&server.url));
        log.windows(50);
        recorded += 50;
        until("some of it", &exporter, |status| server.requests() > asked + 3 || known(status) > 0);
        exporter.finish(wait::LIMIT);
    }
    let exporter = follow(&log.path, to(&server.url));
    log.windows(1);
    until("most of it", &exporter, |status| known(status) > 0);
    server.fares(Fares::Well);
    let before = known(&exporter.status());
    log.windows(2);
    let is_all = |status: &Status| known(status) >= before + 2 && status.error.is_none();
    until("all of it", &exporter, is_all);
    exporter.finish(wait::LIMIT);
    holds(&books, recorded + 3);
}

#[test]
fn windows_lost_before_writing_are_the_reported_gap() {
    for fares in [Fares::Away, Fares::GoneAfterAll, Fares::GoneBetween] {
        let dir = tempfile::tempdir().expect("a directory");
        let options = Options { max_bytes: Some(60_000), ..Options::default() };
        let mut log = Growing::begin(dir.path(), options);
        let books = dir.path().join("books");
        let server = Puts::start(&books, Fares::Well);
        let exporter = follow(&log.path, to(&server.url));
        for n in 1..=4 {
            // A few at a time, so that the log keeps all undelivered windows.
            log.windows(5);
            until("the first windows", &exporter, |status| known(status) == 5 * n);
        }
        // The result of the next ones is unknown, and the log has removed them when the server is
        // back.
        server.fares(fares);
        log.windows(1);
        until("a failure", &exporter, |status| status.failed > 0 && server.is_away());
        log.windows(600);
        let failed = exporter.status().failed;
        until("a failure", &exporter, |status| status.failed > failed + 1);
        server.fares(Fares::Well);
        let told = |status: &Status| known(status) > 20 && status.pending_bytes == 0;
        until("what is left", &exporter, told);
        let status = exporter.status();
        assert!(status.lost_ns > 0 && status.lost_ns.is_multiple_of(WINDOW), "{status:?}");
        exporter.finish(wait::LIMIT);
        // No batch is being written any more.
        for path in files(&books, "charges-") {
            let file = fs::File::options().append(true).open(path).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("older");
        }
        let balance = balance(&books);
        let host = &balance.hosts[0];
        assert_eq!((host.doubled, host.overlaps.count), (0, 0), "{fares:?}: {host:?}");
        assert_eq!((host.uneven, host.stray), (0, 0), "{fares:?}: {host:?}");
        // More than one gap if files were removed while earlier ones were read.
        let told = (status.losses, u128::from(status.lost_ns));
        assert_eq!((host.gaps.count, host.gaps.length_ns), told, "{fares:?}: {host:?}");
        assert_eq!(balance.windows(), 621 - status.lost_ns / WINDOW, "{fares:?}");
    }
}

/// A script that prints DuckDB's sums over the shipped tables, one number a line.
const ASK: &str = r#"
import duckdb, sys
books, tables = sys.argv[1:]
base = duckdb.connect()
base.execute(f"SET VARIABLE books = '{books}'; SET VARIABLE since = '2000-01-01'; SET VARIABLE until = '2100-01-01'")
base.execute(open(tables).read())
of = lambda what, table: base.sql(f"select {what} from {table}").fetchall()[0][0]
print(of("count(*)", "accounts"))
print(of("sum(cpus * length_ns)::uhugeint", "accounts"))
print(of("sum(run_ns)::uhugeint", "charges"))
print(of("count(DISTINCT t1_ns)", "blame"))
"#;

#[test]
fn duckdb_reads_files_written_as_windows_close() {
    let python = std::env::var("EXACTOP_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let there = Command::new(&python).args(["-c", "import duckdb, pytz"]).output();
    if !there.is_ok_and(|out| out.status.success()) {
        let how = "'make test-fleet' installs it and runs this test";
        eprintln!("not run: {python} has no module duckdb; {how}");
        assert!(std::env::var_os("EXACTOP_TEST_PYTHON").is_none(), "{how}");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = Growing::begin(dir.path(), Options::default());
    let books = dir.path().join("books");
    fs::create_dir(&books).expect("made");
    for _ in 0..3 {
        log.windows(30);
        let exporter = follow(&log.path, into(&books));
        until("all of it", &exporter, |status| known(status) == 30);
        exporter.finish(wait::LIMIT);
    }
    let (mut capacity, mut named) = (0, 0);
    let add = &mut |row: Account| {
        capacity += u128::from(row.capacity_ns);
        named += row.named_ns();
    };
    let all = Parquet::open(&books).expect("tables");
    all.accounts(TimeRange::default(), add).expect("readable");
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/duckdb/tables.sql");
    let told = Command::new(&python).args(["-c", ASK]).arg(&books).arg(tables).output();
    let told = told.expect("python");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    assert_eq!(told, format!("90\n{capacity}\n{named}\n90\n"));
}
