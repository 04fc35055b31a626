//! What is mounted where (proc_pid_mountinfo(5)).

/// A line of /proc/PID/mountinfo.
pub struct Mount<'a> {
    /// What of the file system is seen: `/`, or a directory in it.
    pub root: &'a str,
    /// Where.
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
