//! Whose a control group is: a container's, with its pod; a unit's.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_found_by_their_names() {
        for runtime in Runtime::ALL {
            assert_eq!(Runtime::of_name(runtime.name()), Some(runtime));
        }
        assert_eq!(Runtime::of_name("rkt"), None);
    }
}
