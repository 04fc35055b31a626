//! Waits by size: counts are dispatches and sums are waits, in every format, also in a real
//! Prometheus as native histograms.

use crate::blamed::{book, party};
use crate::made::{Cgroups, Made};
use exactop_metrics::http::{Front, Server};
use exactop_metrics::{otlp, Format, Settings};
use exactop_model::blame::sizes::{Sized, WaitKind, BUCKETS};
use exactop_model::blame::{Blame, Culprit, Waits};
use exactop_model::owner::Grouping;
use exactop_testkit::{wait, Prometheus};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::metrics::v1::{metric::Data, HistogramDataPoint};
use prost::Message;
use std::collections::BTreeMap;
use std::sync::Mutex;

fn made(groups: usize, buckets: bool) -> Made {
    let by = Grouping::Command;
    let settings = Settings { blame_by: by, groups, buckets, ..Settings::default() };
    Made::new(settings, Cgroups::default())
}

/// A book with waits of these parties: kind, bucket, dispatches and ns. 7 ns of each are open.
pub fn waited(waits: &[(u64, WaitKind, usize, u64, u64)]) -> Blame {
    let mut blame = Blame::default();
    for &(victim, kind, bucket, count, ns) in waits {
        let sizes = blame.sizes.entry(Some(party(victim))).or_default();
        let (lat_ns, dispatches) = (ns as i64 + 7, count as i64);
        sizes.waits.add(&Waits { lat_ns, dispatches, in_flight_delta_ns: 7 });
        sizes.histogram_mut(kind).add_to(bucket, Sized { ns, count, max_ns: ns });
    }
    assert_eq!(blame.hist_residual_ns(), 0);
    blame
}

use WaitKind::{Preempted, Woken};

/// In the first, some and the last bucket.
pub const WAITS: [(u64, WaitKind, usize, u64, u64); 5] = [
    (1, Woken, 0, 3, 600),
    (1, Woken, 1, 2, 1_000),
    (1, Woken, 12, 1, 1_000_001),
    (1, Preempted, 25, 1, 9_000_000_000),
    (2, Woken, 3, 5, 5_001),
];

/// A window in which the groups get their places, and one that counts.
fn counted(buckets: bool) -> Made {
    let mut made = made(10, buckets);
    made.told_otherwise(&[], |now| now.blame = Some(waited(&WAITS)));
    made.scrape(Format::Prometheus);
    made.told_otherwise(&[], |now| now.blame = Some(waited(&WAITS)));
    made
}

/// The lines of the family, by name and labels.
fn lines(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("exactop_wait_size_"));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(a, b)| (a.into(), b.into())).collect()
}

#[test]
fn buckets_hold_the_dispatches_up_to_their_longest_wait() {
    let mut made = counted(true);
    for (format, point) in [(Format::Prometheus, ""), (Format::OpenMetrics, ".0")] {
        let text = made.scrape(format);
        let lines = lines(&text);
        let bucket = |le: &str| {
            let labels = format!("{{victim=\"of1\",began=\"woken\",le=\"{le}\"}}");
            lines[&format!("bucket{labels}")].clone()
        };
        let to = |ns: u64| bucket(&format!("{ns}{point}"));
        assert_eq!([to(255), to(511), to(1023)], ["3", "5", "5"]);
        let long = ["1.048575e+06", "4.294967295e+09", "+Inf"].map(bucket);
        assert_eq!(long, ["6", "6", "6"]);
        let own = "{victim=\"of1\",began=\"woken\"}";
        assert_eq!(lines[&format!("count{own}")], "6");
        assert_eq!(lines[&format!("sum{own}")], "1001601");
        assert_eq!(lines["sum{victim=\"of1\",began=\"preempted\"}"], "9000000000");
        let of = lines.keys().filter(|key| key.starts_with("bucket{victim=\"of2\""));
        assert_eq!(of.count(), 2 * BUCKETS);
        // Open since the first window: 7 ns of five parties twice.
        assert!(text.contains("exactop_open_waits_seconds 0.000000070\n"), "{text}");
    }
}

#[test]
fn without_the_setting_a_text_has_counts_and_sums_alone() {
    let lines = lines(&counted(false).scrape(Format::Prometheus));
    let buckets: Vec<_> = lines.keys().filter(|key| key.starts_with("bucket")).collect();
    assert!(!buckets.is_empty() && buckets.iter().all(|key| key.contains("le=\"+Inf\"")));
    assert_eq!(lines["count{victim=\"of2\",began=\"woken\"}"], "5");
}

#[test]
fn the_number_of_series_is_bounded_and_no_wait_is_lost() {
    let mut made = made(3, false);
    let (mut count, mut ns) = (0, 0);
    for window in 1..20 {
        let waits: Vec<_> = (1..40).map(|n| (n, Woken, (n % 26) as usize, n, n * window)).collect();
        count += waits.iter().map(|wait| wait.3).sum::<u64>();
        ns += waits.iter().map(|wait| wait.4).sum::<u64>();
        made.told_otherwise(&[], |now| now.blame = Some(waited(&waits)));
        let lines = lines(&made.scrape(Format::Prometheus));
        let sum = |what: &str| -> (usize, u64) {
            let of = lines.iter().filter(|(name, _)| name.starts_with(what));
            let of: Vec<u64> = of.map(|(_, value)| value.parse().expect("a number")).collect();
            (of.len(), of.iter().sum())
        };
        assert_eq!((sum("count").1, sum("sum").1), (count, ns));
        assert!(sum("count").0 <= 2 * 5, "{lines:?}");
    }
}

#[test]
fn without_histograms_there_is_no_such_family() {
    let mut made = made(3, true);
    made.told_otherwise(&[], |now| now.blame = Some(book(&[(1, Culprit::Idle, 5)])));
    let text = made.scrape(Format::Prometheus);
    assert!(text.contains("wait_by") && !text.contains("wait_size") && !text.contains("open_wait"));
}

#[test]
fn a_report_has_the_same_buckets_and_names_victim_and_culprit() {
    let mut made = made(10, false);
    let told = |made: &mut Made| {
        let mut blame = waited(&WAITS);
        blame.add(&book(&[(1, Culprit::Task(party(2)), 5)]));
        made.told_otherwise(&[], |now| now.blame = Some(blame.clone()));
        made.scrape(Format::Prometheus);
    };
    told(&mut made);
    told(&mut made);
    let bytes = otlp::request(&made.metrics, &otlp::Host::default());
    let report = ExportMetricsServiceRequest::decode(&*bytes).expect("a report");
    let metrics = &report.resource_metrics[0].scope_metrics[0].metrics;
    let data = |name: &str| {
        let metric = metrics.iter().find(|metric| metric.name == name).expect("a metric");
        metric.data.clone().expect("data")
    };
    let Data::Histogram(histogram) = data("exactop.wait.size") else { panic!("{metrics:?}") };
    let words = |attributes: &[opentelemetry_proto::tonic::common::v1::KeyValue]| {
        let word = |value: &Attribute| match value {
            Attribute::StringValue(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        let of = attributes.iter().map(|pair| {
            let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
            (pair.key.clone(), word(value.expect("a value")))
        });
        of.collect::<BTreeMap<_, _>>()
    };
    let of = |victim: &str, began: &str| -> HistogramDataPoint {
        let is = |point: &&HistogramDataPoint| {
            let words = words(&point.attributes);
            words.get("exactop.victim").is_some_and(|name| name == victim)
                && words["exactop.wait.began"] == began
        };
        histogram.data_points.iter().find(is).expect("a point").clone()
    };
    let woken = of("of1", "woken");
    assert_eq!((woken.count, woken.sum), (6, Some(1_001_601.0)));
    assert_eq!((woken.bucket_counts.len(), woken.explicit_bounds.len()), (BUCKETS, BUCKETS - 1));
    assert_eq!((woken.bucket_counts[1], woken.explicit_bounds[1]), (2, 511.0));
    assert_eq!(of("of1", "preempted").bucket_counts[BUCKETS - 1], 1);
    let Data::Sum(pairs) = data("exactop.wait_by.time") else { panic!("{metrics:?}") };
    let pair = pairs.data_points.iter().map(|point| words(&point.attributes));
    let pair = pair.into_iter().find(|words| words.contains_key("exactop.victim")).expect("one");
    assert_eq!((&*pair["exactop.victim"], &*pair["exactop.culprit"]), ("of1", "of2"));
}

/// Prometheus asks for protocol buffers once it keeps native histograms. At the bounds of buckets
/// it interpolates nothing, so its fractions are our counts.
#[test]
fn a_real_prometheus_has_the_counts_as_a_native_histogram() {
    let made = Mutex::new(made(10, false));
    let page = move |format| {
        let mut made = made.lock().expect("nobody panicked");
        made.told_otherwise(&[], |now| now.blame = Some(waited(&WAITS)));
        Some(made.metrics.scrape(format).into())
    };
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = Server::start(address, Front::default(), page).expect("a server");
    let directory = tempfile::tempdir().expect("a directory");
    let target = server.address().to_string();
    let (jobs, native) = ([("exactop", &*target)], ["--enable-feature=native-histograms"]);
    let Some(prometheus) = Prometheus::start_with(directory.path(), &jobs, &native) else { return };
    let series = "exactop_wait_size{victim=\"of1\",began=\"woken\"}";
    let windows = "histogram_count(exactop_wait_size{victim=\"of2\",began=\"woken\"}) / 5";
    wait::until("three windows", || prometheus.ask(windows) >= Some(3.0));
    let now = prometheus.ask(&format!("timestamp({windows})")).expect("a time");
    let at = |expression: &str| prometheus.at(expression, now);
    let windows = at("histogram_count(exactop_wait_size{victim=\"of2\",began=\"woken\"} @) / 5");
    let count = format!("histogram_count({series} @)");
    assert_eq!(at(&count), 6.0 * windows);
    assert_eq!(at(&format!("histogram_sum({series} @)")), 1_001_601.0 * windows);
    for (to, waits) in [(256.0, 3.0), (512.0, 5.0), (524_288.0, 5.0), (1_048_576.0, 6.0)] {
        let part = at(&format!("histogram_fraction(0, {to}, {series} @)"));
        assert!((part * 6.0 - waits).abs() < 1e-9, "{part} of 6 waits end before {to} ns");
    }
    let all = at("histogram_count(sum(exactop_wait_size @))");
    let counted: u64 = WAITS.iter().map(|wait| wait.3).sum();
    assert_eq!(
        all % counted as f64,
        0.0,
        "every window counts, also before its groups have places"
    );
    // Other families come in the same format.
    assert_eq!(at("exactop_cpus @"), 4.0);
    assert!(at("sum(exactop_cpu_seconds_total @)") > 0.0);
}
