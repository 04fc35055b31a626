//! Control groups as text, JSON lines and CSV, and the cost of a limit in words.

use crate::figure::{self, count, ns, text as word, Figure};
use crate::grid::{self, Layout, Text};
use crate::Sheet;
use exactop_model::cgroups::{GroupRow, Groups};
use exactop_model::words::cgroups::{cost, heading, line, without_ledger};
use exactop_model::words::plural::counted;
use exactop_model::{Datum, Missing, Value};
use serde_json::json;

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 2;

/// Figures of a group for programs; [`exactop_model::words::cgroups`] has those for people.
const FIGURES: &[Figure<Groups, GroupRow>] = &[
    Figure::machine_only("path", |_, row| word(row.sample.name.clone())),
    Figure::json("id", |_, row| count(row.sample.id)),
    Figure::json("meaning", |_, row| word(row.meaning.clone())),
    Figure::machine_only("usage_ns", |_, row| ns(row.stat.usage_ns)),
    Figure::machine_only("user_ns", |_, row| ns(row.stat.user_ns)),
    Figure::machine_only("system_ns", |_, row| ns(row.stat.system_ns)),
    Figure::machine_only("nr_periods", |_, row| count(row.stat.nr_periods)),
    Figure::machine_only("nr_throttled", |_, row| count(row.stat.nr_throttled)),
    Figure::machine_only("throttled_ns", |_, row| ns(row.stat.throttled_ns)),
    Figure::machine_only("ledger_run_ns", |_, row| ns(row.ledger.as_ref().map(|l| l.run_ns))),
    Figure::machine_only("ledger_lat_ns", |_, row| ns(row.ledger.as_ref().map(|l| l.lat_ns))),
    Figure::machine_only("ledger_throttle_ns", |_, row| {
        ns(row.ledger.as_ref().map(|l| l.throttle_ns))
    }),
    Figure::machine_only("exited_processes", |_, row| count(row.ledger.as_ref().map(|l| l.exited))),
    Figure::machine_only("weight", |_, row| count(row.sample.weight)),
    Figure::machine_only("max", |_, row| word(row.sample.max.clone())),
    Figure::machine_only("allowed_cpus", |_, row| match row.sample.allowed_cpus {
        Some(cpus) => Value::Known(Datum::Real(cpus)),
        None => Value::Missing(Missing::Source),
    }),
    Figure::machine_only("effective_cpus", |_, row| word(row.sample.cpus.clone())),
    Figure::machine_only("pressure_some_ns", |_, row| ns(row.pressure_some_ns)),
    Figure::machine_only("pressure_full_ns", |_, row| ns(row.pressure_full_ns)),
    Figure::machine_only("processes", |_, row| count(row.processes)),
    Figure::json("words", |groups, row| word(cost(groups, row))),
];

const LAYOUT: Layout = Layout {
    texts: &[("GROUP", Text::Explained)],
    yields: &[
        "CPUS",
        "EXITED",
        "SHARE",
        "WEIGHT",
        "PERIODS",
        "PROCS",
        "%USR|%SYS",
        "LEDGER%",
        "PSI%",
        "THROTTLED",
        "LAT%",
        "MAX",
        "THR%",
    ],
};

/// Text for people: the tree, then the cost of limits.
pub fn text(groups: &Groups, sheet: Sheet) -> String {
    let seconds = groups.length_ns() as f64 / 1e9;
    let groups_there = counted(groups.rows.len() as u64, "group");
    let mut out = sheet.line(&format!("Window {seconds:.3} s, {groups_there}"), 2);
    out.extend(without_ledger(groups).map(|words| sheet.line(&words, 2)));
    let lines = groups.rows.iter().take(sheet.rows).map(|row| line(groups, row)).collect();
    out += &grid::text(&heading(), lines, &LAYOUT, sheet.width);
    out += &grid::left_out(groups.rows.len(), sheet);
    for words in groups.rows.iter().filter_map(|row| cost(groups, row)) {
        out += &sheet.line(&words, 2);
    }
    out
}

/// One JSON object on one line.
pub fn json(groups: &Groups) -> String {
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": groups.t0_ns, "t1_ns": groups.t1_ns, "cpus": groups.cpus },
        "no_ledger": groups.no_ledger,
        "groups": figure::objects(FIGURES, groups, &groups.rows),
    });
    format!("{object}\n")
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(FIGURES)
}

/// CSV, one line per group.
pub fn csv(groups: &Groups) -> Vec<u8> {
    figure::csv(FIGURES, groups, [groups.t0_ns, groups.t1_ns], &groups.rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::cgroups::{rows, GroupSample, GroupUse};
    use exactop_model::run::CpuStat;

    fn window(with_ledger: bool) -> Groups {
        let sample = |name: &str, id, usage_ns: u64| GroupSample {
            name: name.into(),
            id: Some(id),
            stat: CpuStat {
                usage_ns: Some(usage_ns),
                user_ns: Some(usage_ns),
                system_ns: Some(0),
                nr_periods: Some(usage_ns / 40_000_000),
                nr_throttled: Some(usage_ns / 41_000_000),
                throttled_ns: Some(usage_ns),
            },
            weight: Some(100),
            max: Some(if id == 2 { "40000 100000" } else { "max 100000" }.into()),
            allowed_cpus: (id == 2).then_some(0.4),
            cpus: Some("0-1".into()),
            processes: Some(3),
            ..GroupSample::default()
        };
        let root = |usage_ns| GroupSample {
            stat: CpuStat { usage_ns: Some(usage_ns), ..CpuStat::default() },
            weight: None,
            max: None,
            cpus: None,
            ..sample("/", 1, 0)
        };
        let before = [root(0), sample("/capped", 2, 0), sample("/nginx.service", 3, 0)];
        let after = [
            root(1_000_000_000),
            sample("/capped", 2, 400_000_000),
            sample("/nginx.service", 3, 600_000_000),
        ];
        let used = |run_ns, throttle_ns| GroupUse { run_ns, throttle_ns, lat_ns: 1, exited: 2 };
        let uses = [(2, used(399_999_999, 1_500_000_000)), (3, used(600_000_001, 0))]
            .into_iter()
            .collect();
        Groups {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            cpus: Some(2),
            no_ledger: (!with_ledger).then(|| "not permitted".into()),
            rows: rows(&before, &after, with_ledger.then_some(&uses)),
        }
    }

    #[test]
    fn text_says_what_a_limit_costs() {
        insta::assert_snapshot!(text(&window(true), Sheet::rows(20)));
    }

    #[test]
    fn text_without_a_ledger() {
        insta::assert_snapshot!(text(&window(false), Sheet::rows(2)));
    }

    #[test]
    fn a_narrow_screen_leaves_out_what_matters_least() {
        let narrow = |width| crate::sheet::fits(width, |sheet| text(&window(true), sheet));
        insta::assert_snapshot!([40, 60, 80].map(narrow).join("\n---\n\n"));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window(true)));
        let both = [csv_header(), csv(&window(true))].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
