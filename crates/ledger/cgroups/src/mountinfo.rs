//! What is mounted where (proc_pid_mountinfo(5)).

use std::fs;
use std::io;
use std::path::Path;

/// This process's mounts.
pub const OURS: &str = "/proc/self/mountinfo";

/// A line of /proc/PID/mountinfo.
pub struct Mount<'a> {
    /// What of the file system is seen: `/`, or a directory in it.
    pub root: &'a str,
    /// The directory it is mounted on.
    pub point: &'a str,
    /// The kind of file system.
    pub kind: &'a str,
    /// The file system's own options.
    pub options: &'a str,
}

/// The mounts in a mountinfo; after the optional fields and a lone `-` come the kind of file
/// system, its source and its own options.
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

/// What this process sees mounted, as [`mounts`] takes it. A mount point is called what its maker likes:
/// bytes that are no UTF-8 are replaced, as no mount that is looked for has any.
///
/// # Errors
/// What the kernel says to reading [`OURS`].
pub fn ours() -> io::Result<String> {
    text(Path::new(OURS))
}

/// A file of the kernel as text, in which anyone may have put any bytes.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
