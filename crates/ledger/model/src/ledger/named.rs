//! The container, pod or systemd unit that a control group belongs to.

use std::sync::Arc;

/// Container runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
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
    /// All runtimes.
    pub const ALL: &[Runtime] = <Runtime as strum::VariantArray>::VARIANTS;

    /// Name of the runtime.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The runtime with this name.
    pub fn of_name(name: &str) -> Option<Runtime> {
        Runtime::ALL.iter().copied().find(|runtime| runtime.name() == name)
    }
}

/// The owner of a control group, as far as its path and files tell. Names are raw and must be
/// escaped before they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Named {
    /// systemd unit, as systemctl names it.
    pub unit: Option<String>,
    /// Container: its name, or the first twelve digits of its id.
    pub container: Option<String>,
    /// Pod: its name, or its UID.
    pub pod: Option<String>,
    /// Kubernetes namespace of the pod.
    pub namespace: Option<String>,
    /// Runtime of the container.
    pub runtime: Option<Runtime>,
}

/// A control group with its path and owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupName {
    /// Kernel id: the inode number of its directory.
    pub id: u64,
    /// Path below the root of its hierarchy; raw bytes.
    pub path: Vec<u8>,
    /// The container, pod or unit it belongs to.
    pub named: Arc<Named>,
}

/// Name in totals of tasks whose control group is unknown.
pub const UNKNOWN: &str = "(control group not read)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_found_by_its_name() {
        for &runtime in Runtime::ALL {
            assert_eq!(Runtime::of_name(runtime.name()), Some(runtime));
        }
        assert_eq!(Runtime::of_name("rkt"), None);
    }
}
