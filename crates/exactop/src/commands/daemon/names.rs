//! The name under which the daemon reports its machine, and the host names to which its HTTP server
//! answers.

use super::values::text;
use crate::machine;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Settings of `[machine]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Host name; `None`: the kernel's.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "host")]
    pub host: Option<String>,
}

fn host<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    text(from, machine::parse).map(Some)
}

/// Settings of `[http]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Host names to which the metrics server answers, besides loopback names and its address.
    #[serde(deserialize_with = "hosts")]
    pub hosts: Vec<String>,
}

fn hosts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| exactop_http::parse(name).map_err(D::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::settings::read;

    const MANIFEST: &str = include_str!("../../../../../deploy/kubernetes/daemonset.yaml");

    /// The text of a block of the manifest (`key: |`), without its indentation.
    fn block(key: &str) -> String {
        let (_, text) = MANIFEST.split_once(&format!("{key}: |\n")).expect("such a key");
        let lines = text.lines().take_while(|line| line.starts_with("    "));
        lines.map(|line| format!("{}\n", &line[4..])).collect()
    }

    #[test]
    fn the_manifest_s_settings_can_be_used_and_its_probes_are_there() {
        let settings = read(block("config.toml").as_bytes()).expect("settings");
        assert!(settings.metrics.listen.is_some_and(|address| address.ip().is_unspecified()));
        // Prometheus addresses a pod by IP address.
        let address = settings.metrics.listen.expect("an address").ip();
        let hosts = exactop_http::Hosts::new(address, settings.http.hosts);
        assert!(hosts.has("10.244.1.17:9464") && !hosts.has("evil.example:9464"));
        for words in [
            "name: EXACTOP_HOST\n",
            "fieldPath: spec.nodeName\n",
            "startupProbe:\n            httpGet: {path: /healthz, port: metrics}\n",
            "livenessProbe:\n            httpGet: {path: /healthz, port: metrics}\n",
            "readinessProbe:\n            httpGet: {path: /readyz, port: metrics}\n",
        ] {
            assert!(MANIFEST.contains(words), "{words}");
        }
    }
}
