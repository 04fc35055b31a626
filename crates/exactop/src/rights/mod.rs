//! Gives up rights after all sources are open, so that an attacker in exactop cannot use them.
//!
//! Each command calls [`reduce`] after its source is open and before its first output. The live
//! view is an exception: it reads and draws /proc with all rights while its source opens. One table
//! ([`table`]) lists the rights that remain; docs/explanation/security.md shows it. Commands that
//! start other programs keep all rights, because those programs get the rights that exactop was
//! started with.

mod calls;
mod capabilities;
mod files;
pub mod setuid;
mod table;

pub use capabilities::with as with_capabilities;
pub use table::{Origin, Role};

use exactop_sources::probe::{Capability, Status};
use std::path::Path;

/// How far a measure was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Measure {
    /// Fully.
    On(String),
    /// In part: what is missing.
    Partly(String),
    /// Not at all: the reason.
    Off(String),
}

/// Results of giving up rights.
#[derive(Debug)]
pub struct Reduced {
    no_new_privs: Measure,
    capabilities: Measure,
    files: files::Fenced,
    calls: Measure,
}

/// Gives up the rights that a command no longer needs. `readable`: further files and directories
/// that it keeps reading. Skips measures that the kernel lacks; 'exactop doctor' reports them.
pub fn reduce(role: Role, source: Origin, readable: &[&Path]) -> Reduced {
    reduce_beside(role, source, &ExtraAccess { readable, ..ExtraAccess::default() })
}

/// Files and ports that a command keeps using besides those of its role.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraAccess<'a> {
    /// Files and directories that it reads.
    pub readable: &'a [&'a Path],
    /// Directories below which it writes: recordings, a socket.
    pub written: &'a [&'a Path],
    /// The TCP port on which it listens.
    pub listens: Option<u16>,
    /// TCP ports to which it connects.
    pub connects: &'a [u16],
}

/// Gives up rights, except for these files and ports.
pub fn reduce_beside(role: Role, source: Origin, beside: &ExtraAccess) -> Reduced {
    let rights = role.rights();
    // Without no_new_privs, only root may install a filter.
    let no_new_privs = no_new_privs();
    let files = files::fence(rights.writes, beside);
    let capabilities = capabilities::keep(rights.kept(source), rights.asked);
    let calls = calls::fence(beside.listens.is_some() || !beside.connects.is_empty());
    Reduced { no_new_privs, capabilities, files, calls }
}

/// Gives up the rights that the live view's reader process does not need. It keeps root's right to
/// read other processes, and few system calls. It has no landlock, which would hide all processes.
pub fn reduce_reader() {
    use rustix::thread::CapabilitySet as Caps;
    // The program file's capabilities must not let a user read files of other users.
    let kept = match rustix::process::geteuid().is_root() {
        true => table::READER,
        false => Caps::empty(),
    };
    no_new_privs();
    capabilities::keep(kept, Caps::empty());
    calls::fence_reader();
}

fn no_new_privs() -> Measure {
    match rustix::thread::set_no_new_privs(true) {
        Ok(()) => Measure::On("programs that exactop starts get no more rights".into()),
        Err(errno) => Measure::Off(errno.to_string()),
    }
}

impl Reduced {
    /// The lines of 'exactop doctor'.
    pub fn capabilities(self) -> Vec<Capability> {
        let (files, files_lose, files_remedy) = self.files.describe();
        let line = |id, what, measure: Measure, loses: &str, remedy: &str| {
            let (status, found) = match measure {
                Measure::On(found) => (Status::Available, found),
                Measure::Partly(found) => (Status::Degraded, found),
                Measure::Off(why) => (Status::Missing, why),
            };
            let unless_there = |text: &str| match status {
                Status::Available => String::new(),
                _ => text.to_string(),
            };
            let (loses, remedy) = (unless_there(loses), unless_there(remedy));
            Capability { id, what, status, vital: false, found, loses, remedy }
        };
        vec![
            line(
                "capabilities",
                "capabilities dropped after attaching",
                self.capabilities,
                "protection: an attacker who takes over exactop can do what root can",
                "use a container or a filter that allows capset(2) and prctl(2)",
            ),
            line(
                "no_new_privs",
                "no new privileges",
                self.no_new_privs,
                "protection: set-user-ID programs would give rights back",
                "use a container or a filter that allows prctl(2)",
            ),
            line("landlock", "files limited by landlock", files, files_lose, files_remedy),
            line(
                "seccomp",
                "system calls limited by seccomp",
                self.calls,
                "protection: an attacker who takes over exactop can make every system call",
                "use a kernel with CONFIG_SECCOMP_FILTER",
            ),
        ]
    }
}
