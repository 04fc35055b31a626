//! Batches that are duplicated, reordered, or lost and sent again, one in a hundred of each. The
//! balance reports every affected window; after all is sent again, the totals are those recorded.

use crate::made::{client, now_ns, recorded, send, Truth, HASTY, WINDOWS};
use crate::stand_in::{Mood, StandIn};
use exactop_export::clickhouse::SentCounts;
use exactop_fleet::check::{check, Balance, Host, Tolerance};
use exactop_fleet::{Account, Books, Parquet};
use exactop_recording::TimeRange;
use std::fs;
use std::path::{Path, PathBuf};

const HOSTS: u64 = 80;

fn balance(store: &Path) -> Balance {
    let books = Parquet::open(store).expect("tables");
    check(&books, TimeRange::default(), &Tolerance::default(), i128::MAX / 2).expect("readable")
}

/// Checks that the totals, with each window once, are true.
fn is_all(balance: &Balance, truth: Truth) {
    assert_eq!(balance.windows(), truth.windows);
    assert_eq!(balance.sums.cpus_x_time_ns, truth.capacity);
    assert!(balance.hosts.iter().all(|host| host.gaps.count + host.stray + host.uneven == 0));
}

/// Directories of a table's batches, in the order of arrival.
fn batches(store: &Path, table: &str) -> Vec<PathBuf> {
    let below =
        |path: &Path| fs::read_dir(path).expect("a directory").flatten().map(|entry| entry.path());
    let all = below(store).flat_map(|host| below(&host).collect::<Vec<_>>());
    let mut of: Vec<_> =
        all.filter(|path| path.join(format!("{table}.parquet")).exists()).collect();
    of.sort_by_key(|path| path.file_name().map(|name| name.to_os_string()));
    of
}

/// Windows of a batch, and their capacity.
fn windows_of(batch: &Path) -> (u64, u128) {
    let (mut windows, mut capacity) = (0, 0);
    let books = Parquet::open(batch).expect("a table");
    let add = &mut |row: Account| {
        windows += 1;
        capacity += u128::from(row.capacity_ns);
    };
    books.accounts(TimeRange::default(), add).expect("readable");
    (windows, capacity)
}

fn too_much(balance: &Balance) -> u128 {
    balance.hosts.iter().map(|host| host.doubled_ns).sum()
}

/// Damage done to a store.
#[derive(Debug, Default)]
struct Spoiled {
    /// Duplicate windows and their capacity.
    doubled: u64,
    doubled_ns: u128,
    /// Directories of the duplicates.
    again: Vec<PathBuf>,
    /// Windows without accounts.
    lost: u64,
}

/// Duplicates one batch of accounts in a hundred and deletes another.
fn spoil(store: &Path) -> Spoiled {
    let mut spoiled = Spoiled::default();
    for pair in batches(store, "accounts").chunks(100).filter(|batches| batches.len() > 1) {
        let (windows, capacity) = windows_of(&pair[0]);
        spoiled.doubled += windows;
        spoiled.doubled_ns += capacity;
        let again = pair[0].with_extension("again");
        fs::create_dir(&again).expect("a directory");
        fs::copy(pair[0].join("accounts.parquet"), again.join("accounts.parquet")).expect("a copy");
        spoiled.again.push(again);
        spoiled.lost += windows_of(&pair[1]).0;
        fs::remove_dir_all(&pair[1]).expect("it was there");
    }
    spoiled
}

#[test]
fn totals_are_right_after_one_error_in_a_hundred_batches() {
    let dir = tempfile::tempdir().expect("a directory");
    let kept = dir.path().join("store");
    let store = StandIn::start(&kept, Mood::OneInAHundred);
    let client = client(&store.url, None, None, HASTY);
    // Two batches of two tables for each host.
    let mut paths = Vec::new();
    let truth = (0..HOSTS).fold(Truth::default(), |truth, n| {
        paths.push(dir.path().join(format!("r{n}")));
        truth.and(recorded(&paths[n as usize], &format!("host-{n:03}"), 240))
    });
    for path in &paths {
        let (done, sent) = send(path, &client, now_ns());
        done.expect("taken");
        assert_eq!(sent, SentCounts { windows: WINDOWS, ..SentCounts::default() });
    }
    let mishaps = store.mishaps();
    assert!(mishaps.lost > 2 && mishaps.unanswered > 2 && mishaps.reordered > 2, "{mishaps:?}");
    // They came a second time, but not into the table.
    assert_eq!(mishaps.known, mishaps.unanswered + mishaps.reordered);
    let well = balance(&kept);
    assert!(well.holds(), "{:?}", well.hosts.iter().find(|host| !host.is_well()));
    is_all(&well, truth);

    store.fares(Mood::Well);
    let spoiled = spoil(&kept);
    let unwell = balance(&kept);
    let told = |of: fn(&Host) -> u64| unwell.hosts.iter().map(of).sum::<u64>();
    assert!(!unwell.holds() && spoiled.doubled > 0 && spoiled.lost > 0, "{spoiled:?}");
    let expected = (spoiled.doubled, spoiled.lost);
    assert_eq!((told(|host| host.doubled), told(|host| host.stray)), expected);
    assert_eq!(unwell.windows(), truth.windows - spoiled.lost);
    assert_eq!(too_much(&unwell), spoiled.doubled_ns);

    // Send all again: only the lost windows are added.
    store.forget();
    let mut sent = SentCounts::default();
    for path in &paths {
        let (done, of) = send(path, &client, now_ns());
        done.expect("taken");
        sent =
            SentCounts { windows: sent.windows + of.windows, there: sent.there + of.there, ..sent };
    }
    assert_eq!((sent.windows, sent.there), (spoiled.lost, truth.windows - spoiled.lost));
    let again = balance(&kept);
    assert_eq!(again.windows(), truth.windows);
    assert!(again.hosts.iter().all(|host| host.stray == 0 && host.gaps.count == 0));
    // The duplicates are still reported, and are the only excess.
    let expected = (spoiled.doubled_ns, truth.capacity + spoiled.doubled_ns);
    assert_eq!((too_much(&again), again.sums.cpus_x_time_ns), expected);
    spoiled.again.iter().for_each(|path| fs::remove_dir_all(path).expect("it was made"));
    let well = balance(&kept);
    assert!(well.holds(), "{:?}", well.hosts.iter().find(|host| !host.is_well()));
    is_all(&well, truth);
    assert_eq!(well.sums.named_ns(), truth.named);
    assert_eq!(well.sums.charged_ns, truth.named);
}
