//! Reports: their content, and their delivery.

use crate::made::{ran, Cgroups, Did, Made, SECOND, WALL};
use crate::receiver;
use exactop_metrics::otlp::{request, Host, Sender};
use exactop_metrics::Settings;
use exactop_testkit::wait;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{any_value, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{
    metric::Data, number_data_point::Value, NumberDataPoint, ResourceMetrics,
};
use prost::Message;
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

fn host() -> Host {
    Host { id: Some("0123".into()), name: Some("here".into()) }
}

/// A pod's container and a unit, two windows, scraped after the first.
fn made() -> Made {
    let mut made = Made::new(Settings::default(), Cgroups::pod_and_unit());
    let cron = Did { cgroup: Some(2), ..ran("cron", 700_000_001) };
    for _ in 0..2 {
        made.window(&[ran("nginx", 1_500_000_003), cron.clone()]);
        made.metrics.look();
    }
    made
}

fn report(made: &Made) -> Vec<ResourceMetrics> {
    let bytes = request(&made.metrics, &host());
    ExportMetricsServiceRequest::decode(&bytes[..]).expect("a request").resource_metrics
}

fn words(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let word = |a: &KeyValue| match a.value.clone().and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => (a.key.clone(), text),
        other => panic!("{other:?}"),
    };
    attributes.iter().map(word).collect()
}

fn points(resource: &ResourceMetrics, name: &str) -> Vec<NumberDataPoint> {
    let metrics = resource.scope_metrics.iter().flat_map(|scope| &scope.metrics);
    let found = metrics.filter(|metric| metric.name == name);
    let data = found.filter_map(|metric| metric.data.clone());
    data.flat_map(|data| match data {
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "cumulative");
            sum.data_points
        }
        Data::Gauge(gauge) => gauge.data_points,
        other => panic!("{other:?}"),
    })
    .collect()
}

fn whole(point: &NumberDataPoint) -> i64 {
    match point.value {
        Some(Value::AsInt(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_report_sums_up_as_the_page_does() {
    let made = made();
    let report = report(&made);
    let whose = words(&report[0].resource.as_ref().expect("a resource").attributes);
    assert_eq!((&whose["host.id"], &whose["service.name"]), (&"0123".into(), &"exactop".into()));
    let sum = |name| points(&report[0], name).iter().map(whole).sum::<i64>();
    assert_eq!(sum("exactop.cpu.time"), 2 * 4 * SECOND as i64);
    assert_eq!(sum("exactop.group.cpu.time"), made.named_ns() as i64);
    assert_eq!(sum("exactop.group.cpu.time"), 2 * (1_500_000_003 + 700_000_001));
    assert_eq!(sum("exactop.group.exited_processes"), 4);
    assert_eq!(sum("exactop.residual"), 0);
}

#[test]
fn every_series_has_its_beginning_and_the_boundary() {
    let at = |seconds: u64| (WALL as u64) + seconds * SECOND;
    let report = report(&made());
    for point in points(&report[0], "exactop.cpu.time") {
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (at(100), at(102)));
    }
    for point in points(&report[0], "exactop.group.cpu.time") {
        let words = words(&point.attributes);
        let made_up = words.contains_key("exactop.group");
        assert_eq!(point.start_time_unix_nano, at(if made_up { 100 } else { 101 }), "{words:?}");
    }
    assert_eq!(points(&report[0], "exactop.boundary")[0].start_time_unix_nano, 0);
}

#[test]
fn containers_are_resources_by_the_conventions() {
    let report = report(&made());
    assert_eq!(report.len(), 2, "the host, and one container");
    let whose = words(&report[1].resource.as_ref().expect("a resource").attributes);
    assert_eq!(whose["k8s.namespace.name"], "shop");
    assert_eq!(whose["k8s.pod.name"], "cart-1");
    assert_eq!(whose["k8s.container.name"], "web");
    assert_eq!(whose["host.id"], "0123");
    let points = points(&report[1], "container.cpu.time");
    assert_eq!(points.len(), 1);
    assert_eq!(points[0].value, Some(Value::AsDouble(1.500000003)));
    assert_eq!(words(&points[0].attributes)["process.executable.name"], "nginx");
}

fn answer(status: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn a_report_is_sent_again_until_it_is_taken() {
    let partial =
        ExportMetricsPartialSuccess { rejected_data_points: 3, error_message: "\x1bno".into() };
    let partial = ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let (address, requests) = receiver::start(vec![
        Vec::new(),
        answer("503 Busy\r\nRetry-After: 0", b""),
        answer("200 OK", &partial),
    ]);
    let bytes = request(&made().metrics, &host());
    let wanted = bytes.clone();
    let report = Box::new(move || Some(bytes.clone()));
    let hour = Duration::from_secs(3600);
    let sender = Sender::start(&format!("http://{address}"), hour, report).expect("a sender");
    for _ in 0..2 {
        let request = requests.recv_timeout(wait::LIMIT).expect("a report");
        assert!(request.head.starts_with("post /v1/metrics http/1.1"), "{}", request.head);
        assert!(request.head.contains("content-type: application/x-protobuf"), "{}", request.head);
        assert!(request.head.contains("content-encoding: gzip"), "{}", request.head);
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&request.body[..]).read_to_end(&mut body).expect("gzip");
        assert_eq!(body, wanted);
    }
    wait::until("a report that is taken", || sender.status().sent == 1);
    let status = sender.status();
    assert_eq!((status.failed, status.rejected_points), (2, 3));
    assert_eq!(status.error.as_deref(), Some("3 points refused: \\x1bno"));
}

#[test]
fn a_refused_report_is_not_sent_again_early() {
    let (address, requests) = receiver::start(vec![answer("400 Bad", b""), answer("200 OK", b"")]);
    let report = Box::new(|| Some(vec![0]));
    let hour = Duration::from_secs(3600);
    let sender = Sender::start(&format!("http://{address}/x"), hour, report).expect("a sender");
    requests.recv_timeout(wait::LIMIT).expect("a report");
    wait::until("a refusal", || sender.status().failed == 1);
    assert!(sender.status().error.is_some_and(|error| error.contains("400")));
    // Longer than the pause after a failure.
    assert!(requests.recv_timeout(Duration::from_secs(3)).is_err());
    drop(sender);
}

#[test]
fn the_last_report_is_sent_at_once_and_waits_a_bounded_time() {
    let (address, requests) = receiver::start(vec![answer("200 OK", b""), answer("200 OK", b"")]);
    let report = Box::new(|| Some(vec![1]));
    let hour = Duration::from_secs(3600);
    let url = format!("http://{address}");
    let sender = Sender::start(&url, hour, report).expect("a sender");
    requests.recv_timeout(wait::LIMIT).expect("the first");
    let status = sender.finish(vec![2], wait::LIMIT);
    assert_eq!((status.sent, status.failed), (2, 0), "{status:?}");
    let mut body = Vec::new();
    let last = requests.recv_timeout(wait::LIMIT).expect("the last").body;
    flate2::read::GzDecoder::new(&last[..]).read_to_end(&mut body).expect("gzip");
    assert_eq!(body, [2]);
    // A listener that accepts no connection.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let sender = Sender::start(&url, hour, Box::new(|| None)).expect("a sender");
    let status = sender.finish(vec![2], Duration::from_millis(100));
    assert_eq!((status.sent, status.failed), (0, 0), "it did not wait until the sender gives up");
}
