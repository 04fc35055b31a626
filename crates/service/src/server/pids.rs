//! Whether who asks calls processes by the numbers that the daemon's snapshots have.

use rustix::net::sockopt::socket_peercred;
use std::os::unix::net::UnixStream;

/// How many PID namespaces below this /proc's a process is: it has a number in each (NSpid of
/// proc_pid_status(5)). Unlike its links in /proc/PID/ns, that takes no right to trace it.
fn depth(pid: i32) -> Result<usize, String> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    match numbers.map(|numbers| numbers.split_whitespace().count()) {
        Some(count) if count > 0 => Ok(count - 1),
        _ => Err(format!("{path} has no NSpid")),
    }
}

/// In a PID namespace of its own (a container), a reader has other processes under the daemon's numbers:
/// rows would be of the wrong ones, and a signal would reach them.
pub fn are_theirs(stream: &UnixStream) -> Result<(), String> {
    let peer =
        socket_peercred(stream).map_err(|errno| format!("nobody knows who asks: {errno}"))?;
    match depth(peer.pid.as_raw_pid()) {
        Ok(0) => Ok(()),
        Ok(_) => Err("your processes have numbers of their own (a PID namespace): \
             look by --source procfs, or start the container with the host's PIDs"
            .into()),
        Err(error) => Err(format!("nobody knows whose PIDs you mean: {error}")),
    }
}
