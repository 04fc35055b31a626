//! Histograms of waits as a bar chart, JSON lines and CSV.

use crate::figure::{self, count, ns, text as word, Figure};
use crate::grid::{self, Layout, Text};
use crate::Sheet;
use exactop_model::blame::size_rows::{SizeRow, SizedWaits};
use exactop_model::blame::sizes::{end_ns, Histogram, Sized, WaitKind};
use exactop_model::words::plural::counted;
use exactop_model::words::units::duration;
use exactop_model::{Datum, Value};
use serde_json::{json, Value as Json};

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// Heights of bars.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Heading of the bars, one column for each bucket. A label stands where its bucket begins.
const SCALE: &str = "<256ns 16us  1ms   67ms  4s";

fn signed(n: i64) -> Value {
    Value::Known(Datum::Int(n))
}

const GROUP: &[Figure<SizedWaits, SizeRow>] = &[
    Figure::machine_only("group", |_, row| word(row.group.clone())),
    Figure::machine_only("lat_ns", |_, row| signed(row.sizes.waits.lat_ns)),
    Figure::machine_only("dispatches", |_, row| signed(row.sizes.waits.dispatches)),
    Figure::machine_only("in_flight_delta_ns", |_, row| signed(row.sizes.waits.in_flight_delta_ns)),
];

const SUMS: &[Figure<SizedWaits, Histogram>] = &[
    Figure::machine_only("max_ns", |_, waits| ns(waits.max_ns())),
    Figure::machine_only("p50_ns", |_, waits| ns(waits.percentile_ns(50))),
    Figure::machine_only("p90_ns", |_, waits| ns(waits.percentile_ns(90))),
    Figure::machine_only("p99_ns", |_, waits| ns(waits.percentile_ns(99))),
];

const LAYOUT: Layout = Layout {
    texts: &[(SCALE, Text::Words), ("BEGAN", Text::Words), ("WAITED", Text::Name)],
    yields: &["P90", "P50", "LAT"],
};

fn summary(sized: &SizedWaits, sheet: Sheet) -> String {
    let seconds = (sized.t1_ns - sized.t0_ns) as f64 / 1e9;
    let sum = |of: fn(&SizeRow) -> i64| sized.rows.iter().map(of).sum::<i64>().unsigned_abs();
    let told = format!(
        "Window {seconds:.3} s: {} by {} waited {} in {}; residual {} ns",
        counted(sized.rows.len() as u64, "row"),
        sized.by,
        duration(sum(|row| row.sizes.waits.lat_ns)),
        counted(sum(|row| row.sizes.waits.dispatches), "dispatch"),
        sized.residual_ns
    );
    sheet.line(&told, 2)
}

/// A bar for each bucket, relative to the highest one. A point: no dispatch.
fn bars(waits: &Histogram) -> String {
    let counts = waits.counts();
    let most = u128::from(counts.into_iter().max().unwrap_or(0).max(1));
    let bar = |count: u64| match count {
        0 => '·',
        n => EIGHTHS[(u128::from(n) * 8).div_ceil(most) as usize - 1],
    };
    counts.into_iter().map(bar).collect()
}

/// A line of a group's waits of one kind; `None`: it had none.
fn line(row: &SizeRow, kind: WaitKind) -> Option<Vec<String>> {
    let waits = row.sizes.histogram(kind);
    let told = |ns: Option<u64>| ns.map_or("-".into(), duration);
    (*waits != Histogram::default()).then(|| {
        vec![
            duration(waits.ns()),
            waits.count().to_string(),
            told(waits.percentile_ns(50)),
            told(waits.percentile_ns(90)),
            told(waits.percentile_ns(99)),
            told(waits.max_ns()),
            bars(waits),
            kind.name().into(),
            row.group.clone(),
        ]
    })
}

/// Text for people: the groups by wait, each with a line of bars for its woken and its preempted
/// tasks.
pub fn text(sized: &SizedWaits, sheet: Sheet) -> String {
    let shown = sized.rows.iter().take(sheet.rows);
    let lines = shown.flat_map(|row| WaitKind::ALL.into_iter().filter_map(|kind| line(row, kind)));
    let heading = ["LAT", "WAITS", "P50", "P90", "P99", "MAX", SCALE, "BEGAN", "WAITED"];
    let table = grid::text(&heading, lines.collect(), &LAYOUT, sheet.width);
    summary(sized, sheet) + &table + &grid::left_out(sized.rows.len(), sheet)
}

/// One JSON object on one line.
pub fn json(sized: &SizedWaits) -> String {
    let row = |row: &SizeRow| {
        let mut object = figure::object(GROUP, sized, row);
        for kind in WaitKind::ALL {
            let waits = row.sizes.histogram(kind);
            let mut told = figure::object(SUMS, sized, waits);
            told["counts"] = Json::from(waits.counts().to_vec());
            told["ns"] = waits.buckets().iter().map(|bucket| bucket.ns).collect();
            object[kind.name()] = told;
        }
        object
    };
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": sized.t0_ns, "t1_ns": sized.t1_ns },
        "by": sized.by.name(),
        "hist_residual_ns": sized.residual_ns,
        "rows": sized.rows.iter().map(row).collect::<Vec<Json>>(),
    });
    format!("{object}\n")
}

/// A bucket of a group's waits of one kind: a line of CSV.
type Bucket = (SizeRow, WaitKind, Option<u64>, Sized);

const BUCKET: &[Figure<SizedWaits, Bucket>] = &[
    Figure::machine_only("group", |_, (row, ..)| word(row.group.clone())),
    Figure::machine_only("lat_ns", |_, (row, ..)| signed(row.sizes.waits.lat_ns)),
    Figure::machine_only("dispatches", |_, (row, ..)| signed(row.sizes.waits.dispatches)),
    Figure::machine_only("in_flight_delta_ns", |_, (row, ..)| {
        signed(row.sizes.waits.in_flight_delta_ns)
    }),
    Figure::machine_only("began", |_, (_, kind, ..)| word(kind.name().to_string())),
    Figure::machine_only("below_ns", |_, (_, _, end, _)| ns(*end)),
    Figure::machine_only("count", |_, (.., sized)| count(sized.count)),
    Figure::machine_only("ns", |_, (.., sized)| ns(sized.ns)),
];

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(BUCKET)
}

/// CSV, one line for each bucket that is not empty.
pub fn csv(sized: &SizedWaits) -> Vec<u8> {
    let mut lines: Vec<Bucket> = Vec::new();
    for row in &sized.rows {
        for kind in WaitKind::ALL {
            let buckets = row.sizes.histogram(kind).buckets().iter().enumerate();
            let full = buckets.filter(|(_, sized)| **sized != Sized::default());
            lines.extend(full.map(|(at, sized)| (row.clone(), kind, end_ns(at), *sized)));
        }
    }
    figure::csv(BUCKET, sized, [sized.t0_ns, sized.t1_ns], &lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::blame::sizes::Sizes;
    use exactop_model::blame::Waits;
    use exactop_model::owner::Grouping;

    /// A group of many short waits and few long ones, and one that only lost its CPU.
    fn sized() -> SizedWaits {
        let row = |group: &str, in_flight_delta_ns, waits: &[(WaitKind, usize, u64, u64)]| {
            let mut sizes = Sizes::default();
            for &(kind, bucket, count, ns) in waits {
                let max_ns = ns / count;
                sizes.histogram_mut(kind).add_to(bucket, Sized { ns, count, max_ns });
                let (lat_ns, dispatches) = (ns as i64, count as i64);
                sizes.waits.add(&Waits { lat_ns, dispatches, in_flight_delta_ns: 0 });
            }
            let in_flight = Waits { in_flight_delta_ns, lat_ns: in_flight_delta_ns, dispatches: 0 };
            sizes.waits.add(&in_flight);
            SizeRow { group: group.into(), sizes }
        };
        use WaitKind::{Preempted, Woken};
        let web = [
            (Woken, 3, 800, 1_200_000),
            (Woken, 4, 400, 1_200_000),
            (Woken, 14, 10, 30_000_000),
            (Preempted, 15, 3, 15_000_000),
        ];
        let rows = vec![
            row("/web", 12_000_000, &web),
            row("/batch", 0, &[(Preempted, 25, 1, 5_000_000_000)]),
        ];
        let (t0_ns, t1_ns) = (0, 1_000_000_000);
        SizedWaits { t0_ns, t1_ns, by: Grouping::Cgroup, residual_ns: 0, rows }
    }

    #[test]
    fn text_is_a_chart() {
        insta::assert_snapshot!(text(&sized(), Sheet::rows(20)));
    }

    #[test]
    fn a_label_of_the_scale_stands_where_its_bucket_begins() {
        for (label, at) in [("16us", 7), ("1ms", 13), ("67ms", 19), ("4s", 25)] {
            assert_eq!(SCALE.find(label), Some(at));
            let begins = end_ns(at - 1).expect("an end");
            assert!(
                duration(begins).starts_with(label.trim_end_matches(char::is_alphabetic)),
                "{label}"
            );
        }
    }

    #[test]
    fn json_closes_to_the_nanosecond() {
        let object: Json = serde_json::from_str(&json(&sized())).expect("JSON");
        assert_eq!(object["hist_residual_ns"], 0);
        let row = &object["rows"][0];
        let sum = |key: &str| -> i64 {
            let of = |kind| row[kind][key].as_array().expect("26 figures");
            let all = [of("woken"), of("preempted")];
            assert!(all.iter().all(|figures| figures.len() == 26));
            all.into_iter().flatten().map(|n| n.as_i64().expect("a number")).sum()
        };
        let figure = |key: &str| row[key].as_i64().expect("a number");
        assert_eq!(figure("dispatches"), sum("counts"));
        assert_eq!(figure("lat_ns"), sum("ns") + figure("in_flight_delta_ns"));
        assert_eq!(row["woken"]["p50_ns"], 2_048);
        assert!(object["rows"][1]["woken"]["p50_ns"].is_null(), "it had no such wait");
    }

    #[test]
    fn csv_has_a_line_for_each_bucket() {
        let text = String::from_utf8(csv(&sized())).expect("UTF-8");
        assert_eq!(text.lines().count(), 5);
        assert!(text.starts_with("0,1000000000,/web,59400000,1213,12000000,woken,2048,800,1200000"));
        assert!(text.ends_with(",preempted,,1,5000000000\n"), "the last bucket has no end: {text}");
    }
}
