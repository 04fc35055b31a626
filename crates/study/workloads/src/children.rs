//! Children of a role: forked or started from a program; they die with it.

use crate::error::Refusal;
use rustix::process::{getpid, getppid, set_parent_process_death_signal, Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Forks a child that runs `body` and exits.
///
/// The child has one thread. If the caller has others, `body` may only make system calls and touch
/// memory. A lock that another thread held stays locked in the child, including the allocator's.
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

/// Like [`fork`], for a child that may outlive its parent as an orphan.
pub(super) fn fork_free(body: impl FnOnce()) -> io::Result<u32> {
    // SAFETY: the child does only what the callers' contract allows, and never returns.
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

/// Makes the kernel kill this process when its parent ends. Fails if the parent has already ended.
pub(super) fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Runs a program as a child, without input and output.
pub(super) fn run(command: &mut Command) -> io::Result<u32> {
    let parent = getpid();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: two system calls, which allocate nothing and take no lock.
    unsafe { command.pre_exec(move || die_with(parent)) };
    // The handle only serves to wait, and the load runs until it is killed.
    Ok(command.spawn()?.id())
}

/// Starts `wanted` children; else returns how many could be started.
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

/// The refusal for a task that could not be created.
pub(crate) fn too_few(made: usize, wanted: usize, error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(errno) => Refusal::TooFewTasks { made: made as u64, wanted: wanted as u64, errno },
        None => Refusal::other(error),
    }
}

/// Names this thread and those that it will create, for process lists.
pub(crate) fn set_name(name: &str) {
    let short: String = name.chars().take(15).collect();
    if let Ok(name) = std::ffi::CString::new(short) {
        // A failure only affects the name.
        let _ = rustix::thread::set_name(&name);
    }
}
