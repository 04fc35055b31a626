//! Control groups as text, JSON lines and CSV, and what a limit costs in words.

use crate::{csv, grid};
use exactop_model::cgroups::Groups;
use exactop_model::words::cgroups::{cost, line, HEADING};
use serde_json::{json, Value};

/// The version of the JSON schema, raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// For people: the tree, then what limits cost; at most `rows` groups.
pub fn text(groups: &Groups, rows: usize) -> String {
    let seconds = groups.length_ns() as f64 / 1e9;
    let mut out = format!("Window {seconds:.3} s, {} groups\n", groups.rows.len());
    if let Some(why) = &groups.no_ledger {
        out += &format!("LEDGER%, LAT%, THR% and EXITED are not known: {why}\n");
    }
    let lines = groups.rows.iter().take(rows).map(|row| line(groups, row)).collect();
    out += &grid::text(&HEADING, &["GROUP"], lines);
    out += &grid::left_out(groups.rows.len(), rows);
    for words in groups.rows.iter().filter_map(|row| cost(groups, row)) {
        out += &(words + "\n");
    }
    out
}

/// One JSON object on one line.
pub fn json(groups: &Groups) -> String {
    let rows: Vec<Value> = groups
        .rows
        .iter()
        .map(|row| {
            let (stat, ledger) = (&row.stat, row.ledger.as_ref());
            json!({
                "path": row.sample.name,
                "id": row.sample.id,
                "meaning": row.meaning,
                "usage_ns": stat.usage_ns,
                "user_ns": stat.user_ns,
                "system_ns": stat.system_ns,
                "nr_periods": stat.nr_periods,
                "nr_throttled": stat.nr_throttled,
                "throttled_ns": stat.throttled_ns,
                "ledger_run_ns": ledger.map(|l| l.run_ns),
                "ledger_lat_ns": ledger.map(|l| l.lat_ns),
                "ledger_throttle_ns": ledger.map(|l| l.throttle_ns),
                "exited_tasks": ledger.map(|l| l.exited),
                "weight": row.sample.weight,
                "max": row.sample.max,
                "allowed_cpus": row.sample.allowed_cpus,
                "effective_cpus": row.sample.cpus,
                "pressure_some_ns": row.pressure_some_ns,
                "pressure_full_ns": row.pressure_full_ns,
                "processes": row.processes,
                "words": cost(groups, row),
            })
        })
        .collect();
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": groups.t0_ns, "t1_ns": groups.t1_ns, "cpus": groups.cpus },
        "no_ledger": groups.no_ledger,
        "groups": rows,
    });
    format!("{object}\n")
}

/// CSV's header line.
pub fn csv_header() -> Vec<u8> {
    let names = [
        "t0_ns",
        "t1_ns",
        "path",
        "usage_ns",
        "user_ns",
        "system_ns",
        "nr_periods",
        "nr_throttled",
        "throttled_ns",
        "ledger_run_ns",
        "ledger_lat_ns",
        "ledger_throttle_ns",
        "exited_tasks",
        "weight",
        "max",
        "allowed_cpus",
        "effective_cpus",
        "pressure_some_ns",
        "pressure_full_ns",
        "processes",
    ];
    let mut out = Vec::new();
    csv::line(&mut out, &names.map(String::from));
    out
}

/// A line for each group.
pub fn csv(groups: &Groups) -> Vec<u8> {
    let mut out = Vec::new();
    let some = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    for row in &groups.rows {
        let (stat, ledger) = (&row.stat, row.ledger.as_ref());
        let fields = [
            groups.t0_ns.to_string(),
            groups.t1_ns.to_string(),
            csv::text(&row.sample.name),
            some(stat.usage_ns),
            some(stat.user_ns),
            some(stat.system_ns),
            some(stat.nr_periods),
            some(stat.nr_throttled),
            some(stat.throttled_ns),
            some(ledger.map(|l| l.run_ns)),
            some(ledger.map(|l| l.lat_ns)),
            some(ledger.map(|l| l.throttle_ns)),
            some(ledger.map(|l| l.exited)),
            some(row.sample.weight),
            row.sample.max.as_deref().map_or(String::new(), csv::text),
            row.sample.allowed_cpus.map_or(String::new(), |cpus| cpus.to_string()),
            row.sample.cpus.as_deref().map_or(String::new(), csv::text),
            some(row.pressure_some_ns),
            some(row.pressure_full_ns),
            some(row.processes),
        ];
        csv::line(&mut out, &fields);
    }
    out
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
            cpus: 2,
            no_ledger: (!with_ledger).then(|| "not permitted".into()),
            rows: rows(&before, &after, with_ledger.then_some(&uses)),
        }
    }

    #[test]
    fn text_says_what_a_limit_costs() {
        insta::assert_snapshot!(text(&window(true), 20));
    }

    #[test]
    fn text_without_a_ledger() {
        insta::assert_snapshot!(text(&window(false), 2));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window(true)));
        let both = [csv_header(), csv(&window(true))].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
