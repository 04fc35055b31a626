//! The files that are asked, as little of them as can be.

use exactop_files::Directory;
use std::path::Path;

/// What must be readable for names to be known: for who fences itself in.
pub const READ: &[&str] = &[
    "/run",
    "/var/lib/docker/containers",
    "/var/lib/containers/storage/overlay-containers",
    "/var/log/pods",
];

/// Where files are read.
pub trait Files {
    /// All of a regular file in a directory; `None`: there is none, or it is longer than `limit`.
    fn read(&self, directory: &str, name: &str, limit: u64) -> Option<Vec<u8>>;
    /// Whether a directory has an entry of this name.
    fn has(&self, directory: &str, name: &str) -> bool;
    /// The entries of a directory; none if there is no such directory.
    fn names(&self, directory: &str) -> Vec<String>;
}

/// Those of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Files for Machine {
    fn read(&self, directory: &str, name: &str, limit: u64) -> Option<Vec<u8>> {
        Directory::open_to_read(Path::new(directory)).ok()?.read(name, limit).ok()
    }

    fn has(&self, directory: &str, name: &str) -> bool {
        let directory = Directory::open_to_read(Path::new(directory));
        directory.is_ok_and(|directory| directory.has(name).is_ok_and(|has| has))
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let directory = Directory::open_to_read(Path::new(directory));
        // Nothing that cannot be listed has a name for us.
        directory.and_then(|directory| directory.names()).map_or(Vec::new(), |names| names)
    }
}
