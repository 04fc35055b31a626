//! The control group in which a command runs.

use super::condition::Condition;
use crate::failure::complain;
use exactop_cgroups::{doors, CgroupError, Entrance, GroupLimits, Hierarchy, OwnGroup};
use exactop_model::cgroups::limits::Max;
use exactop_model::run::{CpuStat, RunGroup};
use std::path::{Path, PathBuf};

/// A control group that was made or joined.
pub struct CommandGroup {
    hierarchy: Hierarchy,
    directory: PathBuf,
    before: CpuStat,
    max: Option<Max>,
    /// A group of our own, removed on drop.
    own: Option<OwnGroup>,
}

impl CommandGroup {
    /// The group that the condition asks for, if any.
    ///
    /// # Errors
    /// The group cannot be made or joined; the text says what would permit it.
    pub fn from_condition(condition: &Condition) -> Result<Option<CommandGroup>, CgroupError> {
        if !condition.wants_group() && condition.cgroup.is_none() {
            return Ok(None);
        }
        let hierarchy = Hierarchy::of_this_machine()?;
        let (directory, own) = match &condition.cgroup {
            Some(path) => (hierarchy.directory(path)?, None),
            None => {
                let wanted = GroupLimits { weight: condition.weight, max: condition.max };
                let own = OwnGroup::new(&hierarchy, &wanted)?;
                if let Some(why) = own.refused() {
                    complain(&format!("{why}: the group is made without it"));
                }
                (own.directory().to_path_buf(), Some(own))
            }
        };
        let (before, max) = (hierarchy.cpu_stat(&directory), hierarchy.max(&directory));
        Ok(Some(CommandGroup { hierarchy, directory, before, max, own }))
    }

    /// The way for the command to join the group.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn entrance(&self) -> Result<Entrance<'_>, CgroupError> {
        match &self.own {
            Some(own) => own.entrance(),
            None => doors(&self.hierarchy, &self.directory).map(Entrance::Doors),
        }
    }

    /// Discards the figures so far.
    pub fn begin_again(&mut self) {
        self.before = self.hierarchy.cpu_stat(&self.directory);
    }

    /// Figures of the group.
    pub fn report(&self) -> RunGroup {
        RunGroup {
            path: name(&self.hierarchy, &self.directory),
            stat: self.hierarchy.cpu_stat(&self.directory).since(&self.before),
            allowed_cpus: self.max.and_then(|max| max.cpus()),
            own: self.own.is_some(),
        }
    }

    /// Processes of the command that still run in our own group, and what happens to the group.
    pub fn left(&self) -> Option<(usize, &'static str)> {
        let own = self.own.as_ref()?;
        Some((own.processes().len(), own.remover())).filter(|(left, _)| *left > 0)
    }
}

fn name(hierarchy: &Hierarchy, directory: &Path) -> String {
    hierarchy.name(directory).to_string_lossy().into_owned()
}
