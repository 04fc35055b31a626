//! The control group a command runs in.

use super::condition::Condition;
use exactop_model::run::{CpuStat, Group as Report};
use exactop_sources::cgroupfs::{doors, CgroupError, Hierarchy, Max, Transient};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A group, made or joined.
pub struct Group {
    hierarchy: Hierarchy,
    directory: PathBuf,
    before: CpuStat,
    max: Option<Max>,
    /// Removed when this is dropped.
    own: Option<Transient>,
}

impl Group {
    /// The group the condition asks for, if any.
    ///
    /// # Errors
    /// Why it cannot be had, and what would permit it.
    pub fn of(condition: &Condition) -> Result<Option<Group>, CgroupError> {
        if !condition.wants_group() && condition.cgroup.is_none() {
            return Ok(None);
        }
        let hierarchy = Hierarchy::of_this_machine()?;
        let (directory, own) = match &condition.cgroup {
            Some(path) => (hierarchy.directory(path)?, None),
            None => {
                let own = Transient::new(&hierarchy)?;
                (own.directory().to_path_buf(), Some(own))
            }
        };
        if let Some(weight) = condition.weight {
            hierarchy.set_weight(&directory, weight)?;
        }
        if let Some(max) = condition.max {
            hierarchy.set_max(&directory, max)?;
        }
        let (before, max) = (hierarchy.cpu_stat(&directory), hierarchy.max(&directory));
        Ok(Some(Group { hierarchy, directory, before, max, own }))
    }

    /// Files that the command writes `0` to before it begins.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn doors(&self) -> Result<Vec<File>, CgroupError> {
        doors(&self.hierarchy, &self.directory)
    }

    /// From now on.
    pub fn begin_again(&mut self) {
        self.before = self.hierarchy.cpu_stat(&self.directory);
    }

    /// What it used, and how many of ours are still in it.
    pub fn report(&self) -> (Report, usize) {
        let report = Report {
            path: name(&self.hierarchy, &self.directory),
            stat: self.hierarchy.cpu_stat(&self.directory).since(&self.before),
            allowed_cpus: self.max.and_then(|max| max.cpus()),
            own: self.own.is_some(),
        };
        (report, self.own.as_ref().map_or(0, |own| own.processes().len()))
    }
}

fn name(hierarchy: &Hierarchy, directory: &Path) -> String {
    hierarchy.name(directory).to_string_lossy().into_owned()
}
