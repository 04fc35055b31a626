//! The blame book in Parquet is the recorded one.

use crate::sums::duckdb;
use exactop_export::{export, fields, TableName};
use exactop_files::Directory;
use exactop_model::blame::sizes::WaitKind;
use exactop_model::blame::Blame;
use exactop_recording::{Recording, TimeRange, Windows};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Some of its windows have a book, with histograms.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../recording/tests/recordings/form-1-histograms-ledger.rec"
);

/// The books of all windows, added up.
fn truth() -> (Blame, usize) {
    let recording = Recording::open(RECORDED.as_ref()).expect("a recording");
    let mut windows = Windows::from_recording(recording, TimeRange::default()).expect("windows");
    let (mut all, mut rows) = (Blame::default(), 0);
    while windows.advance().expect("a window") {
        let window = windows.replay().window().expect("a window");
        if let Some(blame) = &window.blame {
            all.add(blame);
            rows += blame.pairs.len();
        }
    }
    (all, rows)
}

/// The rows of a table, by column.
fn rows(out: &Path, which: TableName) -> Vec<BTreeMap<String, Field>> {
    let mut rows = Vec::new();
    for day in std::fs::read_dir(out).expect("days").flatten() {
        let file = File::open(day.path().join(format!("{}.parquet", which.name())));
        let reader = SerializedFileReader::new(file.expect("it")).expect("Parquet");
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            let cells = row.get_column_iter();
            rows.push(cells.map(|(name, field)| (name.clone(), field.clone())).collect());
        }
    }
    rows
}

fn number(field: &Field) -> i64 {
    match field {
        Field::ULong(n) => *n as i64,
        Field::Long(n) => *n,
        other => panic!("{other:?} is no number"),
    }
}

/// The exported recording.
fn exported() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let into = Directory::open_or_make(&out).expect("a directory");
    let recording = Recording::open(RECORDED.as_ref()).expect("a recording");
    export(recording, TimeRange::default(), &mut &into).expect("exported");
    (dir, out)
}

/// A script that prints DuckDB's histograms: user, kind, counts and times of each bucket.
const ASK: &str = r#"
import duckdb, sys
rows = f"from read_parquet('{sys.argv[1]}/*/histograms.parquet', hive_partitioning = true)"
buckets = f"select comm, began, unnest(counts) as count, unnest(ns) as ns, generate_subscripts(counts, 1) as bucket {rows}"
for row in duckdb.sql(f"select coalesce(comm, '-'), began, bucket - 1, sum(count)::bigint, sum(ns)::bigint from ({buckets}) group by all having sum(ns) > 0 order by all").fetchall():
    print(*row)
print(duckdb.sql(f"select min(len(counts)), max(len(ns)), max(max_ns) {rows}").fetchall()[0])
"#;

#[test]
fn duckdb_reads_the_recorded_histograms() {
    let (_dir, out) = exported();
    let Some(told) = duckdb(ASK, &out) else { return };
    let (truth, _) = truth();
    let mut sums: BTreeMap<(String, &str, usize), [u64; 2]> = BTreeMap::new();
    let mut longest = None;
    for (party, sizes) in &truth.sizes {
        let comm = party.map_or("-".to_string(), |party| party.comm.to_string());
        for kind in WaitKind::ALL {
            longest = longest.max(sizes.histogram(kind).max_ns());
            for (bucket, sized) in sizes.histogram(kind).buckets().iter().enumerate() {
                let [count, ns] = sums.entry((comm.clone(), kind.name(), bucket)).or_default();
                (*count, *ns) = (*count + sized.count, *ns + sized.ns);
            }
        }
    }
    let mut expected = String::new();
    for ((comm, began, bucket), [count, ns]) in sums.iter().filter(|(_, [_, ns])| *ns > 0) {
        expected += &format!("{comm} {began} {bucket} {count} {ns}\n");
    }
    assert!(expected.lines().count() > 4, "{expected}");
    expected += &format!("(26, 26, {})\n", longest.expect("a wait"));
    assert_eq!(told, expected);
}

#[test]
fn the_blame_book_is_the_recorded_one() {
    let (_dir, out) = exported();
    let (truth, pairs_of_windows) = truth();
    let sum = |rows: &[BTreeMap<String, Field>], column: &str| -> i64 {
        rows.iter().map(|row| number(&row[column])).sum()
    };
    let waits = rows(&out, TableName::Waits);
    let of = |figure: fn(&exactop_model::blame::Waits) -> i64| -> i64 {
        truth.waits.values().map(figure).sum()
    };
    assert!(!waits.is_empty());
    assert_eq!(sum(&waits, "lat_ns"), of(|waits| waits.lat_ns));
    assert_eq!(sum(&waits, "dispatches"), of(|waits| waits.dispatches));
    assert_eq!(sum(&waits, "in_flight_delta_ns"), of(|waits| waits.in_flight_delta_ns));
    let pairs = rows(&out, TableName::Pairs);
    assert_eq!(pairs.len(), pairs_of_windows);
    for row in &pairs {
        let (is_task, culprit) = (row["kind"] == Field::Str("task".into()), &row["culprit_comm"]);
        assert_eq!(is_task, *culprit != Field::Null, "{row:?}");
    }
    // By victim and culprit.
    let name = |field: &Field| match field {
        Field::Str(name) => name.clone(),
        _ => String::new(),
    };
    let mut told: BTreeMap<[String; 3], [i64; 2]> = BTreeMap::new();
    for row in &pairs {
        let key = ["comm", "kind", "culprit_comm"].map(|column| name(&row[column]));
        let [ns, times] = told.entry(key).or_default();
        *ns += number(&row["ns"]);
        *times += number(&row["times"]);
    }
    let mut booked: BTreeMap<[String; 3], [i64; 2]> = BTreeMap::new();
    for ((victim, culprit), sums) in &truth.pairs {
        let victim = victim.map_or(String::new(), |party| party.comm.to_string());
        let [kind, culprit] = match culprit {
            exactop_model::blame::Culprit::Task(party) => ["task".into(), party.comm.to_string()],
            other => [other.kind().name().into(), String::new()],
        };
        let [ns, times] = booked.entry([victim, kind, culprit]).or_default();
        *ns += sums.ns as i64;
        *times += sums.times as i64;
    }
    assert_eq!(told, booked);
    assert!(fields(TableName::Pairs).iter().any(|field| field.name == "culprit_kthread"));
    // By name, with one row for the rest of each kind.
    let named = rows(&out, TableName::Blame);
    for figure in ["ns", "times"] {
        assert_eq!(sum(&named, figure), sum(&pairs, figure));
        for kind in ["interrupts", "steal", "idle", "throttled", "brief", "older", "other"] {
            let of_kind = |rows: &[BTreeMap<String, Field>]| -> i64 {
                let rows = rows.iter().filter(|row| row["kind"] == Field::Str(kind.into()));
                rows.map(|row| number(&row[figure])).sum()
            };
            assert_eq!(of_kind(&named), of_kind(&pairs), "{kind}");
        }
    }
    for row in &named {
        let group = ["namespace", "pod", "container", "unit", "command"];
        let culprit = group.map(|part| name(&row[&format!("culprit_{part}")]));
        let is_own = group.map(|part| name(&row[part])) == culprit;
        let kind = name(&row["kind"]);
        assert_eq!(["own", "group", "kernel"].contains(&&*kind), culprit != [""; 5], "{row:?}");
        assert!(!is_own || kind == "own" || culprit[4] == "~other", "{row:?}");
    }
}
