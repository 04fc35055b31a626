//! Finds which PIDs a reader means: the host's, or those of its own PID namespace (a container).
//! There the same numbers belong to other processes: rows would name the wrong processes, and a
//! signal would reach them. So a reader in a namespace gets its own processes, by its own numbers.

use exactop_sources::pid_namespace::{peer, PidNamespace};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::sockopt::socket_peercred;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Why on-demand programs refuse readers in a namespace.
pub const NOT_LOOKED_AT: &str =
    "your process is in a PID namespace, where on-demand programs are not available: \
     start the container with the host's PIDs";

/// The PIDs that a reader means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PidNumbering {
    /// The host's, as in the daemon's snapshots.
    Hosts,
    /// Those of a PID namespace below the host's.
    Theirs,
}

/// Numbers of a process, from the namespace of this /proc down to its own (NSpid of
/// proc_pid_status(5)). Unlike the links in /proc/PID/ns, this needs no right to trace the process.
fn numbers(pid: u32) -> Result<Vec<u32>, String> {
    // The error goes to the reader, which must not learn its number on the host.
    let status = std::fs::read(format!("/proc/{pid}/status"));
    let status = status.map_err(|error| format!("cannot read your status in /proc: {error}"))?;
    let status = String::from_utf8_lossy(&status);
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let numbers = numbers.map(|numbers| numbers.split_whitespace().map(str::parse).collect());
    match numbers {
        Some(Ok(numbers)) => Ok(numbers),
        _ => Err("your status in /proc has no NSpid".into()),
    }
}

/// PID and numbers of the connected process, if it still lives.
fn asker(stream: &UnixStream) -> Result<(u32, Vec<u32>), String> {
    let unknown = |why: String| format!("cannot determine your PID namespace: {why}");
    let credentials = socket_peercred(stream).map_err(|errno| unknown(errno.to_string()))?;
    let pid = credentials.pid.as_raw_pid().unsigned_abs();
    // `None` before Linux 6.5.
    let process = peer(stream.as_fd()).map_err(|error| unknown(error.to_string()))?;
    let numbers = numbers(pid).map_err(unknown)?;
    // The PID may be reused only after this check.
    match process.is_none_or(|process| lives(&process)) {
        true => Ok((pid, numbers)),
        false => Err(unknown("your process has ended".into())),
    }
}

/// True if the process has not ended.
fn lives(process: &OwnedFd) -> bool {
    let mut files = [PollFd::new(process, PollFlags::IN)];
    poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

/// Why commands of readers in a namespace are not followed.
pub const NOT_FOLLOWED: &str = "your process is in a PID namespace: \
     run the command outside of the container, or start the container with the host's PIDs";

/// PID of the connected process, if it still lives.
///
/// # Errors
/// The process has ended, or cannot be identified.
pub fn peer_pid(stream: &UnixStream) -> Result<u32, String> {
    asker(stream).map(|(pid, _)| pid)
}

/// The PIDs that a new reader means.
///
/// # Errors
/// They cannot be determined.
pub fn peer_numbering(stream: &UnixStream) -> Result<PidNumbering, String> {
    match asker(stream)?.1.len() {
        0 => Err("cannot determine your PID namespace: you have no PID here".into()),
        1 => Ok(PidNumbering::Hosts),
        _ => Ok(PidNumbering::Theirs),
    }
}

/// The namespace of a reader that sent the file of its namespace. The kernel confirms it: its depth
/// matches the reader's numbers, and the last number is the reader's in it.
///
/// # Errors
/// The file is missing or of another namespace, or the kernel cannot translate its numbers.
pub fn shown(stream: &UnixStream, file: Option<OwnedFd>) -> Result<PidNamespace, String> {
    let why = |what: &str| {
        format!(
            "your process is in a PID namespace, and {what}: \
             use --source procfs, or start the container with the host's PIDs"
        )
    };
    let (pid, numbers) = asker(stream)?;
    let namespace = file.and_then(PidNamespace::from_file);
    let namespace = namespace.ok_or_else(|| why("your reader did not send its namespace"))?;
    let number = namespace.number(pid);
    let number = number.map_err(|_| why("this kernel cannot map its PIDs (Linux 6.11 can)"))?;
    // Also compare the depth: in a namespace above, the reader has a number too, maybe the same
    // one.
    let is_deep_enough = namespace.depth().is_ok_and(|depth| depth + 1 == numbers.len());
    match number.is_some() && number == numbers.last().copied() && is_deep_enough {
        true => Ok(namespace),
        false => Err(why("your reader sent another one")),
    }
}

#[cfg(test)]
mod tests;
