//! A group of our own for one run, removed at its end. What a killed exactop left behind is found
//! by its name and removed by the next.

use super::files::write;
use super::{failed, CgroupError, Hierarchy, Version};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// What our groups are called; a PID and its start time follow.
const PREFIX: &str = "exactop-run-";

/// A group that is removed when this is dropped.
#[derive(Debug)]
pub struct Transient {
    hierarchy: Hierarchy,
    directory: PathBuf,
}

impl Transient {
    /// Makes a group of this `name` where this process may: in v1 below its own, in v2, where a group with
    /// processes has no groups with controllers, beside it or above.
    ///
    /// # Errors
    /// Why there can be none, and what would permit it.
    pub fn new(hierarchy: &Hierarchy, name: &str) -> Result<Transient, CgroupError> {
        let parent = parent(hierarchy)?;
        clean(hierarchy, &parent);
        let directory = parent.join(name);
        make(&directory)?;
        let group = Transient { hierarchy: hierarchy.clone(), directory };
        if let Some(accounting) = group.accounting() {
            make(&accounting)?;
        }
        Ok(group)
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Files that a process writes `0` to in order to be in the group.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn doors(&self) -> Result<Vec<File>, CgroupError> {
        doors(&self.hierarchy, &self.directory)
    }

    /// Where cpuacct has it, if that is another place.
    fn accounting(&self) -> Option<PathBuf> {
        self.hierarchy.accounting_of(&self.directory).filter(|dir| *dir != self.directory)
    }

    /// Processes that are still in it.
    pub fn processes(&self) -> Vec<u32> {
        Hierarchy::processes(&self.directory)
    }
}

/// Files that a process writes `0` to in order to be in a group.
///
/// # Errors
/// What the kernel says.
pub fn doors(hierarchy: &Hierarchy, directory: &Path) -> Result<Vec<File>, CgroupError> {
    let accounting = hierarchy.accounting_of(directory).filter(|dir| dir != directory);
    let open = |dir: PathBuf| {
        let path = dir.join("cgroup.procs");
        OpenOptions::new().write(true).open(&path).map_err(|error| failed("write to", path, error))
    };
    [Some(directory.to_path_buf()), accounting].into_iter().flatten().map(open).collect()
}

impl Drop for Transient {
    fn drop(&mut self) {
        for directory in [Some(self.directory.clone()), self.accounting()].into_iter().flatten() {
            // Someone else may have removed it; with processes in it, the next exactop will.
            let _ = fs::remove_dir(directory);
        }
    }
}

pub(super) fn make(directory: &Path) -> Result<(), CgroupError> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(failed("make the cgroup", directory, error))
        }
        _ => Ok(()),
    }
}

/// The group to make ours in.
fn parent(hierarchy: &Hierarchy) -> Result<PathBuf, CgroupError> {
    let own = hierarchy.own_directory();
    if hierarchy.version == Version::V1 {
        return Ok(own);
    }
    let hands_out = |dir: &&Path| {
        let text = fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
        text.split_whitespace().any(|c| c == "cpu")
    };
    let inside = |dir: &&Path| dir.starts_with(&hierarchy.root);
    let found = own.ancestors().take_while(inside).find(hands_out).map(Path::to_path_buf);
    found.ok_or_else(|| CgroupError::NotHandedOut { top: hierarchy.root.clone() })
}

/// What a group of this process is called, so that another knows when it is left behind.
pub fn name() -> String {
    let me = std::process::id();
    format!("{PREFIX}{me}-{}", start_time(me).unwrap_or(0))
}

/// Removes groups of exactops that are gone. Processes that are still in one go to the group above,
/// where that may have any.
fn clean(hierarchy: &Hierarchy, parent: &Path) {
    let accounting = hierarchy.accounting_of(parent).filter(|dir| dir != parent);
    for place in [Some(parent.to_path_buf()), accounting].into_iter().flatten() {
        let entries = fs::read_dir(&place).into_iter().flatten().flatten();
        for entry in entries.filter(|e| is_left_behind(&e.file_name().to_string_lossy())) {
            remove(&place, &entry.path());
        }
    }
}

/// Removes a group with all below it; who is in one goes to `place`.
fn remove(place: &Path, group: &Path) {
    for below in fs::read_dir(group).into_iter().flatten().flatten() {
        if below.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(place, &below.path());
        }
    }
    for pid in Hierarchy::processes(group) {
        let _ = write(place, "cgroup.procs", &pid.to_string());
    }
    let _ = fs::remove_dir(group);
}

/// Whether a name is one of ours and whoever made it is gone.
fn is_left_behind(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let Some((pid, start)) = parts else { return false };
    let (Ok(pid), Ok(start)) = (pid.parse(), start.parse::<u64>()) else { return false };
    start_time(pid) != Some(start)
}

/// Field 22 of /proc/PID/stat (proc_pid_stat(5)), in ticks.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(19)?.parse().ok()
}
