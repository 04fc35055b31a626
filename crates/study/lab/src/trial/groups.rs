//! Control groups of a trial, below one group that is removed with its content.

use crate::definition::Condition;
use exactop_cgroups::{CgroupError, Hierarchy, Nested};
use exactop_model::cgroups::limits::Max;
use std::fs::File;
use std::path::PathBuf;

/// Groups of a trial.
pub struct Groups {
    hierarchy: Hierarchy,
    nested: Nested,
    /// Directory of the first worker's group, if it has one.
    first: Option<PathBuf>,
}

/// Periods of a quota so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Periods {
    /// Periods in which the group wanted to run.
    pub all: u64,
    /// Periods in which it was throttled.
    pub throttled: u64,
}

impl Groups {
    /// Creates and limits the groups of a condition.
    ///
    /// # Errors
    /// What is not permitted, and what would permit it.
    pub fn new(hierarchy: &Hierarchy, condition: &Condition) -> Result<Groups, CgroupError> {
        let mut nested = Nested::new(hierarchy)?;
        // In the order of their paths: parents come first.
        for (path, group) in &condition.groups {
            let directory = nested.add(path)?;
            if let Some(weight) = group.weight {
                hierarchy.set_weight(&directory, weight)?;
            }
            if let Some(max) = group.max.as_deref().and_then(|max| max.parse::<Max>().ok()) {
                hierarchy.set_max(&directory, max)?;
            }
        }
        let first = condition.workers.first().and_then(|worker| worker.group.as_deref());
        let first = first.map(|path| nested.directory(path));
        Ok(Groups { hierarchy: hierarchy.clone(), nested, first })
    }

    /// Files into which a process writes `0` to enter the group.
    pub fn doors(&self, path: &str) -> Result<Vec<File>, CgroupError> {
        self.nested.doors(path)
    }

    /// Periods of the first worker's group; `None` if it has none or the kernel does not say.
    pub fn periods_of_first(&self) -> Option<Periods> {
        let stat = self.hierarchy.cpu_stat(self.first.as_ref()?);
        Some(Periods { all: stat.nr_periods?, throttled: stat.nr_throttled? })
    }

    /// Periods since `before`.
    pub fn periods_since(&self, before: Periods) -> Option<Periods> {
        let now = self.periods_of_first()?;
        Some(Periods {
            all: now.all.saturating_sub(before.all),
            throttled: now.throttled.saturating_sub(before.throttled),
        })
    }
}
