//! Makes sure that nothing of a load is left behind, however it ends.
//!
//! The worker program splits in two. The parent, the supervisor, does no work: it watches its
//! standard input and, once the other end is closed, kills the load's process group and waits for
//! all of it. As child subreaper it inherits every orphan, so this wait misses none. The child
//! returns into the role.

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{
    getpid, getppid, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setpgid, test_kill_process_group, Pid, PidfdFlags, Signal,
};
use std::io;
use std::time::Duration;

/// Splits off the supervisor; returns in the process that is to run the load.
pub(super) fn split() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // Orphans that end before the load does are reaped by the kernel.
    set_child_signal(libc::SIG_IGN);
    let supervisor = getpid();
    // SAFETY: the program has one thread, so the child may do anything.
    let forked = unsafe { libc::fork() };
    match Pid::from_raw(forked) {
        _ if forked < 0 => Err(io::Error::last_os_error()),
        None => enter(supervisor),
        Some(child) => {
            let watched = watch(child);
            // Killed even when watching failed: better no load than one that nobody ends.
            end(child);
            std::process::exit(i32::from(watched.is_err()))
        }
    }
}

/// Kills the load, and returns when no process of it is left.
fn end(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
    // With the children's signal ignored, this comes back when the last one has ended.
    // SAFETY: a null status is allowed.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0
        || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    // Ended, but a process that nobody waits for takes itself off the lists only after that.
    while test_kill_process_group(group).is_ok() {
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn set_child_signal(action: libc::sighandler_t) {
    // SAFETY: no handler is installed, only a disposition.
    unsafe { libc::signal(libc::SIGCHLD, action) };
}

/// The child's first steps: own group, the default disposition, and death with the supervisor.
fn enter(supervisor: Pid) -> io::Result<()> {
    set_child_signal(libc::SIG_DFL);
    setpgid(None, None)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(supervisor) {
        std::process::exit(1);
    }
    Ok(())
}

/// Returns when the library's end is closed, or when the load ended on its own.
fn watch(child: Pid) -> io::Result<()> {
    // Both sides do it, so that neither can be too early. The child may have done so, or be gone.
    let _ = setpgid(Some(child), Some(child));
    let ended = pidfd_open(child, PidfdFlags::empty())?;
    // The library sees the end of the talk when the load is gone; we must not hold it open.
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    let input = io::stdin();
    loop {
        // No event asked for: only hang-up, which always comes, and never the requests' bytes.
        let mut fds = [PollFd::new(&input, PollFlags::empty()), PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}
