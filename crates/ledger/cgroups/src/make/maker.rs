//! Identifies the process that made a group by the group's name, and checks if it still lives.
//!
//! A PID is valid only in its PID namespace, a start time only in its time namespace
//! (time_namespaces(7)), and both only until the next boot. So the name contains all of them. A
//! name cannot tell if a maker in another namespace lives. For that the maker holds a lock on the
//! group's directory, which the kernel releases when the process ends in any way (flock(2)).

use rustix::fs::{flock, FlockOperation};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Prefix of our groups' names; the maker follows.
const PREFIX: &str = "exactop-run-";

/// Stands in a name for a value that could not be read.
const UNKNOWN: &str = "x";

/// Number of attempts to make a directory that another process took for an abandoned one.
const TRIES: usize = 8;

/// A process, and the namespaces and boot in which its numbers are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Maker {
    pid: u32,
    start: Option<u64>,
    scope: BootScope,
}

/// Boot and namespaces, as parts of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BootScope {
    boot: String,
    pids: String,
    times: String,
}

impl BootScope {
    fn current() -> BootScope {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        // The first part of the boot id is enough to tell boots apart.
        let boot = boot.ok().and_then(|id| id.split('-').next().map(String::from));
        BootScope {
            boot: boot.unwrap_or_else(|| UNKNOWN.into()),
            pids: namespace("pid"),
            times: namespace("time"),
        }
    }

    fn is_known(&self) -> bool {
        ![&self.boot, &self.pids, &self.times].contains(&&UNKNOWN.to_string())
    }
}

/// Inode number of one of our namespaces (namespaces(7)). Kernels before 5.6 have no time
/// namespaces, so all processes share the value for none.
fn namespace(kind: &str) -> String {
    match fs::metadata(Path::new("/proc/self/ns").join(kind)) {
        Ok(file) => format!("{:x}", file.ino()),
        Err(error) if kind == "time" && error.kind() == io::ErrorKind::NotFound => "0".into(),
        Err(_) => UNKNOWN.into(),
    }
}

impl Maker {
    fn this() -> Maker {
        let pid = std::process::id();
        Maker { pid, start: start_time(pid), scope: BootScope::current() }
    }

    fn name(&self) -> String {
        let Maker { pid, start, scope } = self;
        let start = start.map_or(UNKNOWN.into(), |start| start.to_string());
        format!("{PREFIX}{pid}-{start}-{}-{}-{}", scope.boot, scope.pids, scope.times)
    }

    /// The maker of a group with this name, if it is one of ours.
    fn from_name(name: &str) -> Option<Maker> {
        let parts: Vec<&str> = name.strip_prefix(PREFIX)?.split('-').collect();
        let [pid, start, boot, pids, times] = parts.as_slice() else { return None };
        let start = match *start {
            UNKNOWN => None,
            start => Some(start.parse().ok()?),
        };
        let scope =
            BootScope { boot: (*boot).into(), pids: (*pids).into(), times: (*times).into() };
        Some(Maker { pid: pid.parse().ok()?, start, scope })
    }

    /// True if its numbers are valid here and a process has them. False says nothing about a maker
    /// in another namespace.
    fn is_seen(&self) -> bool {
        let here = BootScope::current();
        here.is_known()
            && self.scope == here
            && self.start.is_some_and(|start| start_time(self.pid) == Some(start))
    }
}

/// Name for a group of this process, by which others recognize an abandoned group.
pub fn own_name() -> String {
    Maker::this().name()
}

/// Start time of a process, in ticks: field 22 of /proc/PID/stat (proc_pid_stat(5)).
fn start_time(pid: u32) -> Option<u64> {
    start_in(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Start time from a stat line, in which a name of any bytes stands in parentheses.
fn start_in(stat: &[u8]) -> Option<u64> {
    let end = stat.iter().rposition(|&b| b == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().nth(19)?.parse().ok()
}

/// Makes a group's directory and locks it, so that no process takes it for abandoned. If locks do
/// not work, the name must be enough.
pub fn make_and_hold(directory: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        match fs::create_dir(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let Ok(held) = File::open(directory) else { continue };
        if flock(&held, FlockOperation::NonBlockingLockShared).is_err() {
            // Another process checks if the group is abandoned.
            std::thread::sleep(Duration::from_millis(1));
        } else if is_at(&held, directory) {
            return Ok(Some(held));
        }
    }
    fs::exists(directory).and_then(|there| match there {
        true => Ok(None),
        false => Err(io::ErrorKind::NotFound.into()),
    })
}

/// True if the open directory is still the one at this path.
fn is_at(open: &File, path: &Path) -> bool {
    let same = || Some(open.metadata().ok()?.ino() == fs::metadata(path).ok()?.ino());
    same() == Some(true)
}

/// Locks a group that no process has locked and whose maker is not seen. Until the lock is dropped,
/// no process can begin to use the group.
pub fn hold_left_behind(directory: &Path) -> Option<File> {
    let name = directory.file_name()?.to_string_lossy();
    if Maker::from_name(&name)?.is_seen() {
        return None;
    }
    let held = File::open(directory).ok()?;
    flock(&held, FlockOperation::NonBlockingLockExclusive).ok()?;
    is_at(&held, directory).then_some(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_maker() {
        let this = Maker::this();
        assert_eq!(Maker::from_name(&this.name()), Some(this.clone()), "{}", this.name());
        assert!(this.is_seen());
        let start = this.start.unwrap();
        assert!(!Maker { start: Some(start + 1), ..this.clone() }.is_seen(), "a PID used again");
        assert!(!Maker { start: None, ..this.clone() }.is_seen());
        for elsewhere in [
            BootScope { boot: "0".into(), ..this.scope.clone() },
            BootScope { pids: "1".into(), ..this.scope.clone() },
            BootScope { times: "1".into(), ..this.scope.clone() },
        ] {
            assert!(!Maker { scope: elsewhere, ..this.clone() }.is_seen());
        }
        for other in ["", "exactop-run-x", "exactop-run-1-2", "exactop-run-1-2-a-b-c-d", "else"] {
            assert_eq!(Maker::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn a_maker_with_any_process_name_is_seen() {
        let rest = "S 1 2 3 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        let line = [b"7 (a\xff) R 1) ".as_slice(), rest.as_bytes()].concat();
        assert_eq!(start_in(&line), Some(4711));
        assert_eq!(start_in(b"7 (a"), None);
    }

    #[test]
    fn a_locked_group_stays_whatever_namespace_its_maker_is_in() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("exactop-run-7-7-0-1-2");
        let held = make_and_hold(&theirs).unwrap().unwrap();
        assert!(hold_left_behind(&theirs).is_none());
        drop(held);
        let taken = hold_left_behind(&theirs).unwrap();
        assert!(hold_left_behind(&theirs).is_none(), "two would remove it");
        drop(taken);
        let ours = dir.path().join(Maker::this().name());
        fs::create_dir(&ours).unwrap();
        assert!(hold_left_behind(&ours).is_none(), "made, and not held yet");
        assert!(hold_left_behind(dir.path()).is_none(), "a group of another process");
    }

    #[test]
    fn a_group_removed_before_it_was_held_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exactop-run-7-7-0-1-2");
        fs::create_dir(&path).unwrap();
        let taken = hold_left_behind(&path).unwrap();
        let remover = std::thread::spawn({
            let path = path.clone();
            move || {
                fs::remove_dir(&path).unwrap();
                drop(taken);
            }
        });
        let held = make_and_hold(&path).unwrap();
        remover.join().unwrap();
        assert!(path.exists() || held.is_none());
    }
}
