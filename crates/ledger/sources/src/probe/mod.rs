//! Checks what this kernel and this user provide, what is lost without it, and what to do.
//!
//! The report comes from files, so it works in a build without BPF and on made-up roots in tests.
//! Only [`objects`] asks the kernel: it loads the programs.

mod checks;
mod fields;
mod machine;
mod objects;
mod version;

#[cfg(test)]
mod tests;

/// Lost if fentry programs cannot be attached.
pub use crate::kernel_programs::NO_UNTHROTTLE as LOST_WITHOUT_UNTHROTTLE;
use exactop_cgroups::mountinfo;
use machine::Machine;
pub use objects::{objects, Object};
use std::io;
use std::path::Path;

/// Availability of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Status {
    /// Available.
    Available,
    /// Available in part, or in a poorer way.
    Degraded,
    /// Not available.
    Missing,
}

impl Status {
    /// Name in JSON and on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One thing that a kernel may provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Id in JSON.
    pub id: &'static str,
    /// Short description.
    pub what: &'static str,
    /// Availability.
    pub status: Status,
    /// True if the ledger cannot run without it.
    pub vital: bool,
    /// The value found, and its file.
    pub found: String,
    /// What exactop cannot show without it; empty if available.
    pub loses: String,
    /// What makes it available; empty if available.
    pub remedy: String,
}

/// The result of all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The checks, the most important first.
    pub capabilities: Vec<Capability>,
}

impl Report {
    /// The check with this id.
    pub fn get(&self, id: &str) -> Option<&Capability> {
        self.capabilities.iter().find(|c| c.id == id)
    }

    /// The checks that keep the ledger from running; none if it can run.
    pub fn against_the_ledger(&self) -> impl Iterator<Item = &Capability> {
        self.capabilities.iter().filter(|c| c.vital && c.status == Status::Missing)
    }
}

/// Checks this machine.
pub fn probe() -> Report {
    probe_at(Path::new("/proc"), Path::new("/sys"))
}

/// True if this /proc hides processes from users without rights (proc(5), hidepid), whether or not
/// this process has the rights.
///
/// # Errors
/// /proc/self/mountinfo cannot be read.
pub fn hides_processes() -> io::Result<bool> {
    Ok(checks::hiding(&mountinfo::ours()?).is_some())
}

/// Checks a machine whose /proc and /sys are at these roots.
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
