//! A group for one run, removed at its end. While processes are in it, it stays with its limits.
//! The next exactop then removes it, once it is empty and not locked.

use super::maker::{hold_left_behind, make_and_hold, own_name};
use crate::set::failed;
use crate::{CgroupError, Hierarchy, Version};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAKE: &str = "make the cgroup";

/// A group that is removed when this is dropped.
#[derive(Debug)]
pub struct Transient {
    hierarchy: Hierarchy,
    directory: PathBuf,
    /// Its directories, locked so that others see that this process lives.
    held: Vec<File>,
}

impl Transient {
    /// Makes a group named after this process at a permitted place. On v1 it is below the own
    /// group. On v2 a group with processes has no groups with controllers below it, so the new
    /// group is a sibling or further up.
    ///
    /// # Errors
    /// Why no group can be made, and what would permit it.
    pub fn new(hierarchy: &Hierarchy) -> Result<Transient, CgroupError> {
        let parent = parent(hierarchy)?;
        clean(hierarchy, &parent);
        let directory = parent.join(own_name());
        let mut group = Transient { hierarchy: hierarchy.clone(), directory, held: Vec::new() };
        for place in hierarchy.places(&group.directory) {
            let made = make_and_hold(&place);
            group.held.extend(made.map_err(|error| failed(MAKE, place, error))?);
        }
        Ok(group)
    }

    /// Directory of the group.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Files to which a process writes `0` to enter the group.
    pub fn doors(&self) -> Result<Vec<File>, CgroupError> {
        doors(&self.hierarchy, &self.directory)
    }

    /// Processes that are still in the group.
    pub fn processes(&self) -> Vec<u32> {
        Hierarchy::processes(&self.directory)
    }
}

/// Files to which a process writes `0` to enter a group.
pub fn doors(hierarchy: &Hierarchy, directory: &Path) -> Result<Vec<File>, CgroupError> {
    let open = |dir: PathBuf| {
        let path = dir.join("cgroup.procs");
        OpenOptions::new().write(true).open(&path).map_err(|error| failed("write to", path, error))
    };
    // A group made by others may have no counterpart in the cpuacct hierarchy.
    let is_there = |place: &PathBuf| place == directory || place.exists();
    hierarchy.places(directory).into_iter().filter(is_there).map(open).collect()
}

impl Hierarchy {
    /// Moves a process with all its threads to a group.
    ///
    /// # Errors
    /// [`CgroupError::File`], [`CgroupError::Move`].
    pub fn take_in(&self, directory: &Path, pid: u32) -> Result<(), CgroupError> {
        for mut door in doors(self, directory)? {
            door.write_all(pid.to_string().as_bytes()).map_err(|error| CgroupError::Move {
                pid,
                path: self.name(directory),
                error,
            })?;
        }
        Ok(())
    }
}

impl Drop for Transient {
    fn drop(&mut self) {
        for place in self.hierarchy.places(&self.directory) {
            // A group with processes stays; another process may have removed it.
            let _ = fs::remove_dir(place);
        }
    }
}

pub(super) fn make(directory: &Path) -> Result<(), CgroupError> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(failed(MAKE, directory, error))
        }
        _ => Ok(()),
    }
}

/// The group in which to make ours.
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

/// Removes empty groups that ended exactops have left. A group stays while it has processes,
/// because it holds their limits.
fn clean(hierarchy: &Hierarchy, parent: &Path) {
    let accounting = hierarchy.own_accounting_directory();
    for place in [Some(parent), accounting.as_deref()].into_iter().flatten() {
        for group in below(place) {
            let Some(held) = hold_left_behind(&group) else { continue };
            if !has_processes(&group) {
                remove(&group);
            }
            drop(held);
        }
    }
}

/// The groups directly below a group.
fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.map(|entry| entry.path()).collect()
}

/// True if a process is in the group or in a group below it.
fn has_processes(group: &Path) -> bool {
    !Hierarchy::processes(group).is_empty() || below(group).iter().any(|group| has_processes(group))
}

/// Removes a group with all groups below it. The kernel refuses to remove one with processes.
fn remove(group: &Path) {
    below(group).iter().for_each(|group| remove(group));
    let _ = fs::remove_dir(group);
}
