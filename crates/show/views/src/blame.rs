//! The blame book as text, a matrix, JSON lines and CSV.

use crate::figure::{self, count, ns, text as word, Figure};
use crate::grid::{self, Layout, Text};
use crate::Sheet;
use exactop_model::blame::rows::{Blamed, CulpritRow, VictimRow};
use exactop_model::words::blame::culprits;
use exactop_model::words::plural::counted;
use exactop_model::words::units::duration;
use exactop_model::{Datum, Value};
use serde_json::json;
use std::collections::BTreeMap;

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// Culprits of a victim in text.
const CULPRITS: usize = 3;
/// Columns of culprits in the matrix.
const COLUMNS: usize = 8;

fn signed(n: i64) -> Value {
    Value::Known(Datum::Int(n))
}

const LAYOUT: Layout = Layout {
    texts: &[("WAITED", Text::Name), ("KEPT OFF BY", Text::List)],
    yields: &["DISPATCHES"],
};

fn summary(blamed: &Blamed, sheet: Sheet) -> String {
    let seconds = (blamed.t1_ns - blamed.t0_ns) as f64 / 1e9;
    let waited: i64 = blamed.rows.iter().map(|row| row.waits.lat_ns).sum();
    let rows = counted(blamed.rows.len() as u64, "row");
    let told = format!(
        "Window {seconds:.3} s: {rows} by {} waited {}; residual {} ns",
        blamed.by,
        duration(waited.unsigned_abs()),
        blamed.residual_ns
    );
    sheet.line(&told, 2)
}

/// Text for people: victims by wait, each with its first culprits.
pub fn text(blamed: &Blamed, sheet: Sheet) -> String {
    let line = |row: &VictimRow| {
        vec![
            duration(row.waits.lat_ns.unsigned_abs()),
            row.waits.dispatches.to_string(),
            row.victim.clone(),
            culprits(row, CULPRITS),
        ]
    };
    let lines = blamed.rows.iter().take(sheet.rows).map(line).collect();
    let heading = ["LAT", "DISPATCHES", "WAITED", "KEPT OFF BY"];
    let table = grid::text(&heading, lines, &LAYOUT, sheet.width);
    summary(blamed, sheet) + &table + &grid::left_out(blamed.rows.len(), sheet)
}

/// A matrix: victims down, the worst culprits across, in per cent of the victim's booked wait.
pub fn matrix(blamed: &Blamed, sheet: Sheet) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for culprit in blamed.rows.iter().flat_map(|row| &row.culprits) {
        *sums.entry(&culprit.culprit).or_default() += culprit.booked.ns;
    }
    let mut across: Vec<(&str, u64)> = sums.into_iter().collect();
    across.sort_by_key(|&(_, ns)| std::cmp::Reverse(ns));
    across.truncate(COLUMNS);
    let cell = |row: &VictimRow, name: &str| {
        let of = row.culprits.iter().filter(|culprit| culprit.culprit == name);
        match of.map(|culprit| culprit.booked.ns).sum::<u64>() {
            0 => ".".to_string(),
            ns => format!("{:.0}", 100.0 * ns as f64 / row.booked_ns().max(1) as f64),
        }
    };
    let line = |row: &VictimRow| {
        let shares = across.iter().map(|(name, _)| cell(row, name));
        shares.chain([row.victim.clone()]).collect()
    };
    let lines = blamed.rows.iter().take(sheet.rows).map(line).collect();
    let heading: Vec<&str> = across.iter().map(|&(name, _)| name).chain(["WAITED"]).collect();
    let layout = Layout { texts: &[("WAITED", Text::Name)], yields: &[] };
    let table = grid::text(&heading, lines, &layout, sheet.width);
    summary(blamed, sheet) + &table + &grid::left_out(blamed.rows.len(), sheet)
}

/// One JSON object on one line.
pub fn json(blamed: &Blamed) -> String {
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": blamed.t0_ns, "t1_ns": blamed.t1_ns },
        "by": blamed.by.name(),
        "blame_residual_ns": blamed.residual_ns,
        "rows": blamed.rows,
    });
    format!("{object}\n")
}

/// A victim with one of its culprits: a line of CSV.
type Pair = (VictimRow, CulpritRow);

const PAIR: &[Figure<Blamed, Pair>] = &[
    Figure::machine_only("victim", |_, (row, _)| word(row.victim.clone())),
    Figure::machine_only("lat_ns", |_, (row, _)| signed(row.waits.lat_ns)),
    Figure::machine_only("dispatches", |_, (row, _)| signed(row.waits.dispatches)),
    Figure::machine_only("in_flight_delta_ns", |_, (row, _)| signed(row.waits.in_flight_delta_ns)),
    Figure::machine_only("culprit", |_, (_, row)| word(row.culprit.clone())),
    Figure::machine_only("kind", |_, (_, row)| word(row.kind.name().to_string())),
    Figure::machine_only("ns", |_, (_, row)| ns(row.booked.ns)),
    Figure::machine_only("times", |_, (_, row)| count(row.booked.times)),
];

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(PAIR)
}

/// CSV, one line for each pair.
pub fn csv(blamed: &Blamed) -> Vec<u8> {
    let of = |row: &VictimRow| -> Vec<Pair> {
        let victim = VictimRow { culprits: Vec::new(), ..row.clone() };
        row.culprits.iter().map(|culprit| (victim.clone(), culprit.clone())).collect()
    };
    let pairs: Vec<Pair> = blamed.rows.iter().flat_map(of).collect();
    figure::csv(PAIR, blamed, [blamed.t0_ns, blamed.t1_ns], &pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::blame::rows::CulpritKind;
    use exactop_model::blame::{Booked, Waits};
    use exactop_model::owner::Grouping;

    fn blamed() -> Blamed {
        let culprit = |name: &str, kind, ns| CulpritRow {
            culprit: name.into(),
            kind,
            booked: Booked { ns, times: 2 },
        };
        let web = VictimRow {
            victim: "/web".into(),
            waits: Waits { lat_ns: 412_000_000, dispatches: 9, in_flight_delta_ns: 12_000_000 },
            culprits: vec![
                culprit("/batch", CulpritKind::Group, 284_000_000),
                culprit("/web", CulpritKind::Own, 88_000_000),
                culprit("brief", CulpritKind::Brief, 20_000_000),
                culprit("idle", CulpritKind::Idle, 8_000_000),
            ],
        };
        let (t0_ns, t1_ns) = (0, 1_000_000_000);
        Blamed { t0_ns, t1_ns, by: Grouping::Cgroup, residual_ns: 0, rows: vec![web] }
    }

    #[test]
    fn text_names_a_victims_first_culprits() {
        let text = text(&blamed(), Sheet::rows(20));
        assert!(text.contains("/batch 71 %, itself 22 %, brief 5 %"), "{text}");
        assert!(!text.contains("idle"), "{text}");
        assert!(matrix(&blamed(), Sheet::rows(20)).contains("/batch"));
    }

    #[test]
    fn json_closes_to_the_nanosecond() {
        let object: serde_json::Value = serde_json::from_str(&json(&blamed())).expect("JSON");
        assert_eq!(object["blame_residual_ns"], 0);
        let row = &object["rows"][0];
        let culprits = row["culprits"].as_array().expect("culprits");
        let sum: i64 = culprits.iter().map(|c| c["ns"].as_i64().expect("ns")).sum();
        let in_flight = row["in_flight_delta_ns"].as_i64().expect("ns");
        assert_eq!(row["lat_ns"].as_i64(), Some(sum + in_flight));
        assert_eq!((&row["victim"], &culprits[1]["kind"]), (&"/web".into(), &"own".into()));
    }

    #[test]
    fn csv_has_a_line_for_each_pair() {
        let text = String::from_utf8(csv(&blamed())).expect("UTF-8");
        assert_eq!(text.lines().count(), 4);
        assert!(text.starts_with("0,1000000000,/web,412000000,9,12000000,/batch,group,284000000,2"));
    }
}
