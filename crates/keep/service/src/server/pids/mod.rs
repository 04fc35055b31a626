//! By which numbers who asks calls processes: those that the daemon's snapshots have, or those of a PID
//! namespace of their own (a container), where other processes have the daemon's numbers: rows would be
//! of the wrong ones, and a signal would reach them. Such readers are told of their own, by their own.

use exactop_sources::pid_namespace::{peer, PidNamespace};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::sockopt::socket_peercred;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Why programs on demand tell nothing in a namespace.
pub const NOT_LOOKED_AT: &str =
    "your processes have numbers of their own (a PID namespace), of which \
     only windows are told; or start the container with the host's PIDs";

/// Whose numbers somebody means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those that the daemon's snapshots have.
    Hosts,
    /// Those of a PID namespace below.
    Theirs,
}

/// Which numbers a process has, from this /proc's namespace down to its own (NSpid of
/// proc_pid_status(5)). Unlike its links in /proc/PID/ns, that takes no right to trace it.
fn numbers(pid: u32) -> Result<Vec<u32>, String> {
    // Why goes to who asks, who is not to learn by which number they are called here.
    let status = std::fs::read(format!("/proc/{pid}/status"));
    let status = status.map_err(|error| format!("your status in /proc: {error}"))?;
    let status = String::from_utf8_lossy(&status);
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let numbers = numbers.map(|numbers| numbers.split_whitespace().map(str::parse).collect());
    match numbers {
        Some(Ok(numbers)) => Ok(numbers),
        _ => Err("your status in /proc has no NSpid".into()),
    }
}

/// Who asks, and which numbers they have: those of who connected, who still lives.
fn asker(stream: &UnixStream) -> Result<(u32, Vec<u32>), String> {
    let unknown = |why: String| format!("nobody knows whose PIDs you mean: {why}");
    let credentials = socket_peercred(stream).map_err(|errno| unknown(errno.to_string()))?;
    let pid = credentials.pid.as_raw_pid().unsigned_abs();
    // Before Linux 6.5 there is none.
    let process = peer(stream.as_fd()).map_err(|error| unknown(error.to_string()))?;
    let numbers = numbers(pid).map_err(unknown)?;
    // Their number may have been given to another only after that.
    match process.is_none_or(|process| lives(&process)) {
        true => Ok((pid, numbers)),
        false => Err(unknown("whoever connected has ended".into())),
    }
}

/// Whether a process has not ended.
fn lives(process: &OwnedFd) -> bool {
    let mut files = [PollFd::new(process, PollFlags::IN)];
    poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

/// Why descendants of somebody in a namespace are not followed.
pub const NOT_FOLLOWED: &str = "your processes have numbers of their own (a PID namespace): \
     run it outside of the container, or start that with the host's PIDs";

/// The process that connected, which still lives.
///
/// # Errors
/// It does not, or nobody knows.
pub fn who(stream: &UnixStream) -> Result<u32, String> {
    asker(stream).map(|(pid, _)| pid)
}

/// Whose numbers somebody means who has just connected.
///
/// # Errors
/// Nobody knows.
pub fn whose(stream: &UnixStream) -> Result<Whose, String> {
    match asker(stream)?.1.len() {
        0 => Err("nobody knows whose PIDs you mean: you have none".into()),
        1 => Ok(Whose::Hosts),
        _ => Ok(Whose::Theirs),
    }
}

/// The namespace of somebody who has numbers of their own, which they show by its file. That it is theirs
/// is seen by the kernel: it is as far below ours as they have numbers, and the last of these is theirs in it.
///
/// # Errors
/// They showed none, another's, or the kernel does not tell numbers in it.
pub fn shown(stream: &UnixStream, file: Option<OwnedFd>) -> Result<PidNamespace, String> {
    let why = |what: &str| {
        format!(
            "your processes have numbers of their own (a PID namespace), and {what}: \
             look by --source procfs, or start the container with the host's PIDs"
        )
    };
    let (pid, numbers) = asker(stream)?;
    let namespace = file.and_then(PidNamespace::of);
    let namespace = namespace.ok_or_else(|| why("you did not show which"))?;
    let number = namespace.number(pid);
    let number = number.map_err(|_| why("this kernel does not tell them (Linux 6.11 does)"))?;
    // That it is not one above theirs, in which they have a number, too, maybe the same.
    let is_deep_enough = namespace.depth().is_ok_and(|depth| depth + 1 == numbers.len());
    match number.is_some() && number == numbers.last().copied() && is_deep_enough {
        true => Ok(namespace),
        false => Err(why("the one that you showed is not it")),
    }
}

#[cfg(test)]
mod tests;
