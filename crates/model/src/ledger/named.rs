//! Whose a control group is: a container's, with its pod; a unit's.

use crate::owner::By;
use crate::text::escape::{escape, escape_str};
use std::sync::Arc;

/// What made a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Their names say it.
pub enum Runtime {
    Docker,
    Containerd,
    Podman,
    CriO,
    Nspawn,
    Lxc,
    Runc,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Runtime; 7] = [
        Runtime::Docker,
        Runtime::Containerd,
        Runtime::Podman,
        Runtime::CriO,
        Runtime::Nspawn,
        Runtime::Lxc,
        Runtime::Runc,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Runtime::Docker => "docker",
            Runtime::Containerd => "containerd",
            Runtime::Podman => "podman",
            Runtime::CriO => "cri-o",
            Runtime::Nspawn => "nspawn",
            Runtime::Lxc => "lxc",
            Runtime::Runc => "runc",
        }
    }

    /// The one of this name.
    pub fn of_name(name: &str) -> Option<Runtime> {
        Runtime::ALL.into_iter().find(|runtime| runtime.name() == name)
    }
}

/// Whose a control group is, as far as its path and files say. Names are as they were found: they are
/// escaped wherever they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Named {
    /// The unit of systemd, as systemctl calls it.
    pub unit: Option<String>,
    /// The container: its name, or the first twelve digits of its id.
    pub container: Option<String>,
    /// The pod: its name, or its UID.
    pub pod: Option<String>,
    /// The namespace of the pod.
    pub namespace: Option<String>,
    /// What made the container.
    pub runtime: Option<Runtime>,
}

/// A control group and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupName {
    /// The kernel's id: the inode number of its directory.
    pub id: u64,
    /// Its path below the root of its hierarchy; raw bytes.
    pub path: Vec<u8>,
    /// Whose it is.
    pub named: Arc<Named>,
}

/// Those of whose control group nobody knows what it is.
pub const UNKNOWN: &str = "(control group not read)";

impl GroupName {
    /// What it is summed under, escaped; `None`: it is in none.
    pub fn under(&self, by: By) -> Option<String> {
        match by {
            By::Cgroup => Some(escape(&self.path)),
            _ => self.named.under(by).map(|name| escape_str(&name)),
        }
    }
}

impl Named {
    /// What it is summed under, unescaped; `None`: it is in none. Containers and pods of pods are told
    /// apart by what they are in: NAMESPACE/POD/CONTAINER.
    pub fn under(&self, by: By) -> Option<String> {
        let inside = |outer: Option<String>, name: &String| match outer {
            Some(outer) => format!("{outer}/{name}"),
            None => name.clone(),
        };
        let pod = || self.pod.as_ref().map(|pod| inside(self.namespace.clone(), pod));
        match by {
            By::Container => self.container.as_ref().map(|name| inside(pod(), name)),
            By::Pod => pod(),
            By::Namespace => self.namespace.clone(),
            By::Unit => self.unit.clone(),
            By::User | By::Command | By::Cgroup | By::Process | By::Host => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pods_have_containers_of_one_name() {
        let app = |pod: &str| Named {
            container: Some("app".into()),
            pod: Some(pod.into()),
            namespace: Some("shop".into()),
            ..Named::default()
        };
        assert_eq!(app("web-0").under(By::Container).as_deref(), Some("shop/web-0/app"));
        assert_ne!(app("web-0").under(By::Container), app("web-1").under(By::Container));
        assert_eq!(app("web-0").under(By::Pod).as_deref(), Some("shop/web-0"));
        assert_eq!(app("web-0").under(By::Namespace), app("web-1").under(By::Namespace));
        let alone = Named { container: Some("db".into()), ..Named::default() };
        assert_eq!(alone.under(By::Container).as_deref(), Some("db"));
        assert_eq!((alone.under(By::Pod), alone.under(By::Unit)), (None, None));
    }

    #[test]
    fn runtimes_are_found_by_their_names() {
        for runtime in Runtime::ALL {
            assert_eq!(Runtime::of_name(runtime.name()), Some(runtime));
        }
        assert_eq!(Runtime::of_name("rkt"), None);
    }
}
