//! Finds the control groups of the cpu controller.

use crate::mountinfo::{self, mounts, Mount};
use crate::CgroupError;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Version of the control-group interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 1: each controller has a hierarchy of its own.
    V1,
    /// Version 2: one hierarchy for all controllers.
    V2,
}

/// The hierarchy with the cpu controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Its interface.
    pub version: Version,
    /// Directory of its root.
    pub root: PathBuf,
    /// Directory of the cpuacct hierarchy's root, on v1.
    pub accounting: Option<PathBuf>,
    /// Directory of the cpuset hierarchy's root, on v1.
    pub cpusets: Option<PathBuf>,
    /// Path of this process's group below the root: `/` or `/a/b`.
    pub own: PathBuf,
    /// Path of this process's group in the cpuacct hierarchy, which may differ.
    pub own_accounting: PathBuf,
}

/// The mount of the v1 hierarchy with this controller.
pub fn v1_mount<'a>(mountinfo: &'a str, controller: &str) -> Option<Mount<'a>> {
    let has_it = |m: &Mount| m.options.split(',').any(|option| option == controller);
    mounts(mountinfo).find(|m| m.kind == "cgroup" && has_it(m))
}

/// True if v1 has the cpu controller on this machine; its groups then count, not those of v2.
///
/// # Errors
/// [`CgroupError::Unreadable`].
pub fn cpu_controller_is_v1() -> Result<bool, CgroupError> {
    Ok(v1_mount(&our_mounts()?, "cpu").is_some())
}

/// The mount of the v2 hierarchy with the cpu controller. The path of a mount that another mount
/// covers lacks its files.
fn v2_mount(mountinfo: &str) -> Result<Option<Mount<'_>>, CgroupError> {
    let mut silent = None;
    for mount in mounts(mountinfo).filter(|m| m.kind == "cgroup2") {
        let file = Path::new(mount.point).join("cgroup.controllers");
        match mountinfo::text(&file) {
            Ok(controllers) if controllers.split_whitespace().any(|c| c == "cpu") => {
                return Ok(Some(mount));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => silent = Some(unreadable(&file)(error)),
        }
    }
    silent.map_or(Ok(None), Err)
}

/// The groups of a process; empty on a kernel without control groups, which lacks this file.
fn groups_in(path: &Path) -> Result<Vec<u8>, CgroupError> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(unreadable(path)),
    }
}

fn our_mounts() -> Result<String, CgroupError> {
    mountinfo::ours().map_err(unreadable(Path::new(mountinfo::OURS)))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> CgroupError + '_ {
    |error| CgroupError::Unreadable { path: path.into(), error }
}

impl Hierarchy {
    /// The hierarchy of this machine.
    ///
    /// # Errors
    /// [`CgroupError::NoController`], [`CgroupError::Unreadable`].
    pub fn of_this_machine() -> Result<Hierarchy, CgroupError> {
        Hierarchy::from(&our_mounts()?, &groups_in(Path::new("/proc/self/cgroup"))?)
    }

    /// The hierarchy from the content of /proc/self/mountinfo and /proc/self/cgroup.
    ///
    /// # Errors
    /// [`CgroupError::NoController`]; [`CgroupError::Unreadable`] if a hierarchy that may have the
    /// controller cannot be read.
    pub fn from(mountinfo: &str, groups: &[u8]) -> Result<Hierarchy, CgroupError> {
        let v1 = |controller| v1_mount(mountinfo, controller);
        if let Some(mount) = v1("cpu") {
            return Ok(Hierarchy {
                version: Version::V1,
                root: mount.point.into(),
                accounting: v1("cpuacct").map(|m| m.point.into()),
                cpusets: v1("cpuset").map(|m| m.point.into()),
                own: own(groups, Some("cpu"), mount.root),
                own_accounting: v1("cpuacct")
                    .map_or("/".into(), |m| own(groups, Some("cpuacct"), m.root)),
            });
        }
        let mount = v2_mount(mountinfo)?.ok_or(CgroupError::NoController {
            advice: "mount cgroup2 at /sys/fs/cgroup, on a kernel with CONFIG_CGROUP_SCHED",
        })?;
        Ok(Hierarchy {
            version: Version::V2,
            root: mount.point.into(),
            accounting: None,
            cpusets: None,
            own: own(groups, None, mount.root),
            own_accounting: "/".into(),
        })
    }

    /// Directory of a group. The path may be that of /proc/PID/cgroup (`/a/b`), relative to the
    /// root (`a/b`), or below the mount.
    ///
    /// # Errors
    /// [`CgroupError::NoGroup`].
    pub fn directory(&self, path: &Path) -> Result<PathBuf, CgroupError> {
        let below = path.strip_prefix(&self.root).or_else(|_| path.strip_prefix("/"));
        let dir = self.root.join(below.unwrap_or(path));
        let climbs = path.components().any(|c| c == std::path::Component::ParentDir);
        match dir.join("cgroup.procs").exists() && !climbs {
            true => Ok(dir),
            false => Err(CgroupError::NoGroup { path: path.into() }),
        }
    }

    /// Directory of a process's group.
    ///
    /// # Errors
    /// [`CgroupError::NoController`]; [`CgroupError::Unreadable`], also if the process has exited.
    pub fn directory_of(&self, pid: u32) -> Result<PathBuf, CgroupError> {
        let path = PathBuf::from(format!("/proc/{pid}/cgroup"));
        let groups = fs::read(&path).map_err(unreadable(&path))?;
        Ok(Hierarchy::from(&our_mounts()?, &groups)?.own_directory())
    }

    /// Directory of this process's group.
    pub fn own_directory(&self) -> PathBuf {
        joined(&self.root, &self.own)
    }

    /// Directory of a group in the cpuacct hierarchy: the one with the same path, if it exists.
    /// Otherwise a group below this process's own group has the same place below that group there,
    /// like the groups of [`Transient`](crate::Transient).
    pub fn accounting_of(&self, directory: &Path) -> Option<PathBuf> {
        let root = self.accounting.as_ref()?;
        let same = root.join(directory.strip_prefix(&self.root).ok()?);
        match directory.strip_prefix(self.own_directory()) {
            Ok(below) if !same.exists() => Some(joined(root, &self.own_accounting).join(below)),
            _ => Some(same),
        }
    }

    /// Directories of a group: in the cpu hierarchy and, if different, in the cpuacct hierarchy.
    #[cfg(feature = "change")]
    pub(crate) fn places(&self, directory: &Path) -> Vec<PathBuf> {
        let accounting = self.accounting_of(directory).filter(|other| other != directory);
        [Some(directory.to_path_buf()), accounting].into_iter().flatten().collect()
    }

    /// Directory of this process's group in the cpuacct hierarchy, if that is another hierarchy.
    #[cfg(feature = "change")]
    pub(crate) fn own_accounting_directory(&self) -> Option<PathBuf> {
        let directory = joined(self.accounting.as_ref()?, &self.own_accounting);
        (directory != self.own_directory()).then_some(directory)
    }

    /// Path of a group below the root: `/` or `/a/b`.
    pub fn name(&self, directory: &Path) -> PathBuf {
        Path::new("/").join(directory.strip_prefix(&self.root).unwrap_or(directory))
    }

    /// Kernel id of a group: its inode number, as in the ledger.
    pub fn id(directory: &Path) -> Option<u64> {
        fs::metadata(directory).ok().map(|m| m.ino())
    }
}

/// Directory of a group (`/` or `/a/b`) below the mount of its hierarchy.
fn joined(root: &Path, group: &Path) -> PathBuf {
    root.join(group.strip_prefix("/").unwrap_or(group))
}

/// A process's group from the content of its /proc/PID/cgroup: in the v1 hierarchy with
/// `controller`, or in v2 (cgroups(7): lines `id:controllers:path`; v2 has id 0 and no
/// controllers).
pub fn path_in<'a>(groups: &'a [u8], controller: Option<&str>) -> Option<&'a [u8]> {
    line_in(groups, controller).map(|(_, path)| path)
}

/// Number of the hierarchy that [`path_in`] looks for.
pub(crate) fn number_in(groups: &[u8], controller: Option<&str>) -> Option<u32> {
    std::str::from_utf8(line_in(groups, controller)?.0).ok()?.parse().ok()
}

fn line_in<'a>(groups: &'a [u8], controller: Option<&str>) -> Option<(&'a [u8], &'a [u8])> {
    groups.split(|&b| b == b'\n').find_map(|line| {
        let mut parts = line.splitn(3, |&b| b == b':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_wanted = match controller {
            Some(name) => controllers.split(|&b| b == b',').any(|c| c == name.as_bytes()),
            None => id == b"0" && controllers.is_empty(),
        };
        is_wanted.then_some((id, path))
    })
}

/// This process's group. A group outside the mount, as in a container, counts as the root.
pub(crate) fn own(groups: &[u8], controller: Option<&str>, mounted: &str) -> PathBuf {
    let path = path_in(groups, controller).unwrap_or(b"/");
    let below = path.strip_prefix(mounted.trim_end_matches('/').as_bytes()).unwrap_or(b"/");
    let first = below.iter().position(|&b| b != b'/').unwrap_or(below.len());
    Path::new("/").join(OsStr::from_bytes(&below[first..]))
}
