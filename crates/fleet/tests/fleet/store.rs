//! The balance of tables in ClickHouse's own engine (chdb, a Python module; `make test-fleet`
//! installs it).

use exactop_export::clickhouse::{Address, Client, Patience};
use exactop_fleet::check::{check, Balance, Tolerance};
use exactop_fleet::compare::{Difference, Measure, Per, Side, Verdict};
use exactop_fleet::report::{page, Report};
use exactop_fleet::{FleetError, Grouping, Parquet, Store};
use exactop_recording::TimeRange;
use exactop_sums::Least;
use exactop_testkit::{wait, Chdb};
use std::path::Path;
use std::sync::OnceLock;

const SECOND: u64 = 1_000_000_000;

/// Namespace, pod, container, unit and command; CPU seconds; and two waits and exits.
type Named = (&'static str, u64, [&'static str; 2]);
const PLAIN: [Named; 2] = [
    ("'', '', '', 'x.service', 'a'", 2, ["1, 2", "1"]),
    ("'', '', '', 'x.service', '~other'", 4, ["1, 2", "1"]),
];

/// The engine behind a local port.
struct Engine(Chdb);

impl Engine {
    fn start() -> Option<Engine> {
        Chdb::start().map(Engine)
    }

    fn client(&self) -> Client {
        let address = Address::read(&self.0.url).expect("an address");
        Client::new(address, "exactop", None, None, Patience::default()).expect("a client")
    }

    /// Inserts windows of 10 s on two CPUs, with 6 s used in each.
    fn insert(&self, host: &str, windows: impl Iterator<Item = u64>) {
        self.insert_of(host, windows, &PLAIN);
    }

    fn insert_of(&self, host: &str, windows: impl Iterator<Item = u64>, groups: &[Named]) {
        let (mut accounts, mut charges) = (Vec::new(), Vec::new());
        let sees_exits = groups.iter().all(|(_, _, [_, exits])| *exits != "NULL");
        let used = if sees_exits { "5000000000, 1000000000" } else { "6000000000, NULL" };
        for n in windows {
            let (t1, end) = (n * 10 * SECOND, begin_ns() + n * 10 * SECOND);
            let whose = format!("fromUnixTimestamp64Nano(toInt64({end}), 'UTC'), {t1}, 10000000000, '{host}', 'boot'");
            accounts.push(format!(
                "({whose}, 2, 20000000000, {used}, 0, NULL, 1, 13999999999, 0, 0, true, 'ledger', 0, 0)"
            ));
            for (names, seconds, [waits, exits]) in groups {
                charges.push(format!(
                    "({whose}, {names}, {seconds}000000000, {waits}, 3, NULL, {exits})"
                ));
            }
        }
        let columns = "window_end, t1_ns, length_ns, host, boot_id";
        let own = "cpus, capacity_ns, tasks_ns, exited_ns, unnamed_ns, irq_ns, steal_ns, idle_ns, offline_ns, \
                   residual_ns, exact, source, missed_switches, inexact_events";
        let of = "namespace, pod, container, unit, command, run_ns, lat_ns, throttle_ns, lock_ns, block_ns, \
                  exited_processes";
        for (table, own, rows) in [("accounts", own, accounts), ("charges", of, charges)] {
            if rows.is_empty() {
                continue;
            }
            let sql = format!("INSERT INTO {table} ({columns}, {own}) VALUES {}", rows.join(", "));
            self.client().select(&sql, &[]).expect("taken");
        }
    }

    /// Copies its rows into files; duplicates go to further files.
    fn copy(&self, into: &Path) {
        for table in ["accounts", "charges"] {
            let columns = if table == "accounts" { "* EXCEPT (received)" } else { "*" };
            for (file, sql) in [
                ("", format!("SELECT DISTINCT {columns} FROM {table}")),
                (
                    "-again",
                    format!("SELECT {columns} FROM {table} GROUP BY ALL HAVING count() > 1"),
                ),
            ] {
                let path = into.join(format!("{table}{file}.parquet"));
                let form = "SETTINGS output_format_parquet_compression_method = 'zstd'";
                let sql = format!(
                    "INSERT INTO FUNCTION file('{}', 'Parquet') {sql} {form}",
                    path.display()
                );
                self.client().select(&sql, &[]).expect("written");
            }
        }
    }

    fn balance(&self, when: TimeRange) -> Result<Balance, FleetError> {
        let now_ns = i128::from(begin_ns() + 3600 * SECOND);
        in_another_second();
        check(&Store::open(self.client())?, when, &Tolerance::default(), now_ns)
    }
}

/// Waits for another second: the engine takes rows of the current second for new.
fn in_another_second() {
    let second = || std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let begun = second();
    // Not the next second: the two clocks may differ by less than a tick of the kernel.
    wait::until("the second after the next one", || second() > begun + 1);
}

/// Some hours ago, on a whole hour: the store keeps no old windows.
fn begin_ns() -> u64 {
    // Computed once: an hour may begin while the test runs.
    static BEGUN: OnceLock<u64> = OnceLock::new();
    *BEGUN.get_or_init(|| {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        (now / 3600 - 3) * 3600 * SECOND
    })
}

#[test]
fn engine_gives_the_balance_of_every_window() {
    let Some(engine) = Engine::start() else { return };
    let hostile = "th\\\\r\\'e\\te";
    let hosts = ["one", hostile, "two"];
    hosts.iter().for_each(|host| engine.insert(host, 1..=100));
    let balance = engine.balance(TimeRange::default()).expect("answers");
    let unwell: Vec<_> = balance.hosts.iter().filter(|host| !host.is_well()).collect();
    assert!(balance.holds(), "{unwell:?}");
    assert_eq!((balance.windows(), balance.hosts.len()), (300, 3));
    assert_eq!(balance.sums.cpus_x_time_ns, u128::from(300 * 20 * SECOND));
    assert_eq!(balance.sums.charged_ns, balance.sums.named_ns());
    assert!(balance.hosts.iter().any(|host| host.name == "th\\r'e\te"), "{balance:?}");
    // A range: after the 10th, up to the 30th.
    let at = |n: u64| Some(i128::from(begin_ns() + n * 10 * SECOND));
    let part = engine.balance(TimeRange { from: at(10), to: at(30) }).expect("answers");
    assert!(part.holds() && part.windows() == 60, "{part:?}");
    // After the 100th there are no windows, and each host's last window before is known.
    engine.insert("three", 101..=110);
    let later = engine.balance(TimeRange { from: at(100), to: at(110) }).expect("answers");
    let last = i64::try_from(begin_ns() + 1000 * SECOND).expect("an instant");
    let absent = later.hosts.iter().filter(|host| host.absent_ns == Some(last));
    assert_eq!((absent.count(), later.present_hosts().count(), later.windows()), (3, 1, 10));
    let after = engine.balance(TimeRange { from: at(105), to: at(110) }).expect("answers");
    let three = after.hosts.iter().find(|host| host.name == "three").expect("it is there");
    assert!(three.is_well() && three.windows == 5, "{three:?}");
    // Some windows twice, some never.
    engine.insert("two", (91..=95).chain(111..=120));
    let balance = engine.balance(TimeRange::default()).expect("answers");
    let two = balance.hosts.iter().find(|host| host.name == "two").expect("it is there");
    assert_eq!((two.windows, two.doubled, two.gaps.count), (110, 5, 1));
    assert_eq!((two.gaps.length_ns, two.uneven), (u128::from(100 * SECOND), 0));
    // Charges without accounts.
    engine.client().select("ALTER TABLE accounts DELETE WHERE t1_ns = 500000000000 AND host = 'one' SETTINGS mutations_sync = 1", &[]).expect("done");
    let balance = engine.balance(TimeRange::default()).expect("answers");
    let one = balance.hosts.iter().find(|host| host.name == "one").expect("it is there");
    assert_eq!((one.stray, one.gaps.count), (1, 1));
}

/// Rows of an answer equal those of files: by name, to the nanosecond, without new windows.
#[test]
fn engine_gives_the_use_by_group() {
    let Some(engine) = Engine::start() else { return };
    let hosts: Vec<String> = (0..10).map(|n| format!("h{n}")).collect();
    hosts.iter().for_each(|host| engine.insert(host, 1..=20));
    in_another_second();
    let store = Store::open(engine.client()).expect("it answers");
    // These came after the first query: they do not count yet.
    engine.insert("h0", 21..=22);
    let at = |n: u64| Some(i128::from(begin_ns() + n * 10 * SECOND));
    let side = |from, to, by| {
        let when = TimeRange { from: at(from), to: at(to) };
        Side::read(&store, when, by, i128::MAX / 2).expect("answers").expect("windows")
    };
    for (by, names) in [
        (Grouping::Command, &["a", "~other"][..]),
        (Grouping::Unit, &["x.service"]),
        (Grouping::Pod, &[""]),
    ] {
        let (a, b) = (side(0, 10, by), side(10, 30, by));
        assert_eq!((a.hosts.len(), a.sums.windows, b.sums.windows), (10, 100, 100));
        let mut told: Vec<&str> = a.rows.iter().map(|row| &*row.name).collect();
        told.sort_unstable();
        assert_eq!(told, names);
        assert_eq!(a.sums.charged_ns, u128::from(100 * 6 * SECOND));
        let measure = Measure { per: Per::Cpu, least: Least::USUAL, changed: None };
        let difference = Difference::between(a, b, measure);
        assert_eq!(difference.verdict(), Verdict::NothingBeyondNoise);
        assert!(difference.rows.iter().all(|row| row.delta_ns == 0), "{:?}", difference.rows);
    }
}

/// Unusual names, one that only some hosts have, pods with and without a name, and missing waits.
const MIXED: [Named; 6] = [
    ("'shop', 'cart-1', 'app', 'k.slice', 'java'", 1, ["5, NULL", "NULL"]),
    ("'shop', 'cart-1', '', 'k.slice', 'pause'", 1, ["5, 7", "1"]),
    ("'', '', 'th\\\\r\\'e\\te', 'k.slice', 'th\\\\r\\'e\\te'", 1, ["4, 3", "1"]),
    ("'', '', '', '<b>.service', '<b>\\x1b[2J'", 1, ["4, 3", "1"]),
    ("'', '', '', '', '\\\\~'", 1, ["NULL, 0", "1"]),
    ("'~other', '~other', '~other', '~other', '~other'", 1, ["3, 2", "1"]),
];

/// A store and files with the same rows have the same report, also with duplicates.
#[test]
fn engine_gives_the_same_report_as_files() {
    let Some(engine) = Engine::start() else { return };
    let hostile = "<b>\\x1b\\\\r\\'e\\te";
    // On both sides of a whole hour.
    engine.insert_of("one", 340..=380, &MIXED);
    engine.insert_of(hostile, 350..=370, &MIXED);
    engine.insert("two", 340..=400);
    let at = |n: u64| Some(i128::from(begin_ns() + n * 10 * SECOND));
    let now_ns = i128::from(begin_ns() + 4200 * SECOND);
    let read = |books: &dyn exactop_fleet::report::Figures, when, by| {
        Report::read(books, when, by, now_ns).expect("answers").expect("windows")
    };
    let times = [TimeRange::default(), TimeRange { from: at(355), to: at(390) }];
    let bys = Grouping::FLEET;
    let mut plain = None;
    for twice in [false, true] {
        if twice {
            engine.insert_of("one", 360..=365, &MIXED);
            engine.insert_of(hostile, 353..=356, &MIXED);
        }
        in_another_second();
        let dir = tempfile::tempdir().expect("a directory");
        engine.copy(dir.path());
        let (files, store) = (
            Parquet::open(dir.path()).expect("tables"),
            Store::open(engine.client()).expect("it answers"),
        );
        // New: does not count yet.
        engine.insert("three", 401..=402 + u64::from(twice));
        for (when, by) in times.iter().flat_map(|when| bys.map(|by| (*when, by))) {
            let (told, expected) = (read(&store, when, by), read(&files, when, by));
            assert!(told == expected, "{by:?}: {:?}, {:?}", told.rows, expected.rows);
            assert_eq!(told.sums.charged_ns, told.sums.named_ns());
            assert_eq!(told.balance.holds(), !twice);
        }
        let told = read(&store, TimeRange::default(), Grouping::Container);
        let unknown: Vec<_> = told.rows.iter().filter(|row| row.exited.is_none()).collect();
        assert!(
            matches!(&unknown[..], [row] if row.name == "shop/cart-1/app" && row.throttle_ns.is_none()),
            "{:?}",
            told.rows
        );
        let text = page(&told, 20, true, &|ns| ns.to_string()).expect("pictures");
        assert!(!text.html().contains("<b>") && !text.text().contains('\x1b'));
        let told = (told.sums, told.rows, told.pieces);
        assert_eq!(*plain.get_or_insert(told.clone()), told);
        engine
            .client()
            .select(
                "ALTER TABLE accounts DELETE WHERE host = 'three' SETTINGS mutations_sync = 1",
                &[],
            )
            .expect("done");
        engine
            .client()
            .select(
                "ALTER TABLE charges DELETE WHERE host = 'three' SETTINGS mutations_sync = 1",
                &[],
            )
            .expect("done");
    }
    // Charges without accounts are a finding, and in no row; nothing else is there later.
    let none_else = TimeRange { from: at(385), to: None };
    engine
        .client()
        .select("ALTER TABLE accounts DELETE WHERE host = 'two' SETTINGS mutations_sync = 1", &[])
        .expect("done");
    let store = Store::open(engine.client()).expect("it answers");
    let told = read(&store, TimeRange::default(), Grouping::Host);
    assert_eq!((told.rows.len(), told.sums.charged_ns), (2, told.sums.named_ns()));
    assert!(told.balance.hosts.iter().any(|host| host.name == "two" && host.stray == 61));
    engine.insert_of("idle", 410..=411, &[]);
    in_another_second();
    let told = read(&Store::open(engine.client()).expect("it answers"), none_else, Grouping::Host);
    assert_eq!((told.rows.len(), told.sums.windows), (0, 2), "{:?}", told.rows);
}

#[test]
fn engine_without_the_tables_is_an_error() {
    let Some(engine) = Engine::start() else { return };
    engine.client().select("DROP TABLE charges_to_1m", &[]).expect("done");
    engine.client().select("DROP TABLE accounts", &[]).expect("done");
    // The test's server has one status for all errors, so no patience is needed.
    let address = Address::read(&engine.0.url).expect("an address");
    let patience = Patience { all: std::time::Duration::from_millis(1), ..Patience::default() };
    let client = Client::new(address, "exactop", None, None, patience).expect("a client");
    let store = Store::open(client).expect("it answers");
    let done = check(&store, TimeRange::default(), &Tolerance::default(), 0);
    assert!(matches!(done, Err(FleetError::Store(_))), "{done:?}");
}
