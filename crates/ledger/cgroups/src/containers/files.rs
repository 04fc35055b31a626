//! Access to the runtimes' files, limited to what names need.

use exactop_files::Directory;
use std::path::Path;

/// Directories that must be readable for names; a sandbox must permit them.
pub const READ: &[&str] = &[
    "/run",
    "/var/lib/docker/containers",
    "/var/lib/containers/storage/overlay-containers",
    "/var/log/pods",
];

/// A source of files.
pub trait Files {
    /// The content of a regular file in a directory; `None` if it does not exist or is longer than
    /// `limit` bytes.
    fn read(&self, directory: &str, name: &str, limit: u64) -> Option<Vec<u8>>;
    /// True if a directory has an entry with this name.
    fn has(&self, directory: &str, name: &str) -> bool;
    /// The entries of a directory; empty if it does not exist.
    fn names(&self, directory: &str) -> Vec<String>;
}

/// The files of this machine.
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
        // A directory that cannot be listed has no names.
        directory.and_then(|directory| directory.names()).map_or(Vec::new(), |names| names)
    }
}
