//! The page: Prometheus's text (0.0.4) and OpenMetrics (1.0), or its protocol buffers ([`protobuf`]).
//! In texts, seconds are written from whole ns,
//! digit by digit: a double would lose digits after 104 days of CPU time.

use crate::clock::Clock;
use crate::family::{upper_ns, Family, FamilyKind, Point, Unit, Value, WaitCounts};
use crate::protobuf;
use std::fmt::Write;

/// Format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus's text, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0: with the start of each counter.
    OpenMetrics,
    /// Prometheus's protocol buffers: with native histograms.
    Protobuf,
}

impl Format {
    /// Value of the header Content-Type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Protobuf => "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
        }
    }
}

pub(crate) fn write(families: &[Family], clock: &Clock, format: Format) -> Vec<u8> {
    if format == Format::Protobuf {
        return protobuf::write(families, clock);
    }
    let mut page = String::new();
    for family in families.iter().filter(|family| !family.points.is_empty()) {
        head(&mut page, family, format);
        for point in &family.points {
            sample(&mut page, family, point, clock, format);
        }
    }
    if format == Format::OpenMetrics {
        page.push_str("# EOF\n");
    }
    page.into_bytes()
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($page:expr, $($what:tt)*) => {
        let _ = write!($page, $($what)*);
    };
}

fn head(page: &mut String, family: &Family, format: Format) {
    let (kind, suffix) = match family.kind {
        FamilyKind::Counter => ("counter", "_total"),
        FamilyKind::Gauge => ("gauge", ""),
        FamilyKind::Histogram { .. } => ("histogram", ""),
    };
    // In OpenMetrics a family is named without the suffix of its samples.
    let suffix = if format == Format::OpenMetrics { "" } else { suffix };
    let Family { name, help, unit, .. } = family;
    put!(page, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n");
    if format == Format::OpenMetrics && *unit == Unit::Seconds {
        put!(page, "# UNIT {name} seconds\n");
    }
}

fn sample(page: &mut String, family: &Family, point: &Point, clock: &Clock, format: Format) {
    let suffix = if family.kind == FamilyKind::Counter { "_total" } else { "" };
    match &point.value {
        Value::Waits(waits) => histogram(page, family, &point.labels, waits, format),
        Value::Ns(ns) => {
            name(page, family.name, suffix, &point.labels);
            seconds(page, *ns);
            page.push('\n');
        }
        Value::Count(count) => {
            name(page, family.name, suffix, &point.labels);
            put!(page, "{count}\n");
        }
    }
    let Some(created_ns) = point.created_ns.filter(|_| format == Format::OpenMetrics) else {
        return;
    };
    name(page, family.name, "_created", &point.labels);
    seconds(page, clock.wall_ns(created_ns));
    page.push('\n');
}

/// The beginning of a line, up to its figure.
fn name(page: &mut String, name: &str, suffix: &str, own: &[(&'static str, String)]) {
    put!(page, "{name}{suffix}");
    labels(page, own);
    page.push(' ');
}

/// The lines of a classic histogram; the bucket of all waits is always among them.
fn histogram(
    page: &mut String,
    family: &Family,
    own: &[(&'static str, String)],
    waits: &WaitCounts,
    format: Format,
) {
    for (bucket, count) in waits.cumulative().enumerate() {
        let le = match (upper_ns(bucket), family.kind) {
            (Some(ns), FamilyKind::Histogram { buckets: true }) => bound(ns, format),
            (Some(_), _) => continue,
            (None, _) => "+Inf".into(),
        };
        name(page, family.name, "_bucket", &[own, &[("le", le)]].concat());
        put!(page, "{count}\n");
    }
    name(page, family.name, "_sum", own);
    put!(page, "{}\n", waits.ns);
    name(page, family.name, "_count", own);
    put!(page, "{}\n", waits.count());
}

/// A bound as both formats write numbers: from a million on with an exponent. OpenMetrics asks for a
/// point in each. No bound ends with a zero.
fn bound(ns: u64, format: Format) -> String {
    let digits = ns.to_string();
    match (digits.split_at(1), digits.len()) {
        ((first, rest), 7..) => format!("{first}.{rest}e+{:02}", digits.len() - 1),
        _ if format == Format::OpenMetrics => format!("{digits}.0"),
        _ => digits,
    }
}

fn labels(page: &mut String, labels: &[(&'static str, String)]) {
    for (n, (name, value)) in labels.iter().enumerate() {
        page.push(if n == 0 { '{' } else { ',' });
        put!(page, "{name}=\"");
        for c in value.chars() {
            match c {
                '\\' => page.push_str("\\\\"),
                '"' => page.push_str("\\\""),
                '\n' => page.push_str("\\n"),
                c => page.push(c),
            }
        }
        page.push('"');
    }
    if !labels.is_empty() {
        page.push('}');
    }
}

fn seconds(page: &mut String, ns: i128) {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    put!(page, "{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(ns: i128) -> String {
        let mut page = String::new();
        seconds(&mut page, ns);
        page
    }

    #[test]
    fn no_nanosecond_is_lost() {
        assert_eq!(written(0), "0.000000000");
        assert_eq!(written(-1), "-0.000000001");
        assert_eq!(written(-1_000_000_001), "-1.000000001");
        assert_eq!(written((1 << 53) + 1), "9007199.254740993");
        assert_eq!(written(i128::from(u64::MAX) * 10), "184467440737.095516150");
    }

    #[test]
    fn a_label_cannot_end_its_line() {
        let mut page = String::new();
        labels(&mut page, &[("command", "a\"} 1\nevil 2\\".into()), ("unit", "x".into())]);
        assert_eq!(page, r#"{command="a\"} 1\nevil 2\\",unit="x"}"#);
    }
}
