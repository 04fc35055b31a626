//! What can be wrong with a group: what was found, and what would permit it.

use std::io;
use std::path::PathBuf;

/// Why something about a group cannot be had or done.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// No hierarchy has the cpu controller.
    #[error("no cgroup hierarchy with the cpu controller is mounted: {advice}")]
    NoController {
        /// What would help.
        advice: &'static str,
    },
    /// What is mounted, or who is where, cannot be read: that is not the same as nothing.
    #[error("where control groups are is not known: cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// No group above this one hands out the controller.
    #[error(
        "no cgroup above this one hands out the cpu controller ({}): as root, echo +cpu > \
         cgroup.subtree_control there, or run it under systemd-run --scope -p Delegate=yes",
        top.display()
    )]
    NotHandedOut {
        /// The highest group looked at.
        top: PathBuf,
    },
    /// No such group.
    #[error("no cgroup {}: 'exactop cgroups' lists them", path.display())]
    NoGroup {
        /// As it was asked for.
        path: PathBuf,
    },
    /// The root group.
    #[error("cannot {tried} /: the root group has no limits, name one below it ('exactop cgroups' lists them)")]
    Root {
        /// What was tried.
        tried: String,
    },
    /// Systemd refuses.
    #[error("systemd does not {what}: {why}")]
    Systemd {
        /// What was asked of it.
        what: &'static str,
        /// Its answer.
        why: String,
    },
    /// Neither systemd nor this process may make a group.
    #[error("{systemd}; without it, {here}")]
    NoWay {
        /// Why systemd does not.
        systemd: Box<CgroupError>,
        /// Why it cannot be made here.
        here: Box<CgroupError>,
    },
    /// A file of a group refuses.
    #[error("cannot {what} {}: {error}{}", path.display(), permit(error))]
    File {
        /// What was tried: read, write VALUE to, make, remove.
        what: String,
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// What would permit it, if that is what is missing.
fn permit(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            " (run as root, or have the group delegated to this user: systemd-run --user --scope)"
        }
        io::ErrorKind::InvalidInput => {
            " (a quota is at most that of the groups above and at least that of those below)"
        }
        io::ErrorKind::ReadOnlyFilesystem => " (the hierarchy is mounted read-only)",
        _ => "",
    }
}
