//! Children of a role: forked or run from a program, and dying with it.

use crate::error::Refusal;
use rustix::process::{getpid, getppid, set_parent_process_death_signal, Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Forks a child that runs `body` and exits.
///
/// The child has the one thread. If the caller has others, `body` may only make system calls and
/// touch memory: a lock that another thread held, the allocator's too, stays locked in the child.
/// The child is killed when the calling *thread* ends.
pub(crate) fn fork(body: impl FnOnce()) -> io::Result<u32> {
    let parent = getpid();
    let child = fork_free(|| {
        if die_with(parent).is_ok() {
            body();
        }
    })?;
    Ok(child)
}

/// As [`fork`], for a child that may outlive its parent: an orphan to be.
pub(super) fn fork_free(body: impl FnOnce()) -> io::Result<u32> {
    // SAFETY: the child keeps to what the callers' contract allows, and never returns.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            body();
            // SAFETY: ends the process, without the parent's exit handlers.
            unsafe { libc::_exit(0) }
        }
        child => Ok(child as u32),
    }
}

/// Has the kernel kill this process when its parent ends. Fails if the parent is gone already.
pub(super) fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Runs a program as child, without input and output.
pub(super) fn run(command: &mut Command) -> io::Result<u32> {
    let parent = getpid();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: two system calls, which allocate nothing and take no lock.
    unsafe { command.pre_exec(move || die_with(parent)) };
    // The handle would be of use only to wait, and the load runs until it is killed.
    Ok(command.spawn()?.id())
}

/// Makes `wanted` children, or says how many there could be.
pub(super) fn make(
    wanted: usize,
    mut one: impl FnMut() -> io::Result<u32>,
) -> Result<Vec<u32>, Refusal> {
    let mut made = Vec::with_capacity(wanted);
    for _ in 0..wanted {
        made.push(one().map_err(|error| too_few(made.len(), wanted, &error))?);
    }
    Ok(made)
}

/// The refusal for a task that could not be made.
pub(crate) fn too_few(made: usize, wanted: usize, error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(errno) => Refusal::TooFewTasks { made: made as u64, wanted: wanted as u64, errno },
        None => Refusal::other(error),
    }
}

/// Names this thread and those it will make, for the reader of a process list.
pub(crate) fn set_name(name: &str) {
    let short: String = name.chars().take(15).collect();
    if let Ok(name) = std::ffi::CString::new(short) {
        // Only a name: the load is the same without.
        let _ = rustix::thread::set_name(&name);
    }
}
