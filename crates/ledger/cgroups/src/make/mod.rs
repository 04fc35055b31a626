//! Makes a group for one run: by systemd if it runs, else directly.

mod maker;
mod nested;
mod transient;

pub use nested::Nested;
pub use transient::{doors, Transient};

use crate::systemd::{systemd_runs, Scope};
use crate::{CgroupError, GroupLimits, Hierarchy};
use std::fs::File;
use std::path::Path;

/// A group of ours. It is removed when this is dropped, or with its last process.
#[derive(Debug)]
pub enum OwnGroup {
    /// A group of systemd.
    Scope(Scope),
    /// A group made directly, and why systemd did not make it, if it runs.
    Made(Transient, Option<Box<CgroupError>>),
}

/// How a process enters a group.
#[derive(Debug)]
pub enum Entrance<'a> {
    /// The process writes `0` into each of these files.
    Doors(Vec<File>),
    /// The process waits until systemd has moved it.
    Taken(&'a Scope),
}

impl OwnGroup {
    /// Makes a group with limits. If systemd refuses, it tries directly: the user may have
    /// delegated a group to this process in another way.
    ///
    /// # Errors
    /// Why no group can be made, and what would permit it.
    pub fn new(hierarchy: &Hierarchy, limits: &GroupLimits) -> Result<OwnGroup, CgroupError> {
        if !systemd_runs() {
            return Ok(OwnGroup::Made(made(hierarchy, limits)?, None));
        }
        let systemd = match Scope::new(hierarchy, &maker::own_name(), limits) {
            Ok(scope) => return Ok(OwnGroup::Scope(scope)),
            Err(error) => Box::new(error),
        };
        match made(hierarchy, limits) {
            Ok(group) => Ok(OwnGroup::Made(group, Some(systemd))),
            Err(here) => Err(CgroupError::NoWay { systemd, here: Box::new(here) }),
        }
    }

    /// Why systemd did not make it, if systemd runs.
    pub fn refused(&self) -> Option<&CgroupError> {
        match self {
            OwnGroup::Scope(_) => None,
            OwnGroup::Made(_, refused) => refused.as_deref(),
        }
    }

    /// Directory of the group.
    pub fn directory(&self) -> &Path {
        match self {
            OwnGroup::Scope(scope) => scope.directory(),
            OwnGroup::Made(group, _) => group.directory(),
        }
    }

    /// How the command enters the group.
    pub fn entrance(&self) -> Result<Entrance<'_>, CgroupError> {
        match self {
            OwnGroup::Scope(scope) => Ok(Entrance::Taken(scope)),
            OwnGroup::Made(group, _) => group.doors().map(Entrance::Doors),
        }
    }

    /// Processes of the command that are in the group.
    pub fn processes(&self) -> Vec<u32> {
        match self {
            OwnGroup::Scope(scope) => scope.processes(),
            OwnGroup::Made(group, _) => group.processes(),
        }
    }

    /// Says who removes the group if processes stay in it.
    pub fn remover(&self) -> &'static str {
        match self {
            OwnGroup::Scope(_) => "systemd removes it when they have ended",
            OwnGroup::Made(..) => {
                "their limits last, and the next exactop run removes it when they have ended"
            }
        }
    }
}

fn made(hierarchy: &Hierarchy, limits: &GroupLimits) -> Result<Transient, CgroupError> {
    let group = Transient::new(hierarchy)?;
    if let Some(weight) = limits.weight {
        hierarchy.set_weight(group.directory(), weight)?;
    }
    if let Some(max) = limits.max {
        hierarchy.set_max(group.directory(), max)?;
    }
    Ok(group)
}
