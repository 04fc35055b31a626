//! Formats that a client accepts, by its headers Accept and Accept-Encoding (RFC 9110, 12.5).

use crate::text::Format;

/// An item of such a header: value, parameters, and quality in thousandths.
struct Item<'a> {
    what: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: u32,
}

fn items(header: &str) -> impl Iterator<Item = Item<'_>> {
    header.split(',').map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let what = parts.next().unwrap_or("");
        let pairs = parts.filter_map(|part| part.split_once('='));
        let mut parameters: Vec<_> =
            pairs.map(|(k, v)| (k.trim(), v.trim().trim_matches('"'))).collect();
        let place = parameters.iter().position(|(name, _)| name.eq_ignore_ascii_case("q"));
        let quality = place.map_or(1000, |place| thousandths(parameters.remove(place).1));
        Item { what, parameters, quality }
    })
}

/// A q-value in thousandths. A value that does not parse counts as 0.
fn thousandths(quality: &str) -> u32 {
    let value: f64 = quality.parse().unwrap_or(0.0);
    (value.clamp(0.0, 1.0) * 1000.0) as u32
}

/// Message of Prometheus's protocol buffers.
const MESSAGE: (&str, &str) = ("proto", "io.prometheus.client.MetricFamily");

/// Protocol buffers or OpenMetrics if the client names them and prefers them at least as much as the
/// other formats.
pub(super) fn format(accept: Option<&str>) -> Format {
    let (mut messages, mut open, mut plain) = (0, 0, 0);
    for item in accept.into_iter().flat_map(items) {
        let version = item.parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case("version"));
        let version = version.map(|&(_, version)| version);
        let what = item.what.to_ascii_lowercase();
        match (what.as_str(), version) {
            // 0.0.1 was a draft of the same format.
            ("application/openmetrics-text", None | Some("1.0.0" | "0.0.1")) => {
                open = open.max(item.quality);
            }
            ("application/vnd.google.protobuf", _) => {
                let has = |pair| item.parameters.contains(&pair);
                if has(MESSAGE) && has(("encoding", "delimited")) {
                    messages = messages.max(item.quality);
                }
            }
            ("text/plain", None | Some("0.0.4")) => plain = plain.max(item.quality),
            _ => {}
        }
    }
    match open > 0 && open >= plain {
        _ if messages > 0 && messages >= open.max(plain) => Format::Protobuf,
        true => Format::OpenMetrics,
        false => Format::Prometheus,
    }
}

/// True if the client accepts gzip.
pub(super) fn gzip(accept_encoding: Option<&str>) -> bool {
    let named =
        |item: &Item| ["gzip", "x-gzip", "*"].iter().any(|n| item.what.eq_ignore_ascii_case(n));
    let mut fit: Vec<Item> = accept_encoding.into_iter().flat_map(items).filter(named).collect();
    // An item for gzip itself overrides one for all encodings.
    fit.sort_by_key(|item| item.what == "*");
    fit.first().is_some_and(|item| item.quality > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_sent_to_clients_that_prefer_it() {
        use Format::{OpenMetrics, Prometheus, Protobuf};
        let with_native_histograms = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5";
        let prometheus_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format_wanted) in [
            (None, Prometheus),
            (Some("*/*"), Prometheus),
            (Some("text/html"), Prometheus),
            (Some(prometheus_2), OpenMetrics),
            (Some(with_native_histograms), Protobuf),
            (Some("application/vnd.google.protobuf;proto=other;encoding=delimited"), Prometheus),
            (Some("application/vnd.google.protobuf;encoding=text"), Prometheus),
            (Some("application/openmetrics-text"), OpenMetrics),
            (Some("Application/OpenMetrics-Text; version=\"1.0.0\""), OpenMetrics),
            (Some("application/openmetrics-text;version=2.0.0"), Prometheus),
            (Some("application/openmetrics-text;q=0"), Prometheus),
            (Some("application/openmetrics-text;q=nan"), Prometheus),
            (Some("text/plain;version=0.0.4,application/openmetrics-text;q=0.3"), Prometheus),
            (Some(";;,,;q=,=;q"), Prometheus),
        ] {
            assert_eq!(format(accept), format_wanted, "{accept:?}");
        }
    }

    #[test]
    fn pages_are_compressed_for_clients_that_accept_gzip() {
        for (encoding, wanted) in [
            (None, false),
            (Some("gzip"), true),
            (Some("deflate, GZIP;q=0.5"), true),
            (Some("gzip;q=0"), false),
            (Some("gzip;q=0, *"), false),
            (Some("*"), true),
            (Some("identity"), false),
        ] {
            assert_eq!(gzip(encoding), wanted, "{encoding:?}");
        }
    }
}
