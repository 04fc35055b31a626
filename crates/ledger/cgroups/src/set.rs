//! Sets the limits of a group.

use crate::{CgroupError, Hierarchy, Version};
use exactop_model::cgroups::limits::{shares_of_weight, Max};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Limits of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLimits {
    /// Weight, 1 to 10000.
    pub weight: Option<u64>,
    /// Quota.
    pub max: Option<Max>,
}

impl Hierarchy {
    /// Sets the weight.
    pub fn set_weight(&self, directory: &Path, weight: u64) -> Result<(), CgroupError> {
        let (file, value) = match self.version {
            Version::V2 => ("cpu.weight", weight),
            Version::V1 => ("cpu.shares", shares_of_weight(weight)),
        };
        self.limit(directory, file, &value.to_string(), || format!("set the weight to {weight} in"))
    }

    /// Sets the quota.
    ///
    /// # Errors
    /// The kernel's error: on v1 a group may not have more than the groups above it.
    pub fn set_max(&self, directory: &Path, max: Max) -> Result<(), CgroupError> {
        let set = |file, value: &str| {
            self.limit(directory, file, value, || format!("set the quota to {max} in"))
        };
        if self.version == Version::V2 {
            return set("cpu.max", &max.to_string());
        }
        // Remove the quota first: the kernel refuses a period that does not fit the present quota.
        set("cpu.cfs_quota_us", "-1")?;
        set("cpu.cfs_period_us", &max.period_us.to_string())?;
        let quota = max.quota_us.map_or("-1".into(), |us| us.to_string());
        set("cpu.cfs_quota_us", &quota)
    }

    /// Writes a limit. The error names the limit, whichever file has to be written for it.
    fn limit(
        &self,
        directory: &Path,
        file: &str,
        value: &str,
        what: impl FnOnce() -> String,
    ) -> Result<(), CgroupError> {
        let path = directory.join(file);
        fs::write(&path, value).map_err(|error| match self.name(directory) == Path::new("/") {
            true => CgroupError::Root { tried: what() },
            false => failed(&what(), path, error),
        })
    }
}

pub(crate) fn write(directory: &Path, file: &str, value: &str) -> Result<(), CgroupError> {
    let path = directory.join(file);
    fs::write(&path, value).map_err(|error| failed(&format!("write {value} to"), path, error))
}

pub(crate) fn failed(what: &str, path: impl Into<PathBuf>, error: io::Error) -> CgroupError {
    CgroupError::File { what: what.into(), path: path.into(), error }
}
