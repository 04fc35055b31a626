//! Who kept whom off the CPU, summed over a recording. `command::blame` of the command's tests has
//! the same of a measured one.

use crate::reports::clock;
use exactop_model::blame::rows::KEYS;
use exactop_recording::{Recording, TimeRange};
use exactop_sums::{json, report, text, Difference, Grouping, Per, Stretch};
use serde_json::Value;

/// A recording of the ledger with a blame book.
const KEPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../keep/recording/tests/recordings/form-1-blame-ledger.rec"
);

fn read(path: &str, when: TimeRange, by: Grouping) -> Stretch {
    let recording = Recording::open(path.as_ref()).expect("a recording");
    Stretch::read(recording, when, by, None).expect("a stretch")
}

fn kept(by: Grouping) -> Stretch {
    read(KEPT, TimeRange::default(), by)
}

fn ns(value: &Value) -> i64 {
    value.as_i64().expect("ns")
}

/// The recorded books are made up, so they do not close; under each key they are the same.
#[test]
fn the_pairs_are_the_same_sums_under_every_key() {
    let sums = |by| {
        let pairs = kept(by).pairs.expect("a book");
        let rows = &pairs.rows;
        let waited: i64 = rows.iter().map(|row| row.waits.lat_ns).sum();
        let booked: u64 = rows.iter().map(|row| row.booked_ns()).sum();
        (pairs.windows, pairs.residual_ns, waited, booked)
    };
    let all = KEYS.map(sums);
    assert!(all[0].0 > 1 && all[0].3 > 0, "{all:?}");
    assert!(all.iter().all(|sums| sums == &all[0]), "{all:?}");
}

#[test]
fn a_report_names_who_kept_whom_off_the_cpu() {
    let stretch = kept(Grouping::Command);
    let told: Value = serde_json::from_str(&report::json(&stretch)).expect("JSON");
    let pairs = stretch.pairs.as_ref().expect("a book");
    let (blame, rows) = (&told["blame"], told["blame"]["rows"].as_array().expect("rows"));
    assert_eq!(ns(&blame["blame_residual_ns"]), pairs.residual_ns as i64);
    assert_eq!(rows.len(), pairs.rows.len());
    for (told, row) in rows.iter().zip(&pairs.rows) {
        assert_eq!(
            (&told["victim"], ns(&told["lat_ns"])),
            (&row.victim.as_str().into(), row.waits.lat_ns)
        );
        let culprits = told["culprits"].as_array().expect("culprits");
        let sum: i64 = culprits.iter().map(|culprit| ns(&culprit["ns"])).sum();
        assert_eq!(sum, row.booked_ns() as i64, "{told}");
    }
    let worst = rows[0]["victim"].as_str().expect("a name");
    let page = report::page(&stretch, 1, false, &clock).expect("a page").text();
    let (_, table) = page.split_once("Who kept whom off the CPU").expect("its heading");
    assert!(table.contains(worst) && table.contains(" %"), "{table}");
    let some = format!("{} of {} windows have a blame book", pairs.windows, stretch.windows);
    assert!(table.contains(&some), "{table}");
    assert_eq!(table.contains("others)"), rows.len() > 1, "rows that are left out are summed");
    // Under a key that the book does not have, and without a book.
    assert_eq!(kept(Grouping::Process).pairs, None);
    let without = KEPT.replace("form-1-blame-ledger", "form-1-ledger");
    let without = read(&without, TimeRange::default(), Grouping::Command);
    let told: Value = serde_json::from_str(&report::json(&without)).expect("JSON");
    assert!(told["blame"].is_null());
    assert!(!report::page(&without, 9, false, &clock).expect("a page").text().contains("kept"));
}

#[test]
fn the_pairs_of_a_difference_are_the_change_of_what_was_booked() {
    let whole = kept(Grouping::Command);
    let (from, to) = whole.spans.expect("windows");
    // The windows that end in the second half.
    let half = TimeRange { from: Some((from + to) / 2), to: None };
    let half = read(KEPT, half, Grouping::Command);
    let booked = |stretch: &Stretch| -> i64 {
        let rows = &stretch.pairs.as_ref().expect("a book").rows;
        rows.iter().map(|row| row.booked_ns() as i64).sum()
    };
    let change = booked(&half) - booked(&whole);
    assert!(change < 0);
    let difference = Difference::between(whole, half, Per::Wall);
    let told: Value = serde_json::from_str(&json::difference(&difference)).expect("JSON");
    let pairs = told["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.iter().map(|pair| ns(&pair["delta_ns"])).sum::<i64>(), change);
    let told = text::difference(&difference, 1, &clock);
    let (_, table) = told.split_once("Who kept whom off the CPU").expect("its title");
    assert!(table.contains(pairs[0]["victim"].as_str().expect("a name")), "{table}");
    assert!(table.contains(&format!("... and {} more", pairs.len() - 1)), "{table}");
}

/// Nothing is known of the waits in a window without a book, so its length does not count.
#[test]
fn a_rate_of_pairs_is_over_the_windows_with_a_book() {
    let whole = kept(Grouping::Command);
    let pairs = whole.pairs.as_ref().expect("a book");
    let (windows, length_ns) = (pairs.windows, pairs.length_ns);
    // The recording has one window of each kind, each 1 s long.
    assert!(windows < whole.windows, "some windows have no book");
    assert_eq!((length_ns + 500_000_000) / 1_000_000_000, windows);
    let told = format!("\nA  {windows} of {} windows have a blame book", whole.windows);
    let difference = Difference::between(whole.clone(), whole, Per::Wall);
    for pair in difference.pairs().expect("two books") {
        let [in_a, in_b] = pair.ms_a_second;
        assert_eq!(in_a, in_b, "{pair:?}");
        assert!((in_a - pair.a_ns as f64 * 1e3 / length_ns as f64).abs() < 1e-9, "{pair:?}");
    }
    let json: Value = serde_json::from_str(&json::difference(&difference)).expect("JSON");
    assert_eq!(ns(&json["b"]["blame_windows"]), windows as i64);
    assert_eq!(ns(&json["b"]["blame_length_ns"]), length_ns as i64);
    let text = text::difference(&difference, 1, &clock);
    let (_, table) = text.split_once("Who kept whom off the CPU").expect("its title");
    assert!(table.contains(&told), "{table}");
}
