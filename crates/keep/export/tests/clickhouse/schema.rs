//! The shipped tables have the columns that are sent.

use exactop_export::{fields, Field, FieldType, TableName};

const SCHEMA: &str = include_str!("../../../../fleet/schema.sql");

/// Lines of a table's columns: name and type.
fn columns(table: &str) -> Vec<(&'static str, &'static str)> {
    let head = format!("CREATE TABLE IF NOT EXISTS exactop.{table}\n(\n");
    let begin = SCHEMA.find(&head).expect("the table") + head.len();
    let end = SCHEMA[begin..].find("\n)").expect("its end") + begin;
    // Columns come before projections.
    let lines = SCHEMA[begin..end].lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("PROJECTION"));
    let column = |line: &'static str| {
        let (name, rest) = line.split_once(' ').expect("a name and a type");
        let to = rest.find(" CODEC").or_else(|| rest.find(" DEFAULT"));
        (name, to.map_or(rest.trim_end_matches(','), |to| &rest[..to]))
    };
    lines.filter(|line| !line.starts_with("--")).map(column).collect()
}

fn store_type(field: &Field) -> &'static str {
    match (field.kind, field.optional) {
        (FieldType::Instant, _) => "DateTime64(9, 'UTC')",
        (FieldType::Unsigned, false) => "UInt64",
        (FieldType::Unsigned, true) => "Nullable(UInt64)",
        (FieldType::Signed, _) => "Int64",
        // Windows that are sent always have a host.
        (FieldType::Text, _) => "LowCardinality(String)",
        (FieldType::Flag, _) => "Bool",
        (FieldType::Numbers, _) => "Array(UInt64)",
    }
}

#[test]
fn every_sent_column_is_in_the_schema() {
    for which in TableName::FLEET {
        let columns = columns(which.name());
        let fields = fields(which);
        let expected: Vec<_> = fields.iter().map(|f| (&*f.name, store_type(f))).collect();
        assert_eq!(columns[..expected.len()], expected, "{}", which.name());
        let own: Vec<_> = columns[expected.len()..].iter().map(|(name, _)| *name).collect();
        let known: &[&str] = if which == TableName::Accounts { &["received"] } else { &[] };
        assert_eq!(own, known, "the store's own");
    }
}

#[test]
fn sums_by_minute_and_by_hour_have_the_same_wide_columns() {
    for table in TableName::FLEET.map(TableName::name) {
        let [minute, hour] = ["1m", "1h"].map(|span| columns(&format!("{table}_{span}")));
        assert_eq!(minute[1..], hour[1..], "{table}");
        for (name, is) in minute.iter().filter(|(name, _)| name.ends_with("_ns")) {
            assert!(is.ends_with("Int128"), "{table}.{name} is {is}");
        }
    }
}
