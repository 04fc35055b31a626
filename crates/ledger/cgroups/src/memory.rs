//! Memory that this process may still use before a control group's limit kills it.

use crate::find::{own, v1_mount};
use crate::mountinfo::{self, mounts};
use std::fs;
use std::path::{Path, PathBuf};

/// The tightest memory limit on this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLeft {
    /// Memory left, bytes.
    pub bytes: u64,
    /// The limit, bytes.
    pub limit: u64,
    /// The group with the limit.
    pub group: PathBuf,
}

/// Files of one version: limit, use, and the prefix of names in memory.stat.
struct Files {
    limit: &'static str,
    used: &'static str,
    prefix: &'static str,
}

const V1: Files =
    Files { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", prefix: "total_" };
const V2: Files = Files { limit: "memory.max", used: "memory.current", prefix: "" };

/// The tightest limit of this process's group and the groups above it; `None` if no limit is known.
pub fn memory_left() -> Option<MemoryLeft> {
    left(&mountinfo::ours().ok()?, &fs::read("/proc/self/cgroup").ok()?)
}

fn left(mountinfo: &str, groups: &[u8]) -> Option<MemoryLeft> {
    let v1 = v1_mount(mountinfo, "memory").map(|m| (m, V1, Some("memory")));
    let v2 = || mounts(mountinfo).find(|m| m.kind == "cgroup2").map(|m| (m, V2, None));
    let (mount, files, controller) = v1.or_else(v2)?;
    let root = Path::new(mount.point);
    let group = own(groups, controller, mount.root);
    let group = root.join(group.strip_prefix("/").ok()?);
    let all = group.ancestors().take_while(|dir| dir.starts_with(root));
    all.filter_map(|dir| files.left(dir)).min_by_key(|left| left.bytes)
}

impl Files {
    /// Memory that the group's own limit leaves. The page cache can be reclaimed, so it counts as
    /// free.
    fn left(&self, group: &Path) -> Option<MemoryLeft> {
        let text = |file: &str| fs::read_to_string(group.join(file)).ok();
        let number = |file| text(file)?.trim().parse::<u64>().ok();
        // v2 has "max" for no limit.
        let limit = number(self.limit)?;
        let used = number(self.used)?;
        let stat = text("memory.stat")?;
        let cache = ["inactive_file", "active_file"].map(|name| {
            let name = format!("{}{name} ", self.prefix);
            stat.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse::<u64>().ok())
        });
        let cache: u64 = cache.into_iter().flatten().sum();
        let bytes = limit.saturating_sub(used.saturating_sub(cache));
        Some(MemoryLeft { bytes, limit, group: group.to_path_buf() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let dir = root.join(path);
        fs::create_dir_all(&dir).unwrap();
        for (file, text) in files {
            fs::write(dir.join(file), text).unwrap();
        }
    }

    #[test]
    fn the_tightest_limit_above_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let stat = "anon 5\ninactive_file 300\nactive_file 200\nfile 900\n";
        let v2 =
            |limit, used| [("memory.max", limit), ("memory.current", used), ("memory.stat", stat)];
        group(root, "a/b", &v2("max\n", "1000\n"));
        group(root, "a", &v2("4000\n", "1500\n"));
        let mount = format!("30 25 0:26 / {} rw - cgroup2 cgroup2 rw\n", root.display());
        let found = left(&mount, b"0::/a/b\n").unwrap();
        assert_eq!((found.bytes, found.limit, found.group), (3000, 4000, root.join("a")));
        group(root, "a/b", &v2("1200\n", "1000\n"));
        assert_eq!(left(&mount, b"0::/a/b\n").unwrap().bytes, 700);
        group(root, "a/b", &v2("100\n", "1000\n"));
        assert_eq!(left(&mount, b"0::/a/b\n").unwrap().bytes, 0, "over its limit already");
        assert_eq!(left(&mount, b"0::/c\n"), None);
    }

    #[test]
    fn version_one_has_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("memory.limit_in_bytes", "4000\n"),
            ("memory.usage_in_bytes", "1500\n"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200\n"),
        ];
        group(dir.path(), "m", &files);
        let mount = format!("30 25 0:26 / {} rw - cgroup cgroup rw,memory\n", dir.path().display());
        assert_eq!(left(&mount, b"4:memory:/m\n0::/\n").unwrap().bytes, 3000);
    }
}
