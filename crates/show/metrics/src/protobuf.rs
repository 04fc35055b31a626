//! The page in Prometheus's protocol buffers, the only format of a scrape with native histograms.
//!
//! Names, numbers and types are those of `io.prometheus.client` in client_model 0.6.

use crate::clock::Clock;
use crate::family::{upper_ns, Family, FamilyKind, Point, Value, WaitCounts};
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    /// 0: counter, 1: gauge, 4: histogram.
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// `Counter`, and `Gauge`, which has no beginning.
#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
    #[prost(message, optional, tag = "3")]
    created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// In schema 0, bucket i is above 2^(i - 1) and at most 2^i ns. Ours from 256 ns on is the ninth.
const FIRST: i32 = 9;

/// All families, each after its length.
pub(crate) fn write(families: &[Family], clock: &Clock) -> Vec<u8> {
    let mut page = Vec::new();
    for family in families.iter().filter(|family| !family.points.is_empty()) {
        let (kind, suffix) = match family.kind {
            FamilyKind::Counter => (0, "_total"),
            FamilyKind::Gauge => (1, ""),
            FamilyKind::Histogram { .. } => (4, ""),
        };
        let message = MetricFamily {
            name: Some(format!("{}{suffix}", family.name)),
            help: Some(family.help.into()),
            kind: Some(kind),
            metric: family.points.iter().map(|point| metric(family.kind, point, clock)).collect(),
        };
        page.extend(message.encode_length_delimited_to_vec());
    }
    page
}

fn metric(kind: FamilyKind, point: &Point, clock: &Clock) -> Metric {
    let pair = |(name, value): &(&'static str, String)| LabelPair {
        name: Some(name.to_string()),
        value: Some(value.clone()),
    };
    let created = point.created_ns.map(|at_ns| {
        let wall_ns = clock.wall_ns(at_ns);
        let of = |ns: i128| ns as i64;
        let nanos = of(wall_ns.rem_euclid(1_000_000_000)) as i32;
        Timestamp { seconds: of(wall_ns.div_euclid(1_000_000_000)), nanos }
    });
    let mut metric = Metric { label: point.labels.iter().map(pair).collect(), ..Metric::default() };
    let value = match point.value {
        Value::Ns(ns) => ns as f64 / 1e9,
        Value::Count(count) => count as f64,
        Value::Waits(waits) => {
            let classic = kind == FamilyKind::Histogram { buckets: true };
            metric.histogram = Some(histogram(&waits, classic, created));
            return metric;
        }
    };
    let number = Number { value: Some(value), created };
    match kind {
        FamilyKind::Gauge => metric.gauge = Some(number),
        _ => metric.counter = Some(number),
    }
    metric
}

/// A native histogram, also with the buckets of a classic one.
fn histogram(waits: &WaitCounts, classic: bool, created: Option<Timestamp>) -> Histogram {
    let above = &waits.counts[1..];
    let length = above.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let before = std::iter::once(&0).chain(above);
    let delta = above.iter().zip(before).map(|(now, before)| now.wrapping_sub(*before) as i64);
    let bucket = |(n, cumulative_count)| Bucket {
        cumulative_count: Some(cumulative_count),
        upper_bound: Some(upper_ns(n).map_or(f64::INFINITY, |ns| ns as f64)),
    };
    let span = BucketSpan { offset: Some(FIRST), length: Some(length as u32) };
    Histogram {
        count: Some(waits.count()),
        sum: Some(waits.ns as f64),
        bucket: waits.cumulative().enumerate().map(bucket).filter(|_| classic).collect(),
        schema: Some(0),
        zero_threshold: Some(256.0),
        zero_count: Some(waits.counts[0]),
        positive_span: vec![span],
        positive_delta: delta.take(length).collect(),
        created,
    }
}
