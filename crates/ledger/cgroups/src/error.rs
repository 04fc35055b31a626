//! Errors of control groups: what failed, the value found, what to do.

use std::io;
use std::path::PathBuf;

/// Why a control group cannot be read, changed or made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum CgroupError {
    /// No hierarchy has the cpu controller.
    #[error("no cgroup hierarchy with the cpu controller is mounted: {advice}")]
    NoController {
        /// What to do.
        advice: &'static str,
    },
    /// The mounts or a process's groups cannot be read, which differs from having none.
    #[error("cannot find the cgroup mounts: cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// No group above this one delegates the controller.
    #[error(
        "no cgroup above this one delegates the cpu controller ({}): as root, echo +cpu > \
         cgroup.subtree_control there, or run it under systemd-run --scope -p Delegate=yes",
        top.display()
    )]
    NotHandedOut {
        /// The highest group tried.
        top: PathBuf,
    },
    /// The group does not exist.
    #[error("no cgroup {}: run 'exactop cgroups' to list them", path.display())]
    NoGroup {
        /// The path as the user gave it.
        path: PathBuf,
    },
    /// The root group has no limits.
    #[error("cannot {tried} /: the root group has no limits: choose a group below it, which 'exactop cgroups' lists")]
    Root {
        /// The attempted action.
        tried: String,
    },
    /// systemd refused.
    #[error("cannot make systemd {what}: {why}")]
    Systemd { what: &'static str, why: String },
    /// Neither systemd nor this process can make a group.
    #[error("{systemd}, and without it: {here}")]
    NoWay {
        /// Error of systemd.
        systemd: Box<CgroupError>,
        /// Error of making it here.
        here: Box<CgroupError>,
    },
    /// A process could not be moved to a group.
    #[error("cannot move process {pid} to {}: {error}{}", path.display(), permit_move(error))]
    Move { pid: u32, path: PathBuf, error: io::Error },
    /// A file of a group could not be read or written.
    #[error("cannot {what} {}: {error}{}", path.display(), permit(error))]
    File {
        /// The attempted action: read, write VALUE to, make, remove.
        what: String,
        path: PathBuf,
        error: io::Error,
    },
}

/// What would permit the action, if a right is missing.
fn permit(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ": run as root, or delegate the group to this user with systemd-run --user --scope"
        }
        io::ErrorKind::InvalidInput => {
            ": set a quota of at most that of the groups above and at least that of those below"
        }
        io::ErrorKind::ReadOnlyFilesystem => ": mount the hierarchy writable",
        _ => "",
    }
}

/// What would permit the move of a process.
fn permit_move(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => permit(error),
        // Version 2: only groups at the end of the tree have processes, once controllers are on.
        io::ErrorKind::ResourceBusy => ": choose a group below it, which 'exactop cgroups' lists",
        io::ErrorKind::ReadOnlyFilesystem => permit(error),
        _ => "",
    }
}
