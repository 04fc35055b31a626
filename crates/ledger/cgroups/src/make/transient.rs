//! A group of our own for one run, removed at its end. While processes are left in it, it stays, with
//! its limits: the next exactop removes those that are empty and that nobody holds.

use super::maker::{hold_left_behind, make_and_hold, own_name};
use crate::set::failed;
use crate::{CgroupError, Hierarchy, Version};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

const MAKE: &str = "make the cgroup";

/// A group that is removed when this is dropped.
#[derive(Debug)]
pub struct Transient {
    hierarchy: Hierarchy,
    directory: PathBuf,
    /// Its directories, locked, so that others see that we are there.
    held: Vec<File>,
}

impl Transient {
    /// Makes a group named after this process where it may: in v1 below its own, in v2, where a group
    /// with processes has no groups with controllers, beside it or above.
    ///
    /// # Errors
    /// Why there can be none, and what would permit it.
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
    let open = |dir: PathBuf| {
        let path = dir.join("cgroup.procs");
        OpenOptions::new().write(true).open(&path).map_err(|error| failed("write to", path, error))
    };
    // A group that others made may have no counterpart in cpuacct's hierarchy.
    let is_there = |place: &PathBuf| place == directory || place.exists();
    hierarchy.places(directory).into_iter().filter(is_there).map(open).collect()
}

impl Drop for Transient {
    fn drop(&mut self) {
        for place in self.hierarchy.places(&self.directory) {
            // With processes in it, it lasts; someone else may have removed it.
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

/// Removes groups of exactops that are gone, if nobody is in them: a limit lives as long as what it
/// limits.
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

/// The groups right below one.
fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.map(|entry| entry.path()).collect()
}

/// Whether anyone is in a group or in one below it.
fn has_processes(group: &Path) -> bool {
    !Hierarchy::processes(group).is_empty() || below(group).iter().any(|group| has_processes(group))
}

/// Removes a group with all below it. The kernel keeps one with processes.
fn remove(group: &Path) {
    below(group).iter().for_each(|group| remove(group));
    let _ = fs::remove_dir(group);
}
