//! containerd and CRI-O: reads a container's runtime configuration (config.json of the OCI), in
//! which both store Kubernetes names as annotations.

use super::files::Files;
use super::id::{is_id, is_plain};
use super::ContainerFacts;
use exactop_model::ledger::named::Runtime;
use serde::Deserialize;
use std::collections::HashMap;

/// Longest configuration, bytes: it has the environment, all mounts and the list of system calls.
const LIMIT: u64 = 1 << 20;
/// Directory of running containers of containerd, by its namespaces.
const CONTAINERD: &str = "/run/containerd/io.containerd.runtime.v2.task";
/// Directories of running containers of CRI-O, which uses podman's library.
const CRIO: [&str; 2] = [
    "/run/containers/storage/overlay-containers",
    "/var/lib/containers/storage/overlay-containers",
];
/// Name of the container that holds a pod's namespaces together; `crictl` has none for it.
const SANDBOX: &str = "(sandbox)";

#[derive(Deserialize)]
struct Config {
    annotations: Option<HashMap<String, String>>,
    linux: Option<Linux>,
}

#[derive(Deserialize)]
struct Linux {
    #[serde(rename = "cgroupsPath")]
    cgroups_path: Option<String>,
}

fn config(directory: &str, files: &dyn Files) -> Option<Config> {
    serde_json::from_slice(&files.read(directory, "config.json", LIMIT)?).ok()
}

impl Config {
    fn annotation(&self, name: &str) -> Option<String> {
        self.annotations.as_ref()?.get(name).filter(|text| !text.is_empty()).cloned()
    }

    /// Name by nerdctl or Kubernetes, from containerd's annotations.
    fn of_containerd(&self) -> ContainerFacts {
        let cri = |name: &str| self.annotation(&format!("io.kubernetes.cri.{name}"));
        let sandbox = cri("container-type").is_some_and(|kind| kind == "sandbox");
        ContainerFacts {
            runtime: None,
            container: cri("container-name")
                .or_else(|| self.annotation("nerdctl/name"))
                .or_else(|| sandbox.then(|| SANDBOX.into())),
            pod: cri("sandbox-name"),
            namespace: cri("sandbox-namespace"),
        }
    }
}

/// A container of containerd. Containers of Kubernetes are in its namespace `k8s.io`.
pub fn containerd(id: &str, files: &dyn Files) -> Option<ContainerFacts> {
    if !is_id(id) {
        return None;
    }
    let of = |namespace: &str| config(&format!("{CONTAINERD}/{namespace}/{id}"), files);
    let found = of("k8s.io").or_else(|| {
        let others = files.names(CONTAINERD).into_iter().filter(|name| name != "k8s.io");
        others.filter(|name| is_plain(name)).find_map(|name| of(&name))
    })?;
    Some(found.of_containerd())
}

/// A container whose group is /NAMESPACE/ID, by containerd's namespace and the given id (`ctr
/// run`), if containerd's configuration names this group.
pub fn plain_containerd(path: &str, files: &dyn Files) -> Option<ContainerFacts> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let (namespace, id) = (parts.next()?, parts.next()?);
    if !is_plain(namespace) || !is_plain(id) {
        return None;
    }
    let config = config(&format!("{CONTAINERD}/{namespace}/{id}"), files)?;
    let group = config.linux.as_ref()?.cgroups_path.as_deref()?;
    if group.trim_matches('/') != format!("{namespace}/{id}") {
        return None;
    }
    let known = config.of_containerd();
    let container = known.container.unwrap_or_else(|| id.into());
    Some(ContainerFacts { runtime: Some(Runtime::Containerd), container: Some(container), ..known })
}

/// A container of CRI-O.
pub fn crio(id: &str, files: &dyn Files) -> Option<ContainerFacts> {
    if !is_id(id) {
        return None;
    }
    let found = CRIO.iter().find_map(|kept| config(&format!("{kept}/{id}/userdata"), files))?;
    let own = |name: &str| found.annotation(&format!("io.kubernetes.{name}"));
    let sandbox = own("cri-o.ContainerType").is_some_and(|kind| kind == "sandbox");
    let name = own("container.name").filter(|_| !sandbox);
    Some(ContainerFacts {
        runtime: None,
        container: name.or_else(|| sandbox.then(|| SANDBOX.into())),
        pod: own("pod.name"),
        namespace: own("pod.namespace"),
    })
}
