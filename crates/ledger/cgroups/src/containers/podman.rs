//! podman: reads the list of root's containers, which is in one place (containers-storage.conf(5)).

use super::files::Files;
use super::id::is_id;
use super::ContainerFacts;
use serde::Deserialize;

/// Longest list, bytes; for a thousand containers it has some hundred kilobytes.
const LIMIT: u64 = 8 << 20;
const STORAGE: &str = "/var/lib/containers/storage/overlay-containers";

#[derive(Deserialize)]
struct Listed {
    id: Option<String>,
    names: Option<Vec<String>>,
}

/// Name of a container of root's. Containers of other users have their files in homes, where the
/// user can write anything, so they are named by their id.
pub fn of_id(id: &str, files: &dyn Files) -> Option<ContainerFacts> {
    if !is_id(id) {
        return None;
    }
    // The second list has containers made with --rm.
    ["containers.json", "volatile-containers.json"].iter().find_map(|list| {
        let text = files.read(STORAGE, list, LIMIT)?;
        let listed: Vec<Listed> = serde_json::from_slice(&text).ok()?;
        let of_id = listed.into_iter().find(|one| one.id.as_deref() == Some(id))?;
        let container = of_id.names.and_then(|names| names.into_iter().find(|n| !n.is_empty()));
        Some(ContainerFacts { container, ..ContainerFacts::default() })
    })
}
