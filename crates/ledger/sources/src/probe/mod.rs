//! What this kernel and this user can give, what is lost without it, and what would help.
//!
//! The report is read from files, so that it is there in a build without BPF too, and on made-up
//! roots in tests. Only [`objects`] tries: it loads the programs.

mod checks;
mod fields;
mod machine;
mod objects;
mod version;

#[cfg(test)]
mod tests;

/// What is lost where fentry programs cannot be attached.
pub use crate::kernel_programs::NO_UNTHROTTLE as LOST_WITHOUT_UNTHROTTLE;
use exactop_cgroups::mountinfo;
use machine::Machine;
pub use objects::{objects, Object};
use std::io;
use std::path::Path;

/// How far something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There.
    Available,
    /// There in part, or in a poorer way.
    Degraded,
    /// Not there.
    Missing,
}

impl Status {
    /// The name in JSON and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Available => "available",
            Status::Degraded => "degraded",
            Status::Missing => "missing",
        }
    }
}

/// One thing a kernel may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The name in JSON.
    pub id: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// How far it is there.
    pub status: Status,
    /// Whether the ledger cannot run without it.
    pub vital: bool,
    /// The value found, and where.
    pub found: String,
    /// What exactop cannot show without it; empty when it is there.
    pub loses: String,
    /// What would make it available; empty when it is there.
    pub remedy: String,
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they matter.
    pub capabilities: Vec<Capability>,
}

impl Report {
    /// One of them, by its id.
    pub fn get(&self, id: &str) -> Option<&Capability> {
        self.capabilities.iter().find(|c| c.id == id)
    }

    /// Why the ledger cannot run here; empty if nothing speaks against it.
    pub fn against_the_ledger(&self) -> impl Iterator<Item = &Capability> {
        self.capabilities.iter().filter(|c| c.vital && c.status == Status::Missing)
    }
}

/// Looks at this machine.
pub fn probe() -> Report {
    probe_at(Path::new("/proc"), Path::new("/sys"))
}

/// Whether this /proc hides processes from those who may not look at them (proc(5), hidepid), be
/// that this process or not.
///
/// # Errors
/// What the kernel says to reading what is mounted.
pub fn hides_processes() -> io::Result<bool> {
    Ok(checks::hiding(&mountinfo::ours()?).is_some())
}

/// Looks at a machine whose /proc and /sys are at these roots.
pub fn probe_at(root_proc: &Path, root_sys: &Path) -> Report {
    let machine =
        Machine::at(root_proc, root_sys, &fields::FIELDS.map(|field| (field.of, field.name)));
    let judge = |check: &checks::Check| {
        let (status, found) = (check.look)(&machine);
        let unless_there =
            |text: &str| if status == Status::Available { String::new() } else { text.into() };
        Capability {
            id: check.id,
            what: check.what,
            status,
            vital: check.vital,
            found,
            loses: unless_there(check.loses),
            remedy: unless_there(check.remedy),
        }
    };
    let mut capabilities: Vec<Capability> = checks::CHECKS.iter().map(judge).collect();
    capabilities.push(fields::capability(&machine));
    Report { capabilities }
}
