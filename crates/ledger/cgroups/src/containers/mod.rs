//! Names the container, pod, namespace and systemd unit of a control group ([`name`]). It uses the
//! group's path and files of runtimes, without a socket or a server.
//!
//! The files lie where containers are made, and their content may be hostile. No link is followed
//! unless root made it, reads are limited, and an id is checked before it becomes part of a path. A
//! container inside a container counts as the outer one, because the inner one can choose any name.
//! The same holds for the groups of a user's own systemd: their names have that systemd's name in
//! front, and no file of root's names them.

mod cri;
mod docker;
mod files;
mod id;
mod path;
mod podman;
mod pods;
mod systemd;

pub use files::{Files, Machine, READ};

use exactop_model::ledger::named::{Named, Runtime};
use path::{Container, GroupLocation};

/// Longest name, in characters; no runtime allows as many.
const LONGEST: usize = 256;

/// Names the group with this path (`/a/b`, below the root of its hierarchy).
pub fn name(path: &[u8], files: &dyn Files) -> Named {
    let text = String::from_utf8_lossy(path);
    let GroupLocation { unit, container, pod, .. } = path::parse(&text);
    let mut named = Named { unit: unit.map(cut), ..Named::default() };
    let found = container.and_then(|container| match container {
        Container::Called(runtime, name) => Some(ContainerFacts {
            runtime: Some(runtime),
            container: Some(name),
            ..ContainerFacts::default()
        }),
        Container::Id(runtimes, id) => Some(by_id(runtimes, id, files)),
        Container::OfUser(runtimes, name) => Some(ContainerFacts {
            runtime: only(runtimes),
            container: Some(name),
            ..ContainerFacts::default()
        }),
        Container::Perhaps => perhaps(&text, files),
    });
    if let Some(known) = found {
        named.runtime = known.runtime;
        named.container = known.container.map(cut);
        named.pod = known.pod.map(cut);
        named.namespace = known.namespace.map(cut);
    }
    if let (None, Some(pod)) = (&named.pod, pod) {
        let of_uid = id::is_uid(&pod).then(|| pods::of_uid(&pod, files)).flatten();
        let (namespace, name) = of_uid.unzip();
        named.namespace = named.namespace.or(namespace.map(cut));
        named.pod = Some(cut(name.unwrap_or(pod)));
    }
    named
}

/// True if only a container's id was found. A later attempt may find its files.
pub fn is_called_by_its_id(named: &Named) -> bool {
    let is_short = |name: &String| name.len() == 12 && name.bytes().all(|b| b.is_ascii_hexdigit());
    named.container.as_ref().is_some_and(is_short)
}

/// A container's names from a runtime's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContainerFacts {
    pub runtime: Option<Runtime>,
    pub container: Option<String>,
    pub pod: Option<String>,
    pub namespace: Option<String>,
}

/// Asks the runtimes that may have made the container. Without files its name is the beginning of
/// its id.
fn by_id(runtimes: &[Runtime], id: &str, files: &dyn Files) -> ContainerFacts {
    let asked = runtimes.iter().find_map(|&runtime| {
        let known = match runtime {
            Runtime::Docker => docker::of_id(id, files),
            Runtime::Containerd => cri::containerd(id, files),
            Runtime::CriO => cri::crio(id, files),
            Runtime::Podman => podman::of_id(id, files),
            Runtime::Nspawn | Runtime::Lxc | Runtime::Runc => None,
        };
        known.map(|known| ContainerFacts { runtime: Some(runtime), ..known })
    });
    let mut known = asked.unwrap_or_default();
    known.runtime = only(runtimes).or(known.runtime);
    known.container.get_or_insert_with(|| id::short(id));
    known
}

/// The runtime, if there is only one candidate.
fn only(runtimes: &[Runtime]) -> Option<Runtime> {
    match runtimes {
        [only] => Some(*only),
        _ => None,
    }
}

/// A group whose path names no runtime. containerd without CRI uses /NAMESPACE/ID, runc the
/// container's name; both keep a directory of that name while the container runs.
fn perhaps(path: &str, files: &dyn Files) -> Option<ContainerFacts> {
    cri::plain_containerd(path, files).or_else(|| {
        let last = path.rsplit('/').next().filter(|last| id::is_plain(last))?;
        let there = ["/run/runc", "/run/crun"].iter().any(|kept| files.has(kept, last));
        there.then(|| ContainerFacts {
            runtime: Some(Runtime::Runc),
            container: Some(last.into()),
            ..ContainerFacts::default()
        })
    })
}

fn cut(mut name: String) -> String {
    if let Some((at, _)) = name.char_indices().find(|(at, c)| at + c.len_utf8() > LONGEST) {
        name.truncate(at);
    }
    name
}

#[cfg(test)]
mod tests;
