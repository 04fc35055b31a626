//! Docker: reads a container's file (config.v2.json below its data root).

use super::files::Files;
use super::id::is_id;
use super::ContainerFacts;
use serde::Deserialize;
use std::collections::HashMap;

/// Longest file, bytes: it has the environment and all mounts of a container.
const LIMIT: u64 = 1 << 20;

#[derive(Deserialize)]
struct Kept {
    #[serde(rename = "Name")]
    name: Option<String>,
    #[serde(rename = "Config")]
    config: Option<Config>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "Labels")]
    labels: Option<HashMap<String, String>>,
}

/// Name by Docker, or by Kubernetes if that made the container (dockershim, cri-dockerd).
pub fn of_id(id: &str, files: &dyn Files) -> Option<ContainerFacts> {
    if !is_id(id) {
        return None;
    }
    let directory = format!("/var/lib/docker/containers/{id}");
    let text = files.read(&directory, "config.v2.json", LIMIT)?;
    let kept: Kept = serde_json::from_slice(&text).ok()?;
    let labels = kept.config.and_then(|config| config.labels);
    let label = |name: &str| labels.as_ref()?.get(name).filter(|label| !label.is_empty()).cloned();
    let name = kept.name.map(|name| name.trim_start_matches('/').to_string());
    Some(ContainerFacts {
        runtime: None,
        container: label("io.kubernetes.container.name").or(name.filter(|name| !name.is_empty())),
        pod: label("io.kubernetes.pod.name"),
        namespace: label("io.kubernetes.pod.namespace"),
    })
}
