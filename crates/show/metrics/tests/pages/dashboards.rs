//! The fleet's dashboards as Grafana imports them: no panel shows a number without a unit and a
//! colour for wrong values.

use serde_json::Value;
use std::collections::BTreeSet;

const FILES: [&str; 2] = [
    include_str!("../../../../fleet/dashboards/clickhouse.json"),
    include_str!("../../../../fleet/dashboards/prometheus.json"),
];
const ALERTS: &str = include_str!("../../../../../deploy/prometheus/alerts.yml");

/// Grafana's units that the panels use; other units are `suffix: WORD`.
const UNITS: [&str; 5] = ["short", "s", "ns", "percent", "percentunit"];

fn panels() -> Vec<Value> {
    let of = |text: &str| {
        let dashboard: Value = serde_json::from_str(text).expect("JSON");
        dashboard["panels"].as_array().expect("panels").clone()
    };
    FILES.iter().flat_map(|text| of(text)).collect()
}

fn is_unit(unit: &Value) -> bool {
    let unit = unit.as_str().unwrap_or_default();
    UNITS.contains(&unit) || unit.strip_prefix("suffix: ").is_some_and(|word| !word.is_empty())
}

/// The values at which the colour changes; `None`: not thresholds.
fn steps(thresholds: &Value) -> Option<Vec<f64>> {
    let steps = thresholds["steps"].as_array()?;
    let is_coloured =
        steps.iter().all(|step| step["color"].as_str().is_some_and(|c| !c.is_empty()));
    let (first, others) = steps.split_first()?;
    let values: Option<Vec<f64>> = others.iter().map(|step| step["value"].as_f64()).collect();
    let values = values?;
    let rises = values.windows(2).all(|pair| pair[0] < pair[1]);
    let is_whole = thresholds["mode"] == "absolute" && first["value"].is_null();
    (is_whole && is_coloured && rises).then_some(values)
}

/// Values of a property that columns override.
fn overridden<'a>(panel: &'a Value, id: &str) -> Vec<&'a Value> {
    let overrides = panel["fieldConfig"]["overrides"].as_array().expect("a list").iter();
    let properties = overrides.flat_map(|one| one["properties"].as_array().expect("a list"));
    properties.filter(|property| property["id"] == id).map(|property| &property["value"]).collect()
}

/// The fault of a panel.
fn wrong(panel: &Value) -> Option<String> {
    let defaults = &panel["fieldConfig"]["defaults"];
    let units = [vec![&defaults["unit"]], overridden(panel, "unit")].concat();
    if !units.into_iter().all(is_unit) {
        return Some("a unit is missing, or none of Grafana's".into());
    }
    let Some(own) = steps(&defaults["thresholds"]) else { return Some("no thresholds".into()) };
    let of_columns: Vec<_> = overridden(panel, "thresholds").into_iter().map(steps).collect();
    if of_columns.contains(&None) {
        return Some("thresholds of a column are none".into());
    }
    let limits = of_columns.iter().flatten().chain([&own]).flatten().count();
    (limits == 0).then(|| "no value has another colour".into())
}

#[test]
fn every_panel_has_units_and_thresholds() {
    let panels = panels();
    assert!(panels.len() > 20, "both dashboards: {}", panels.len());
    for panel in &panels {
        assert_eq!(wrong(panel), None, "{}", panel["title"]);
    }
    // The test finds planted faults.
    for (path, value) in [
        ("/fieldConfig/defaults/unit", Value::Null),
        ("/fieldConfig/defaults/unit", "bananas".into()),
        ("/fieldConfig/defaults/thresholds", Value::Null),
        ("/fieldConfig/defaults/thresholds/steps/0/value", 1.into()),
        ("/fieldConfig/defaults/thresholds/mode", "percentage".into()),
    ] {
        let mut panel = panels[0].clone();
        *panel.pointer_mut(path).expect("it is there") = value;
        assert!(wrong(&panel).is_some(), "{path}");
    }
}

/// A column's limit belongs to a column that the panel's query returns.
#[test]
fn every_column_with_a_unit_is_one_of_its_panel() {
    let mut seen = BTreeSet::new();
    for panel in panels() {
        for one in panel["fieldConfig"]["overrides"].as_array().expect("a list") {
            let name = one["matcher"]["options"].as_str().expect("a name");
            let query = panel["targets"][0]["rawSql"].as_str().expect("a question");
            let answers = query.split("FROM\n").next().expect("its columns");
            let is_there = answers.contains(&format!("AS `{name}`"))
                || answers.split([',', '\n', ' ']).any(|word| word == name);
            assert!(is_there, "{}: {name}", panel["title"]);
            seen.insert(name.to_string());
        }
    }
    assert!(seen.contains("% of all waits") && seen.contains("accounts apart, ns"), "{seen:?}");
}

/// A panel turns red at the limit of its alert.
#[test]
fn limits_are_those_of_the_alerts() {
    let limit = |title: &str| {
        let panels = panels();
        let panel = panels.iter().find(|panel| panel["title"] == title).expect("such a panel");
        let limits = steps(&panel["fieldConfig"]["defaults"]["thresholds"]).expect("limits");
        limits[limits.len() - 1]
    };
    for (title, expression) in [
        ("Delay of the store", "exactop_export_behind_seconds > "),
        ("Hosts with the most steal", "account:exactop_cpu:share_rate5m{account=\"steal\"} > "),
        ("Threads that wait for a CPU", "group:exactop_runqueue:rate5m{command!=\"~other\"} > "),
        ("Threads that wait for locks", "group:exactop_lock:rate5m > "),
    ] {
        let (_, rest) = ALERTS.split_once(expression).expect(expression);
        let value = rest.split_whitespace().next().expect("a value");
        assert_eq!(limit(title), value.parse::<f64>().expect("a number"), "{title}");
    }
}
