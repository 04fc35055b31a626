//! The shipped queries, on ClickHouse's engine and on DuckDB with the same data: equal rows, with
//! the expected content.

use crate::engine::Store;
use crate::made::{client, now_ns, record, wall_offset_ns, Host, BLAMED_NS, HASTY, ROLLOUT_NS};
use exactop_export::clickhouse::{insert, Sending, SentCounts};
use exactop_export::{export, GROUPS};
use exactop_files::Directory;
use exactop_model::SourceKind;
use exactop_recording::{Recording, TimeRange};
use exactop_testkit::{T0, WINDOW};
use std::path::{Path, PathBuf};
use std::process::Command;

const FLEET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fleet");
const ASK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clickhouse/ask.py");

/// Rows of cells; `None` is null.
type Rows = Vec<Vec<Option<String>>>;

/// A fleet in both forms.
struct Fleet {
    store: Store,
    _dir: tempfile::TempDir,
    parquet: PathBuf,
}

impl Fleet {
    /// `None` if there is no engine and the test is not required.
    fn start() -> Option<Fleet> {
        let store = Store::start()?;
        let dir = tempfile::tempdir().expect("a directory");
        let parquet = dir.path().join("books");
        let into = Directory::open_or_make(&parquet).expect("a directory");
        let client = client(store.url(), None, None, HASTY);
        let names: Vec<String> =
            (0..12).map(|n| format!("{}-{n}", if n < 6 { "new" } else { "old" })).collect();
        let ledger = SourceKind::Ledger;
        let hosts = names.iter().zip(0..).map(|(name, n)| Host {
            name,
            source: ledger,
            from: n % 5,
            grows: if n < 6 { 40 + n } else { 0 },
        });
        let poor = Host { name: "poor", source: SourceKind::Procfs, from: 0, grows: 0 };
        for host in hosts.chain([poor]) {
            let path = dir.path().join("recordings").join(host.name);
            std::fs::create_dir_all(&path).expect("a directory");
            record(&path, &host);
            let recording = || Recording::open(&path).expect("a recording");
            let sending = Sending { client: &client, groups: GROUPS, now_ns: now_ns() };
            insert(recording(), TimeRange::default(), &sending, &mut SentCounts::default())
                .expect("taken");
            let into = into.within(host.name).expect("a directory");
            export(recording(), TimeRange::default(), &mut &into).expect("exported");
        }
        store.post("/?database=exactop", "INSERT INTO teams VALUES ('shop', 'sellers')");
        Some(Fleet { store, _dir: dir, parquet })
    }

    /// Rows of a query, which are the same in both.
    fn ask(&self, name: &str, own: &[(&str, &str)]) -> Rows {
        let begun = wall_offset_ns() as u64;
        let hour = |hours: u64| instant((begun / HOUR + hours) * HOUR);
        let (since, until) = (hour(0), hour(2));
        let at = instant(begun + ROLLOUT_NS);
        let given = [("since", &*since), ("until", &until), ("rolled_out", &at), ("most", "3")];
        let given: Vec<_> = given.into_iter().chain(own.iter().copied()).collect();
        let path = |engine: &str| Path::new(FLEET).join(engine).join(format!("{name}.sql"));
        let sql = std::fs::read_to_string(path("queries")).expect("a question");
        let parameters: String = given
            .iter()
            .filter(|(name, _)| sql.contains(&format!("{{{name}:")))
            .map(|(name, value)| {
                format!("&param_{name}={}", value.replace(' ', "%20").replace('^', "%5E"))
            })
            .collect();
        let told = self.store.post(&format!("/?database=exactop{parameters}"), &sql);
        // ClickHouse writes a backslash as two.
        let first = rows(&told, |cell| cell.replace("\\\\", "\\"));
        let python = std::env::var("EXACTOP_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.arg(ASK).arg(format!("{FLEET}/duckdb/tables.sql")).arg(path("duckdb"));
        command.arg(format!("books={}", self.parquet.display()));
        command.args(given.iter().map(|(name, value)| format!("{name}={value}")));
        let told = command.output().expect("python");
        assert!(told.status.success(), "{name}: {}", String::from_utf8_lossy(&told.stderr));
        let second = rows(&String::from_utf8(told.stdout).expect("UTF-8"), str::to_string);
        let lines = |rows: &Rows| rows.iter().map(|row| format!("{row:?}\n")).collect::<String>();
        assert!(!first.is_empty(), "{name}: nothing");
        assert!(same(&first, &second), "{name}\n{}\n{}", lines(&first), lines(&second));
        first
    }
}

const HOUR: u64 = 3_600_000_000_000;

fn instant(ns: u64) -> String {
    let told = jiff::Timestamp::from_nanosecond(ns.into()).expect("an instant");
    told.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Cells of tab-separated text; `plain` undoes what an engine escapes.
fn rows(text: &str, plain: impl Fn(&str) -> String) -> Rows {
    let cell = |cell: &str| (cell != "\\N").then(|| plain(cell));
    text.lines().map(|line| line.split('\t').map(cell).collect()).collect()
}

/// Whole numbers and words must be equal; other numbers as far as doubles are.
fn same(a: &Rows, b: &Rows) -> bool {
    let near = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3),
        _ => false,
    };
    let whole = |cell: &str| cell.parse::<i128>().is_ok();
    let cell = |(a, b): (&Option<String>, &Option<String>)| match (a, b) {
        (Some(a), Some(b)) => a == b || (!(whole(a) && whole(b)) && near(a, b)),
        (a, b) => a == b,
    };
    let row = |(a, b): (&Vec<_>, &Vec<_>)| a.len() == b.len() && a.iter().zip(b).all(cell);
    a.len() == b.len() && a.iter().zip(b).all(row)
}

fn number(cell: &Option<String>) -> i128 {
    cell.as_ref().expect("known").parse().expect("a number")
}

fn word(cell: &Option<String>) -> &str {
    cell.as_deref().expect("known")
}

/// Sum of a column, without nulls.
fn sum(rows: &Rows, column: usize) -> i128 {
    rows.iter().filter(|row| row[column].is_some()).map(|row| number(&row[column])).sum()
}

/// All queries except the rollout's.
#[test]
fn engine_and_duckdb_give_equal_answers_that_sum_up() {
    let Some(fleet) = Fleet::start() else { return };
    let balance = fleet.ask("balance", &[]);
    let [hosts, windows, total, accounts, used, charged] =
        [0, 1, 2, 3, 4, 5].map(|n| number(&balance[0][n]));
    assert_eq!((hosts, windows), (13, 13 * 20));
    assert_eq!((accounts, charged), (total, used));
    assert_eq!(total, 13 * 20 * 2 * i128::from(WINDOW), "CPUs x time");
    let books = fleet.ask("host_books", &[("host", "new-3")]);
    assert_eq!(sum(&books, 1), total / 13);
    let books = fleet.ask("host_books", &[("host", "poor")]);
    let unknown = books.iter().filter(|row| row[1].is_none()).map(|row| word(&row[0]));
    assert_eq!(unknown.collect::<Vec<_>>(), ["exited", "irq"]);
    for sums in ["accounts_1m", "accounts_1h", "charges_1m", "charges_1h"] {
        let sql = format!(
            "SELECT countIf(exited_windows = windows), countIf(exited_windows != 0) FROM {sums} \
             WHERE host {{}} 'poor'"
        );
        let ask = |is: &str| fleet.store.post("/?database=exactop", &sql.replace("{}", is));
        assert!(ask("=").starts_with("0\t0\n"), "{sums}: {}", ask("="));
        let all = ask("!=");
        let (all, some) = all.trim().split_once('\t').expect("two numbers");
        assert!(all == some && all != "0", "{sums}: {all}, {some}");
    }
    let top = fleet.ask("top_groups", &[]);
    assert_eq!((top.len(), sum(&top, 5), word(&top[3][3])), (4, used, "(all others)"));
    let top = fleet.ask("top_over_time", &[]);
    assert_eq!(sum(&top, 5), used);
    let waiting = fleet.ask("waiting_by_namespace", &[]);
    assert_eq!((sum(&waiting, 2), word(&waiting[0][0])), (used, "shop"));
    assert!(number(&waiting[0][3]) > 0 && number(&waiting[0][4]) > 0 && sum(&waiting, 5) > 0);
    let cost = fleet.ask("cost", &[]);
    assert_eq!(sum(&cost, 3), total, "every CPU-hour has a team or is unused");
    assert!(cost.iter().any(|row| word(&row[0]) == "sellers"));
    let noisy = fleet.ask("noisy_neighbours", &[]);
    assert_eq!(sum(&noisy, 6), 12 * 20 * i128::from(BLAMED_NS), "all waits of the twelve");
    // The loop keeps the database off the CPU, and the database keeps the loop off.
    let pairs = [("sh", "postgres", 9), ("postgres", "sh", 4), ("kernel", "postgres", 1)];
    let tenth = i128::from(WINDOW / 1000);
    for (row, (culprit, victim, tenths)) in noisy.iter().zip(pairs) {
        let of = [(4, culprit), (10, victim)];
        assert!(of.iter().all(|&(n, name)| word(&row[n]) == name || name == "kernel"), "{row:?}");
        assert_eq!((number(&row[5]), number(&row[6])), (12, 12 * 20 * tenths * tenth), "{row:?}");
        assert_eq!(row[6], row[11], "it has one victim: {row:?}");
    }
    assert_eq!(word(&noisy[2][1]), "kernel");
    assert_eq!((noisy.len(), word(&noisy[3][1])), (4, "(all others)"));
    let doubtful = fleet.ask("doubtful_hosts", &[("silent_s", "1000000")]);
    assert_eq!(doubtful.iter().map(|row| word(&row[0])).collect::<Vec<_>>(), ["poor"]);
    let silent = fleet.ask("doubtful_hosts", &[("silent_s", "1")]);
    assert_eq!(silent.len(), 13);
    let herd =
        fleet.ask("herd", &[("least_queued", "0.01"), ("least_locked", "0.01"), ("times", "0.1")]);
    assert!(herd.iter().all(|row| word(&row[1]) == "shop.service"));
}

#[test]
fn engine_and_duckdb_find_the_cost_of_a_rollout_only_after_it() {
    let Some(fleet) = Fleet::start() else { return };
    let found = fleet.ask("rollout", &[("changed", "^new-")]);
    assert_eq!((word(&found[0][0]), word(&found[0][3])), ("shop", "postgres"));
    assert_eq!((number(&found[0][4]), number(&found[0][5]), word(&found[0][10])), (6, 7, "grew"));
    let [more, from, to] = [6, 8, 9].map(|n| word(&found[0][n]).parse::<f64>().expect("CPUs"));
    // 40 to 45 tenths of a per cent of a CPU.
    assert!(
        from < 0.0425 && 0.0425 < to && from > 0.0 && (more - 0.0425).abs() < 0.005,
        "{found:#?}"
    );
    let certain =
        |rows: &Rows| rows.iter().filter(|row| word(&row[10]) != "nothing certain").count();
    assert_eq!(certain(&found), 1, "{found:#?}");
    // The same hosts before the rollout.
    let begun = wall_offset_ns() as u64;
    let [at, until] = [6, 13].map(|n| instant(begun + T0 + n * WINDOW));
    let nothing =
        fleet.ask("rollout", &[("changed", "^new-"), ("rolled_out", &at), ("until", &until)]);
    assert_eq!(certain(&nothing), 0, "{nothing:#?}");
}
