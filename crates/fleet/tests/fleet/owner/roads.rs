//! The routes from a window to a figure. Each must give the same sums.

use super::{add, Figures, History, Sums};
use exactop_export::{export, fields, TableName};
use exactop_files::Directory;
use exactop_fleet::report::Report;
use exactop_fleet::Parquet;
use exactop_metrics::{Clock, Format, Metrics, Settings};
use exactop_model::cgroups::uses;
use exactop_model::frame::named_sums::NamedSums;
use exactop_model::ledger::joined::Joined;
use exactop_model::ledger::merged::Merged;
use exactop_model::owner::{charge, BookNames, Grouping, Owner};
use exactop_model::{Book, Counter, Window};
use exactop_recording::{Clocks, Options, Recorder, Recording, Sync, TimeRange, Windows};
use exactop_sums::{Difference, Per, Stretch};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;

const WALL: i64 = 1_760_000_000_000_000_000;

/// Normalizes a name: rests become one. A process and a session are their number alone, because
/// their names may change.
fn normal(by: Grouping, name: &str, is_rest: bool) -> String {
    if let (Grouping::Session, false, Some((id, _leader))) = (by, is_rest, name.split_once(' ')) {
        return id.into();
    }
    match name.rsplit_once(' ') {
        _ if is_rest || name.is_empty() || name.starts_with('~') => "(rest)".into(),
        Some((_, pid)) if by == Grouping::Process && pid != "(exited)" => pid.into(),
        _ => name.into(),
    }
}

pub fn name(by: Grouping, owner: Owner, book: &Book) -> String {
    let (name, is_rest) = owner.name(by, book);
    normal(by, &name, is_rest)
}

/// Adds the rows of a live view, and the dispatches that are charged to their owners.
fn rows(sums: &mut Sums, window: &Window, book: &Book, by: Grouping) {
    for row in NamedSums::from_window(window, book, by).rows {
        let told = |ns: Option<u64>| ns.expect("the ledger tells it");
        let figures = [row.run_ns, told(row.lat_ns), told(row.throttle_ns), told(row.exited), 0];
        add(sums, &normal(by, &row.name, row.is_rest), &figures);
    }
    charge(window, book, by, &mut |owner, charge| {
        let dispatches = charge.counters.get(Counter::Dispatches).expect("the ledger tells it");
        add(sums, &name(by, owner, book), &[0, 0, 0, 0, dispatches]);
    });
}

/// Checks a single window: groups by number equal those by name.
pub fn of_window(window: &Window, book: &Book) {
    let mut sums = Sums::new();
    rows(&mut sums, window, book, Grouping::Cgroup);
    let mut by_number = Sums::new();
    for (id, used) in uses(window, book) {
        let figures = [used.run_ns, used.lat_ns, used.throttle_ns, used.exited, 0];
        add(&mut by_number, &name(Grouping::Cgroup, Owner::Group(Some(id)), book), &figures);
    }
    assert_eq!(by_number, without_dispatches(sums));
}

/// Compares every route with the true sums.
pub fn all(history: &History) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder =
        Recorder::open(&path, crate::growing::machine(), options).expect("a recorder");
    let mut book = Book::new();
    for snapshot in &history.snapshots {
        recorder.record(snapshot, &book, Clocks { wall_offset_ns: WALL, suspended_ns: 0 });
        book.advance(snapshot.clone());
    }
    prop_assert_eq!(recorder.notices(), []);
    drop(recorder);
    live(history)?;
    longer(history)?;
    metrics(history)?;
    replay(history, &path)?;
    summed(history, &path)?;
    tables(history, &path, &dir.path().join("out"))
}

fn live(history: &History) -> Result<(), TestCaseError> {
    for by in Grouping::MACHINE {
        let mut sums = Sums::new();
        history.windows(|window, book| rows(&mut sums, window, book, by));
        prop_assert_eq!(sums, history.truth(by, 0..history.truth.len()), "live, by {}", by);
    }
    Ok(())
}

/// Checks longer windows, as slower readers have them: joined, and merged from a daemon. CPU time
/// stays in its group; command and user are those of the long window's end.
fn longer(history: &History) -> Result<(), TestCaseError> {
    let (mut book, mut joined, mut merged) = (Book::new(), Joined::default(), Merged::new());
    let (mut seldom, mut reader) = (Book::new(), Vec::new());
    for (n, snapshot) in history.snapshots.iter().enumerate() {
        joined.before(snapshot, &book);
        if let Some(window) = book.advance(snapshot.clone()) {
            joined.add(window, &book);
        }
        merged.add(snapshot.clone());
        // At its beginning, in the middle and at its end, with windows of several lengths.
        if n == 0 || n + 1 == history.snapshots.len() || n % 3 == 1 {
            let taken = merged.take().expect("something came");
            reader.push(taken);
        }
    }
    let all = 0..history.truth.len();
    let of_group = || Grouping::MACHINE.into_iter().filter(|by| by.is_of_group());
    let window = joined.window().expect("windows");
    for by in of_group() {
        let mut sums = Sums::new();
        rows(&mut sums, &window, &book, by);
        prop_assert_eq!(sums, history.truth(by, all.clone()), "joined, by {}", by);
    }
    let mut sums: Vec<(Grouping, Sums)> = of_group().map(|by| (by, Sums::new())).collect();
    for taken in reader {
        let Some(window) = seldom.advance(taken) else { continue };
        sums.iter_mut().for_each(|(by, sums)| rows(sums, &window, &seldom, *by));
    }
    for (by, sums) in sums {
        prop_assert_eq!(sums, history.truth(by, all.clone()), "merged, by {}", by);
    }
    Ok(())
}

fn replay(history: &History, path: &Path) -> Result<(), TestCaseError> {
    for by in Grouping::MACHINE {
        let recording = Recording::open(path).expect("it");
        let mut windows =
            Windows::from_recording(recording, TimeRange::default()).expect("windows");
        let mut sums = Sums::new();
        while windows.advance().expect("readable") {
            let replay = windows.replay();
            rows(&mut sums, replay.window().expect("a window"), replay.book(), by);
        }
        prop_assert_eq!(sums, history.truth(by, 0..history.truth.len()), "replay, by {}", by);
    }
    Ok(())
}

/// Name of a report's row.
fn reported(by: Grouping, group: &exactop_sums::Group) -> String {
    let is_rest = group.name.starts_with('(');
    match group.process {
        Some((pid, _)) => format!("({pid})"),
        None => normal(by, &group.name, is_rest),
    }
}

/// Checks a report, and both sides of a difference.
fn summed(history: &History, path: &Path) -> Result<(), TestCaseError> {
    let read = |by, when| {
        let recording = Recording::open(path).expect("it");
        Stretch::read(recording, when, by, None).expect("readable")
    };
    let windows = history.truth.len();
    let half = windows / 2;
    let ends_ns = i128::from(WALL) + i128::from(history.snapshots[half].at_ns);
    for by in Grouping::MACHINE {
        let stretch = read(by, TimeRange::default());
        let mut sums = Sums::new();
        for row in &stretch.rows {
            let of = |counter| row.counters.get(counter).expect("known");
            let [lat, throttle, dispatches] =
                [Counter::LatNs, Counter::ThrottleNs, Counter::Dispatches].map(of);
            let figures = [row.sum.run_ns, lat, throttle, row.exits, dispatches];
            add(&mut sums, &reported(by, &row.group), &figures);
            let pieces = stretch.slots.iter().flat_map(|slot| slot.rows.values());
            let pieces: u64 = pieces.map(|sum| sum.run_ns).sum();
            let all: u64 = stretch.rows.iter().map(|row| row.sum.run_ns).sum();
            prop_assert_eq!(pieces, all, "pieces, by {}", by);
        }
        prop_assert_eq!(&sums, &history.truth(by, 0..windows), "report, by {}", by);
        let a = read(by, TimeRange { from: None, to: Some(ends_ns) });
        let b = read(by, TimeRange { from: Some(ends_ns), to: None });
        let difference = Difference::between(a, b, Per::Cpu);
        let (mut a, mut b) = (Sums::new(), Sums::new());
        for row in &difference.rows {
            let Some(group) = &row.group else { continue };
            add(&mut a, &reported(by, group), &[row.a_ns, 0, 0, 0, 0]);
            add(&mut b, &reported(by, group), &[row.b_ns, 0, 0, 0, 0]);
        }
        prop_assert_eq!(a, run(history.truth(by, 0..half)), "diff's first, by {}", by);
        prop_assert_eq!(b, run(history.truth(by, half..windows)), "diff's second, by {}", by);
    }
    Ok(())
}

/// Keeps CPU time only.
fn run(sums: Sums) -> Sums {
    only(sums, |[run, ..]| [run, 0, 0, 0, 0])
}

fn without_dispatches(sums: Sums) -> Sums {
    only(sums, |[run, lat, throttle, exited, _]| [run, lat, throttle, exited, 0])
}

fn only(sums: Sums, part: fn(Figures) -> Figures) -> Sums {
    let mut parts = Sums::new();
    sums.iter().for_each(|(name, figures)| add(&mut parts, name, &part(*figures)));
    parts
}

/// Checks exported tables, and a fleet's report of them.
fn tables(history: &History, path: &Path, out: &Path) -> Result<(), TestCaseError> {
    let into = Directory::open_or_make(out).expect("a directory");
    let recording = Recording::open(path).expect("it");
    export(recording, TimeRange::default(), &mut &into).expect("exported");
    let all = 0..history.truth.len();
    let mut groups = Sums::new();
    let mut ledger_ns = 0;
    for row in table(out, TableName::Groups) {
        let columns = ["run_ns", "lat_ns", "throttle_ns", "exited_processes"];
        let [run, lat, throttle, exited] =
            columns.map(|column| number(&row, TableName::Groups, column));
        let figures = [run, lat, throttle, exited, 0];
        let path = match cell(&row, TableName::Groups, "cgroup") {
            Field::Str(path) => path,
            _ => String::new(),
        };
        ledger_ns += figures[0];
        add(&mut groups, &normal(Grouping::Cgroup, &path, false), &figures);
    }
    let truth = |by| without_dispatches(history.truth(by, all.clone()));
    prop_assert_eq!(groups, truth(Grouping::Cgroup), "groups.parquet");
    for (which, columns) in [
        (TableName::Rows, &["run_ns"][..]),
        (TableName::Charges, &["run_ns"]),
        (TableName::Accounts, &["tasks_ns", "exited_ns"]),
    ] {
        let sum = |row| columns.iter().map(|column| number(row, which, column)).sum::<u64>();
        let sum: u64 = table(out, which).iter().map(sum).sum();
        prop_assert_eq!(sum, ledger_ns, "{}.parquet", which.name());
    }
    let books = Parquet::open(out).expect("tables");
    for by in Grouping::FLEET.into_iter().filter(|by| *by != Grouping::Host) {
        let report =
            Report::read(&books, TimeRange::default(), by, i128::MAX / 2).expect("readable");
        let mut sums = Sums::new();
        for row in report.expect("windows").rows {
            let of = |ns: u128| u64::try_from(ns).expect("small");
            let told = |ns: Option<u128>| of(ns.expect("the ledger tells it"));
            let (lat, throttle) = (told(row.lat_ns), told(row.throttle_ns));
            let figures = [of(row.run_ns), lat, throttle, told(row.exited), 0];
            add(&mut sums, &normal(by, &row.name, false), &figures);
        }
        prop_assert_eq!(sums, truth(by), "fleet, by {}", by);
    }
    Ok(())
}

fn table(out: &Path, which: TableName) -> Vec<Row> {
    let mut rows = Vec::new();
    for day in std::fs::read_dir(out).expect("days") {
        let path = day.expect("a day").path().join(format!("{}.parquet", which.name()));
        let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
        rows.extend(reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")));
    }
    rows
}

fn cell(row: &Row, which: TableName, column: &str) -> Field {
    let at = fields(which).iter().position(|field| field.name == column).expect(column);
    row.get_column_iter().nth(at).expect("a cell").1.clone()
}

fn number(row: &Row, which: TableName, column: &str) -> u64 {
    match cell(row, which, column) {
        Field::ULong(number) => number,
        other => panic!("{column}: {other:?} is no number"),
    }
}

/// Checks counters on a page. A new series starts at 0, so each window is counted twice: first to
/// create the series, then to add its figures.
fn metrics(history: &History) -> Result<(), TestCaseError> {
    let all = 0..history.truth.len();
    // By single labels, and by all of them at once.
    let ways = [
        (Grouping::Command, vec![Grouping::Command]),
        (Grouping::User, vec![Grouping::User]),
        (Grouping::Session, vec![Grouping::Session]),
        (Grouping::Unit, vec![Grouping::Unit]),
        (Grouping::Container, vec![Grouping::Namespace, Grouping::Pod, Grouping::Container]),
        (Grouping::Pod, vec![Grouping::Namespace, Grouping::Pod]),
        (Grouping::Namespace, vec![Grouping::Namespace]),
    ];
    let usual = Settings::default().by;
    let at_once = ways.iter().map(|(by, labels)| (*by, labels.clone(), usual.clone()));
    let alone = ways.iter().map(|(by, labels)| (*by, labels.clone(), labels.clone()));
    for (by, labels, set) in alone.chain(at_once.filter(|(by, ..)| usual.contains(by))) {
        let (mut sums, mut exited) = (Sums::new(), 0);
        history.windows(|window, book| {
            let (told, ended) = scraped(window, book, &labels, &set);
            told.iter().for_each(|(name, figures)| add(&mut sums, name, figures));
            exited += ended;
        });
        let truth = history.truth(by, all.clone());
        prop_assert_eq!(exited, truth.values().map(|f| f[3]).sum::<u64>(), "exits, by {:?}", set);
        let times = only(truth, |[run, lat, throttle, ..]| [run, lat, throttle, 0, 0]);
        prop_assert_eq!(sums, times, "metrics, by {} of {:?}", by, set);
    }
    Ok(())
}

/// A window's figures by some labels, and all its exits.
fn scraped(window: &Window, book: &Book, labels: &[Grouping], set: &[Grouping]) -> (Sums, u64) {
    let settings = Settings { by: set.to_vec(), groups: 1_000, ..Settings::default() };
    let mut metrics = Metrics::new(settings, Clock::new(WALL.into()));
    let before_ns = window.t0_ns.saturating_sub(window.length_ns());
    let before = Window { t0_ns: before_ns, t1_ns: window.t0_ns, ..window.clone() };
    metrics.advance(&before, book, &BookNames(book));
    metrics.look();
    metrics.advance(window, book, &BookNames(book));
    let page = String::from_utf8(metrics.render(Format::Prometheus)).expect("UTF-8");
    let (mut sums, mut exited) = (Sums::new(), 0);
    for line in page.lines().filter(|line| line.starts_with("exactop_group_")) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let (family, told) = series.split_once('{').unwrap_or((series, ""));
        let of = |label: &str| {
            let told = told.split_once(&format!("{label}=\""))?.1;
            told.split_once('"').map(|(value, _)| value)
        };
        let value: u64 = value.replace('.', "").parse().expect("a number");
        let at = match (family, of("wait")) {
            ("exactop_group_cpu_seconds_total", _) => 0,
            ("exactop_group_wait_seconds_total", Some("runqueue")) => 1,
            ("exactop_group_wait_seconds_total", Some("throttled")) => 2,
            ("exactop_group_exited_processes_total", _) => 3,
            _ => continue,
        };
        if at == 3 {
            exited += value;
            continue;
        }
        let first = labels.first().and_then(|by| of(by.name()));
        if first == Some("~other") {
            // From the first time, before the series existed.
            continue;
        }
        let told: Vec<&str> = labels.iter().filter_map(|by| of(by.name())).collect();
        let has_last = labels.last().is_some_and(|by| of(by.name()).is_some());
        let name = match told.first() {
            Some(name) if has_last && !name.starts_with('~') => {
                normal(labels[labels.len() - 1], &told.join("/"), false)
            }
            _ => "(rest)".into(),
        };
        let mut figures = Figures::default();
        figures[at] = value;
        add(&mut sums, &name, &figures);
    }
    // The page has both counts, including `~other`.
    assert_eq!(exited % 2, 0);
    (sums, exited / 2)
}
