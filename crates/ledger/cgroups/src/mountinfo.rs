//! Parses /proc/PID/mountinfo (proc_pid_mountinfo(5)).

use std::fs;
use std::io;
use std::path::Path;

/// The mounts of this process.
pub const OURS: &str = "/proc/self/mountinfo";

/// A line of /proc/PID/mountinfo.
pub struct Mount<'a> {
    /// The visible part of the file system: `/`, or a directory in it.
    pub root: &'a str,
    /// Mount point.
    pub point: &'a str,
    /// Type of the file system.
    pub kind: &'a str,
    /// The file system's own options.
    pub options: &'a str,
}

/// The mounts in a mountinfo. After the optional fields and a single `-` come the type, the source
/// and the file system's own options.
pub fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut filesystem = filesystem.split(' ');
        Some(Mount {
            root: mount.next()?,
            point: mount.next()?,
            kind: filesystem.next()?,
            options: filesystem.nth(1)?,
        })
    })
}

/// The content of [`OURS`], for [`mounts`]. A mount point may contain any bytes. Invalid UTF-8 is
/// replaced, because no mount that is searched for contains any.
///
/// # Errors
/// The kernel's error for reading [`OURS`].
pub fn ours() -> io::Result<String> {
    text(Path::new(OURS))
}

/// A file of the kernel as text; users may have put any bytes into it.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
