//! Setting what a group may use.

use crate::{CgroupError, Hierarchy, Version};
use exactop_model::limits::{shares_of_weight, Max};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

impl Hierarchy {
    /// Sets the weight.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_weight(&self, directory: &Path, weight: u64) -> Result<(), CgroupError> {
        match self.version {
            Version::V2 => write(directory, "cpu.weight", &weight.to_string()),
            Version::V1 => {
                let shares = shares_of_weight(weight);
                write(directory, "cpu.shares", &shares.to_string())
            }
        }
    }

    /// Sets the quota.
    ///
    /// # Errors
    /// What the kernel says: a group of v1 may not have more than those above it.
    pub fn set_max(&self, directory: &Path, max: Max) -> Result<(), CgroupError> {
        if self.version == Version::V2 {
            return write(directory, "cpu.max", &max.to_string());
        }
        // A quota that is shorter than the period's limit is refused, so the quota goes first.
        write(directory, "cpu.cfs_quota_us", "-1")?;
        write(directory, "cpu.cfs_period_us", &max.period_us.to_string())?;
        let quota = max.quota_us.map_or("-1".into(), |us| us.to_string());
        write(directory, "cpu.cfs_quota_us", &quota)
    }
}

/// Writes a file of a group.
pub(crate) fn write(directory: &Path, file: &str, value: &str) -> Result<(), CgroupError> {
    let path = directory.join(file);
    fs::write(&path, value).map_err(|error| failed(&format!("write {value} to"), path, error))
}

pub(crate) fn failed(what: &str, path: impl Into<PathBuf>, error: io::Error) -> CgroupError {
    CgroupError::File { what: what.into(), path: path.into(), error }
}
