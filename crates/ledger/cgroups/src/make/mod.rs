//! A group of our own for one run: systemd's where that runs, else one made here.

mod maker;
mod nested;
mod transient;

pub use nested::Nested;
pub use transient::{doors, Transient};

use crate::systemd::{systemd_runs, Scope};
use crate::{CgroupError, Hierarchy, Wanted};
use std::fs::File;
use std::path::Path;

/// A group that goes when this is dropped, or with its last process.
#[derive(Debug)]
pub enum Own {
    /// Systemd's.
    Scope(Scope),
    /// Made here; and why systemd did not, where it runs.
    Made(Transient, Option<Box<CgroupError>>),
}

/// How a process gets into a group.
#[derive(Debug)]
pub enum Entrance<'a> {
    /// It writes `0` into each of these files.
    Doors(Vec<File>),
    /// It waits until systemd has put it there.
    Taken(&'a Scope),
}

impl Own {
    /// Makes one and limits it. Where systemd refuses, it is tried without it: a group may have
    /// been handed to this process by other means.
    ///
    /// # Errors
    /// Why there can be none, and what would permit it.
    pub fn new(hierarchy: &Hierarchy, wanted: &Wanted) -> Result<Own, CgroupError> {
        if !systemd_runs() {
            return Ok(Own::Made(made(hierarchy, wanted)?, None));
        }
        let systemd = match Scope::new(hierarchy, &maker::own_name(), wanted) {
            Ok(scope) => return Ok(Own::Scope(scope)),
            Err(error) => Box::new(error),
        };
        match made(hierarchy, wanted) {
            Ok(group) => Ok(Own::Made(group, Some(systemd))),
            Err(here) => Err(CgroupError::NoWay { systemd, here: Box::new(here) }),
        }
    }

    /// Why it is not systemd's, where systemd runs.
    pub fn refused(&self) -> Option<&CgroupError> {
        match self {
            Own::Scope(_) => None,
            Own::Made(_, refused) => refused.as_deref(),
        }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        match self {
            Own::Scope(scope) => scope.directory(),
            Own::Made(group, _) => group.directory(),
        }
    }

    /// How the command gets in.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn entrance(&self) -> Result<Entrance<'_>, CgroupError> {
        match self {
            Own::Scope(scope) => Ok(Entrance::Taken(scope)),
            Own::Made(group, _) => group.doors().map(Entrance::Doors),
        }
    }

    /// Processes of the command that are in it.
    pub fn processes(&self) -> Vec<u32> {
        match self {
            Own::Scope(scope) => scope.processes(),
            Own::Made(group, _) => group.processes(),
        }
    }

    /// Who removes it if processes stay in it.
    pub fn remover(&self) -> &'static str {
        match self {
            Own::Scope(_) => "systemd removes it when they have ended",
            Own::Made(..) => {
                "their limits last, and the next exactop run removes it when they have ended"
            }
        }
    }
}

fn made(hierarchy: &Hierarchy, wanted: &Wanted) -> Result<Transient, CgroupError> {
    let group = Transient::new(hierarchy)?;
    if let Some(weight) = wanted.weight {
        hierarchy.set_weight(group.directory(), weight)?;
    }
    if let Some(max) = wanted.max {
        hierarchy.set_max(group.directory(), max)?;
    }
    Ok(group)
}
