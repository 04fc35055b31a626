//! Supervisor: leaves nothing of a load behind, however it ends.
//!
//! The worker program forks. The parent, the supervisor, does no work. It watches its standard
//! input; when the other end is closed, it kills the load's process group and waits for all of it.
//! As a child subreaper it inherits every orphan, so the wait misses none. The child returns into
//! the role.

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{
    getpid, getppid, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setpgid, test_kill_process_group, Pid, PidfdFlags, Signal,
};
use std::io;
use std::time::Duration;

/// Splits off the supervisor; returns in the process that runs the load.
pub(super) fn split() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // The kernel reaps orphans that end before the load does.
    set_child_signal(libc::SIG_IGN);
    let supervisor = getpid();
    // SAFETY: the program has one thread, so the child may do anything.
    let forked = unsafe { libc::fork() };
    match Pid::from_raw(forked) {
        _ if forked < 0 => Err(io::Error::last_os_error()),
        None => enter(supervisor),
        Some(child) => {
            let watched = watch(child);
            // Kill the load also if watching failed: otherwise nothing would end it.
            end(child);
            std::process::exit(i32::from(watched.is_err()))
        }
    }
}

/// Kills the load; returns when none of its processes is left.
fn end(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
    // Each end wakes a waiting parent, which then looks at all children (wait_consider_task() in
    // kernel/exit.c). With a crowd of 30,000 that takes 14 s. So wait for the group first.
    while test_kill_process_group(group).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Then for orphans in other groups. With SIGCHLD ignored, this returns when the last child has
    // ended. SAFETY: a null status is allowed.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0
        || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

fn set_child_signal(action: libc::sighandler_t) {
    // SAFETY: no handler is installed, only a disposition.
    unsafe { libc::signal(libc::SIGCHLD, action) };
}

/// First steps of the child: own process group, default disposition, and death with the supervisor.
fn enter(supervisor: Pid) -> io::Result<()> {
    set_child_signal(libc::SIG_DFL);
    setpgid(None, None)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(supervisor) {
        std::process::exit(1);
    }
    Ok(())
}

/// Returns when the library closes its end, or when the load ends by itself.
fn watch(child: Pid) -> io::Result<()> {
    // Both sides do this, so that neither is too early. The child may have done it, or have ended.
    let _ = setpgid(Some(child), Some(child));
    let ended = pidfd_open(child, PidfdFlags::empty())?;
    // The library sees the end of the stream when the load has ended; the supervisor must not hold
    // it open.
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    let input = io::stdin();
    loop {
        // No event requested: only the hang-up, which is always reported, and never the requests'
        // bytes.
        let mut fds = [PollFd::new(&input, PollFlags::empty()), PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}
