//! Groups of our own below one another, removed together.

use super::transient::{doors, make, Transient};
use crate::set::write;
use crate::{CgroupError, Hierarchy, Version};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the last of killed processes may take to leave a group.
const LEAVING: Duration = Duration::from_secs(2);

/// Groups below one of our own; those a killed program leaves behind are removed by the next.
#[derive(Debug)]
pub struct Nested {
    hierarchy: Hierarchy,
    top: Transient,
    /// In the order they were made.
    paths: Vec<String>,
}

impl Nested {
    /// Makes the group above all of them.
    ///
    /// # Errors
    /// As [`Transient::new`].
    pub fn new(hierarchy: &Hierarchy) -> Result<Nested, CgroupError> {
        let top = Transient::new(hierarchy)?;
        Ok(Nested { hierarchy: hierarchy.clone(), top, paths: Vec::new() })
    }

    /// Makes a group below it, such as `a` or, when that is there, `a/b`; its directory.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(&mut self, path: &str) -> Result<PathBuf, CgroupError> {
        let above = path.rsplit_once('/').map_or(PathBuf::new(), |(above, _)| above.into());
        if self.hierarchy.version == Version::V2 {
            // Groups below get a controller only if the one above hands it on.
            write(&self.top.directory().join(above), "cgroup.subtree_control", "+cpu")?;
        }
        let directory = self.directory(path);
        self.paths.push(path.into());
        for place in self.hierarchy.places(&directory) {
            make(&place)?;
        }
        Ok(directory)
    }

    /// The directory of a group.
    pub fn directory(&self, path: &str) -> PathBuf {
        self.top.directory().join(path)
    }

    /// Files that a process writes `0` to in order to be in a group.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn doors(&self, path: &str) -> Result<Vec<File>, CgroupError> {
        doors(&self.hierarchy, &self.directory(path))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        let end = Instant::now() + LEAVING;
        for path in self.paths.iter().rev() {
            for place in self.hierarchy.places(&self.directory(path)) {
                // Busy until the last has left; what stays, the next exactop removes.
                while fs::remove_dir(&place).is_err() && place.exists() {
                    if Instant::now() > end {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    }
}
