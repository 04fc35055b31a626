//! Lists all groups with the values of their files.

use crate::find::number_in;
use crate::{Hierarchy, Version};
use exactop_model::cgroups::GroupSample;
use exactop_model::text::escape::escape;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

/// Most groups; more mean a loop or a fault.
const MOST: usize = 100_000;

impl Hierarchy {
    /// All groups, the root first. A group that is removed meanwhile is left out.
    pub fn groups(&self) -> Vec<GroupSample> {
        let mut groups = Vec::new();
        let mut left = vec![self.root.clone()];
        while let Some(directory) = left.pop() {
            if groups.len() >= MOST {
                break;
            }
            groups.extend(self.group(&directory));
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let below = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
            left.extend(below.map(|e| e.path()));
        }
        groups
    }

    /// Ids and paths (`/` or `/a/b`; raw bytes) of all groups, without opening their files.
    pub fn ids(&self) -> Vec<(u64, Vec<u8>)> {
        let mut ids = Vec::new();
        let mut left: Vec<(u64, PathBuf)> =
            Hierarchy::id(&self.root).map(|id| (id, self.root.clone())).into_iter().collect();
        while let Some((id, directory)) = left.pop() {
            if ids.len() >= MOST {
                break;
            }
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let below = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
            left.extend(below.map(|entry| (entry.ino(), entry.path())));
            ids.push((id, self.name(&directory).into_os_string().into_vec()));
        }
        ids
    }

    /// Number of the hierarchy in /proc/PID/cgroup.
    pub fn number(&self) -> Option<u32> {
        let controller = (self.version == Version::V1).then_some("cpu");
        number_in(&fs::read("/proc/self/cgroup").ok()?, controller)
    }

    fn group(&self, directory: &Path) -> Option<GroupSample> {
        let id = Hierarchy::id(directory)?;
        let max = self.max(directory);
        let pressure = fs::read_to_string(directory.join("cpu.pressure")).unwrap_or_default();
        Some(GroupSample {
            name: escape(self.name(directory).as_os_str().as_bytes()),
            id: Some(id),
            stat: self.cpu_stat(directory),
            weight: self.weight(directory),
            max: max.map(|max| max.to_string()),
            allowed_cpus: max.and_then(|max| max.cpus()),
            cpus: self.effective_cpus(directory),
            pressure_some_ns: total(&pressure, "some"),
            pressure_full_ns: total(&pressure, "full"),
            processes: fs::read(directory.join("cgroup.procs"))
                .ok()
                .map(|text| text.iter().filter(|&&b| b == b'\n').count() as u64),
        })
    }

    /// cpuset.cpus.effective; on v1 that of the group with the same path in the cpuset hierarchy,
    /// if it exists.
    fn effective_cpus(&self, directory: &Path) -> Option<String> {
        let read = |dir: PathBuf, file| {
            let text = fs::read_to_string(dir.join(file)).ok()?;
            Some(text.trim().to_string()).filter(|cpus| !cpus.is_empty())
        };
        read(directory.into(), "cpuset.cpus.effective").or_else(|| {
            let below = directory.strip_prefix(&self.root).ok()?;
            read(self.cpusets.as_ref()?.join(below), "cpuset.effective_cpus")
        })
    }
}

/// The `total` of a line such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, us
/// (Documentation/accounting/psi.rst).
fn total(pressure: &str, line: &str) -> Option<u64> {
    let figures = pressure.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(' '))?;
    let (_, total) = figures.rsplit_once("total=")?;
    total.trim().parse::<u64>().ok()?.checked_mul(1000)
}
