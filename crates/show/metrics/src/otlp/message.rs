//! A report: families in OpenTelemetry's form.

use crate::clock::Clock;
use crate::family::{upper_ns, Family, FamilyKind, Point, Value};
use crate::metrics::Metrics;
use crate::otlp::wire::{
    AggregationTemporality, AnyValue, Data, ExportMetricsServiceRequest, Gauge, Histogram,
    HistogramDataPoint, InstrumentationScope, KeyValue, Metric, Number, NumberDataPoint, Resource,
    ResourceMetrics, ScopeMetrics, Sum, Text,
};
use exactop_model::owner::{LABEL_LEFT, LABEL_OTHER, LABEL_UNKNOWN, LABEL_UNNAMED};
use prost::Message;
use std::collections::BTreeMap;

/// The host of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Host {
    /// `host.id`: /etc/machine-id.
    pub id: Option<String>,
    /// `host.name`.
    pub name: Option<String>,
}

/// The report of all counters (an `ExportMetricsServiceRequest`); without figures before the first
/// window.
pub fn request(metrics: &Metrics, host: &Host) -> Vec<u8> {
    let Some(boundary_ns) = metrics.boundary_ns() else { return Vec::new() };
    let writer = Writer { clock: metrics.clock(), boundary_ns };
    let families = metrics.families();
    let whose = host.attributes();
    let own = families.iter().map(|family| writer.metric(family)).collect();
    let mut resource_metrics = vec![resource(whose.clone(), own)];
    for (container, points) in containers(&families) {
        let mut attributes = whose.clone();
        attributes.extend(container.iter().map(|(key, value)| text(key, value)));
        resource_metrics.push(resource(attributes, vec![writer.container(&points)]));
    }
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

impl Host {
    fn attributes(&self) -> Vec<KeyValue> {
        let service = [("service.name", "exactop"), ("service.version", env!("CARGO_PKG_VERSION"))];
        let service = service.into_iter().map(|(key, value)| text(key, value));
        let host = [("host.id", &self.id), ("host.name", &self.name)];
        let host = host.into_iter().filter_map(|(key, value)| Some(text(key, value.as_ref()?)));
        service.chain(host).collect()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Text::StringValue(value.to_string())) };
    KeyValue { key: key.to_string(), value: Some(value) }
}

fn resource(attributes: Vec<KeyValue>, metrics: Vec<Metric>) -> ResourceMetrics {
    let scope =
        InstrumentationScope { name: "exactop".into(), version: env!("CARGO_PKG_VERSION").into() };
    ResourceMetrics {
        resource: Some(Resource { attributes }),
        scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics }],
    }
}

/// Labels under the names of OpenTelemetry's conventions; those without a convention keep their own
/// names.
fn attributes(labels: &[(&'static str, String)]) -> BTreeMap<&'static str, String> {
    let in_pod = labels.iter().any(|(name, _)| *name == "pod");
    let key = |name| match name {
        "namespace" => "k8s.namespace.name",
        "pod" => "k8s.pod.name",
        "container" if in_pod => "k8s.container.name",
        "container" => "container.name",
        "unit" => "exactop.unit",
        "command" => "process.executable.name",
        "user" => "process.owner",
        "session" => "exactop.session",
        "mode" => "cpu.mode",
        "account" => "exactop.account",
        "wait" => "exactop.wait",
        "victim" => "exactop.victim",
        "culprit" => "exactop.culprit",
        "began" => "exactop.wait.began",
        "kind" => "exactop.event.kind",
        _ => "exactop.part",
    };
    // A group that exactop made up, such as `~other`, is no pod and no command.
    let named = |(name, value): &(&'static str, String)| match is_made_up(value) {
        true => ("exactop.group", value.clone()),
        false => (key(name), value.clone()),
    };
    labels.iter().map(named).collect()
}

fn is_made_up(value: &str) -> bool {
    [LABEL_OTHER, LABEL_LEFT].contains(&value)
}

/// Groups in containers, by the labels of the container.
type Containers<'a> = BTreeMap<Vec<(&'static str, String)>, Vec<(Vec<KeyValue>, &'a Point)>>;

fn containers(families: &[Family]) -> Containers<'_> {
    let mut containers = Containers::new();
    let groups = families.iter().filter(|family| family.name == "exactop_group_cpu_seconds");
    for point in groups.flat_map(|family| &family.points) {
        let container = point.labels.iter().find(|(name, _)| *name == "container");
        if container.is_none_or(|(_, name)| {
            is_made_up(name) || [LABEL_UNKNOWN, LABEL_UNNAMED].contains(&name.as_str())
        }) {
            continue;
        }
        let whose = |(key, _): &(&str, String)| key.starts_with("k8s.") || *key == "container.name";
        let (whose, own): (Vec<_>, Vec<_>) = attributes(&point.labels).into_iter().partition(whose);
        let own = own.iter().map(|(key, value)| text(key, value)).collect();
        containers.entry(whose).or_default().push((own, point));
    }
    containers
}

struct Writer<'a> {
    clock: &'a Clock,
    boundary_ns: u64,
}

impl Writer<'_> {
    fn metric(&self, family: &Family) -> Metric {
        let attributes = |point: &Point| {
            let attributes = attributes(&point.labels);
            attributes.iter().map(|(key, value)| text(key, value)).collect()
        };
        let point = |point: &Point| self.point(attributes(point), point, whole(point.value)?);
        let numbers = || family.points.iter().filter_map(point).collect();
        let data = match family.kind {
            FamilyKind::Counter => sum(numbers()),
            FamilyKind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
            FamilyKind::Histogram { .. } => {
                let point = |point| self.waits(attributes(point), point);
                let data_points = family.points.iter().filter_map(point).collect();
                let aggregation_temporality = AggregationTemporality::Cumulative as i32;
                Data::Histogram(Histogram { data_points, aggregation_temporality })
            }
        };
        metric(family.dotted, family.help, family.unit.ucum(), data)
    }

    /// Points by command and by all other labels. A group that loses its place ends a series, and
    /// no sum of several series decreases.
    /// and no sum of several runs backwards.
    fn container(&self, points: &[(Vec<KeyValue>, &Point)]) -> Metric {
        let point = |(attributes, point): &(Vec<KeyValue>, &Point)| {
            let Value::Ns(ns) = point.value else { return None };
            let seconds = Number::AsDouble(ns as f64 / 1e9);
            self.point(attributes.clone(), point, seconds)
        };
        let data = sum(points.iter().filter_map(point).collect());
        metric("container.cpu.time", "Total CPU time consumed.", "s", data)
    }

    /// A point; `None`: the clock is before 1970.
    fn point(
        &self,
        attributes: Vec<KeyValue>,
        point: &Point,
        value: Number,
    ) -> Option<NumberDataPoint> {
        let (start_time_unix_nano, time_unix_nano) = self.times(point)?;
        let value = Some(value);
        Some(NumberDataPoint { attributes, start_time_unix_nano, time_unix_nano, value })
    }

    /// The same of waits by size.
    fn waits(&self, attributes: Vec<KeyValue>, point: &Point) -> Option<HistogramDataPoint> {
        let Value::Waits(waits) = &point.value else { return None };
        let (start_time_unix_nano, time_unix_nano) = self.times(point)?;
        Some(HistogramDataPoint {
            start_time_unix_nano,
            time_unix_nano,
            count: waits.count(),
            sum: Some(waits.ns as f64),
            bucket_counts: waits.counts.to_vec(),
            explicit_bounds: (0..).map_while(upper_ns).map(|ns| ns as f64).collect(),
            attributes,
        })
    }

    /// When a point was 0, and its time; `None`: the clock is before 1970.
    fn times(&self, point: &Point) -> Option<(u64, u64)> {
        let wall = |at_ns| u64::try_from(self.clock.wall_ns(at_ns)).ok();
        // The protocol's value for no start time is 0.
        let start = point.created_ns.map_or(Some(0), wall)?;
        Some((start, wall(self.boundary_ns)?))
    }
}

/// A whole number; `None`: beyond 2^63 ns, which is 292 years of CPU time, the protocol has no
/// value. Waits by size are no number.
fn whole(value: Value) -> Option<Number> {
    let value = match value {
        Value::Waits(_) => return None,
        Value::Ns(ns) => i64::try_from(ns),
        Value::Count(count) => i64::try_from(count),
    };
    value.ok().map(Number::AsInt)
}

fn sum(data_points: Vec<NumberDataPoint>) -> Data {
    let aggregation_temporality = AggregationTemporality::Cumulative as i32;
    Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true })
}

fn metric(name: &str, description: &str, unit: &str, data: Data) -> Metric {
    Metric {
        name: name.into(),
        description: description.into(),
        unit: unit.into(),
        data: Some(data),
    }
}
