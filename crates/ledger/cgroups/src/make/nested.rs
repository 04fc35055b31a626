//! Makes groups below one of our own groups, and removes them together.

use super::transient::{doors, make, Transient};
use crate::set::write;
use crate::{CgroupError, Hierarchy, Version};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest wait for killed processes to leave a group.
const LEAVING: Duration = Duration::from_secs(2);

/// Groups below one of our own. If exactop is killed, the next exactop removes them.
#[derive(Debug)]
pub struct Nested {
    hierarchy: Hierarchy,
    top: Transient,
    /// Paths in the order of making.
    paths: Vec<String>,
}

impl Nested {
    /// Makes the top group.
    ///
    /// # Errors
    /// As [`Transient::new`].
    pub fn new(hierarchy: &Hierarchy) -> Result<Nested, CgroupError> {
        let top = Transient::new(hierarchy)?;
        Ok(Nested { hierarchy: hierarchy.clone(), top, paths: Vec::new() })
    }

    /// Makes a group below the top, such as `a` or, if that exists, `a/b`, and returns its
    /// directory.
    pub fn add(&mut self, path: &str) -> Result<PathBuf, CgroupError> {
        let above = path.rsplit_once('/').map_or(PathBuf::new(), |(above, _)| above.into());
        if self.hierarchy.version == Version::V2 {
            // A group gets a controller only if the group above it delegates it.
            write(&self.top.directory().join(above), "cgroup.subtree_control", "+cpu")?;
        }
        let directory = self.directory(path);
        self.paths.push(path.into());
        for place in self.hierarchy.places(&directory) {
            make(&place)?;
        }
        Ok(directory)
    }

    /// Directory of a group.
    pub fn directory(&self, path: &str) -> PathBuf {
        self.top.directory().join(path)
    }

    /// Files to which a process writes `0` to enter a group.
    pub fn doors(&self, path: &str) -> Result<Vec<File>, CgroupError> {
        doors(&self.hierarchy, &self.directory(path))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        let end = Instant::now() + LEAVING;
        for path in self.paths.iter().rev() {
            for place in self.hierarchy.places(&self.directory(path)) {
                // A group is busy until its last process has left; the next exactop removes what
                // stays.
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
