//! Rights are given up once what needs them is open: what can no longer be done cannot be misused.
//!
//! [`reduce`] is called by each command after its source is open and before its first output; but the
//! live view reads and draws /proc while its source is being opened, with everything. What is kept is
//! said in one table ([`table`]), which docs/explanation/security.md shows. Commands that start other programs keep
//! everything: these are to get what exactop was started with.

mod calls;
mod capabilities;
mod files;
pub mod setuid;
mod table;

pub use capabilities::asked;
pub use table::{Origin, Role};

use exactop_sources::probe::{Capability, Status};
use std::path::Path;

/// How far a measure could be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Measure {
    /// As wanted.
    On(String),
    /// In part: what is missing.
    Partly(String),
    /// Not at all: why.
    Off(String),
}

/// What came of giving up rights.
#[derive(Debug)]
pub struct Reduced {
    no_new_privs: Measure,
    capabilities: Measure,
    files: files::Fenced,
    calls: Measure,
}

/// Gives up what a command no longer needs. `readable` are files and directories beside the usual
/// ones that it goes on reading. What a kernel does not have is left out: 'exactop doctor' says so.
pub fn reduce(role: Role, source: Origin, readable: &[&Path]) -> Reduced {
    reduce_beside(role, source, &Beside { readable, ..Beside::default() })
}

/// What a command goes on using beside what its role says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Files and directories that it reads.
    pub readable: &'a [&'a Path],
    /// Directories beneath which it writes: recordings, a socket.
    pub written: &'a [&'a Path],
    /// The TCP port on which it listens.
    pub listens: Option<u16>,
    /// The TCP ports to which it connects.
    pub connects: &'a [u16],
}

/// The same for a command that goes on using these.
pub fn reduce_beside(role: Role, source: Origin, beside: &Beside) -> Reduced {
    let rights = role.rights();
    // Without it an ordinary user may not fence himself in.
    let no_new_privs = no_new_privs();
    let files = files::fence(rights.writes, beside);
    let capabilities = capabilities::keep(rights.kept(source), rights.asked);
    let calls = calls::fence(beside.listens.is_some() || !beside.connects.is_empty());
    Reduced { no_new_privs, capabilities, files, calls }
}

/// Gives up what the process that reads for the live view does not need: everything but looking into
/// others as root may, and every system call but a few. Landlock would let it look into nobody.
pub fn reduce_reader() {
    use rustix::thread::CapabilitySet as Caps;
    // A file with capabilities is no leave to read what its user may not.
    let kept = match rustix::process::geteuid().is_root() {
        true => Caps::SYS_PTRACE | Caps::DAC_READ_SEARCH,
        false => Caps::empty(),
    };
    no_new_privs();
    capabilities::keep(kept, Caps::empty());
    calls::fence_reader();
}

fn no_new_privs() -> Measure {
    match rustix::thread::set_no_new_privs(true) {
        Ok(()) => Measure::On("no program that it starts gets more rights".into()),
        Err(errno) => Measure::Off(errno.to_string()),
    }
}

impl Reduced {
    /// What doctor says of it.
    pub fn told(self) -> Vec<Capability> {
        let (files, files_lose, files_remedy) = self.files.told();
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
                "capabilities given up once attached",
                self.capabilities,
                "a guard: an exactop that is taken over can do what root can",
                "a container or a filter that allows capset(2) and prctl(2)",
            ),
            line(
                "no_new_privs",
                "no new privileges",
                self.no_new_privs,
                "a guard: programs that are set-user-ID would give rights back",
                "a container or a filter that allows prctl(2)",
            ),
            line("landlock", "files fenced in by landlock", files, files_lose, files_remedy),
            line(
                "seccomp",
                "system calls fenced in by seccomp",
                self.calls,
                "a guard: an exactop that is taken over can make every system call",
                "a kernel with CONFIG_SECCOMP_FILTER",
            ),
        ]
    }
}
