//! Passes signals that were sent to exactop on to the command.
//!
//! The terminal sends its signals (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) to the whole process group,
//! so the command already has them. Signals from the command's own processes are not passed on
//! either: they could have sent them to themselves. exactop passes on all others, as sudo(8) does.
//! Before the command starts and after it ends, SIGCONT does nothing, SIGTSTP stops exactop, and any
//! other signal ends it at once.

use super::begun::StartFlag;
use crate::output;
use rustix::process::{pidfd_send_signal, Signal};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::{self, siginfo::Cause, siginfo::Origin};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Signals that are passed on.
const PASSED_ON: [i32; 8] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP];

/// Signals after which no further run begins.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Most ancestors of a sender that are looked up.
const GENERATIONS: usize = 256;

/// Receives signals for the command.
pub struct Relay {
    arrived: SignalDelivery<UnixStream, WithOrigin>,
    begun: Arc<StartFlag>,
    taken: Vec<i32>,
    /// The first signal that asked for an end.
    end: Option<i32>,
}

impl Relay {
    /// Receives signals from now on. A signal that was ignored at start stays ignored, also in the
    /// command (nohup(1)).
    ///
    /// # Errors
    /// The kernel refuses a socket pair, memory or a handler.
    pub fn new() -> io::Result<Relay> {
        let begun = Arc::new(StartFlag::new()?);
        let ignored = output::ignored();
        let is_ours = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
        let taken: Vec<i32> = PASSED_ON.into_iter().filter(is_ours).collect();
        let us = std::process::id();
        for &signal in &taken {
            let begun = begun.clone();
            let without_command = move || {
                // A child has a copy of this handler until it restores the defaults.
                if std::process::id() != us || begun.get() {
                    return;
                }
                match signal {
                    SIGCONT => {}
                    SIGTSTP => drop(low_level::emulate_default_handler(SIGTSTP)),
                    signal => low_level::exit(128 + signal),
                }
            };
            // SAFETY: the handler makes only system calls that a handler may make.
            unsafe { low_level::register(signal, without_command)? };
        }
        let (read, write) = UnixStream::pair()?;
        let arrived = SignalDelivery::with_pipe(read, write, WithOrigin::default(), &taken)?;
        Ok(Relay { arrived, begun, taken, end: None })
    }

    /// The child's first and last steps before it becomes the command.
    pub fn for_child(&self) -> Child {
        Child { begun: self.begun.clone(), taken: self.taken.clone(), parent: std::process::id() }
    }

    /// Readable when a signal came.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrived.get_read().as_fd()
    }

    /// Passes on the signals that came.
    ///
    /// # Errors
    /// The kernel does not let this process stop itself.
    pub fn pass_on(&mut self, command: BorrowedFd, pid: u32) -> io::Result<()> {
        let came: Vec<Origin> = self.arrived.pending().collect();
        for origin in came {
            let theirs = descends_from(&origin, pid);
            if ENDING.contains(&origin.signal) && !theirs {
                self.end = self.end.or(Some(origin.signal));
            }
            if origin.cause != Cause::Kernel && !theirs {
                if let Some(signal) = Signal::from_named_raw(origin.signal) {
                    // The sender may be gone, or its PID may belong to another process by now
                    // (sudo(8)). An error is ignored.
                    let _ = pidfd_send_signal(command, signal);
                }
            }
            if origin.signal == SIGTSTP {
                stop()?;
            }
        }
        Ok(())
    }

    /// Ends the relay: the command has exited.
    pub fn ended(&mut self) {
        self.begun.set(false);
        let came = self.arrived.pending().map(|origin| origin.signal);
        self.end = self.end.or(came.into_iter().find(|signal| ENDING.contains(signal)));
    }

    /// The first signal that asked for an end, if any.
    pub fn end(&self) -> Option<i32> {
        self.end
    }
}

/// True if the sender is the command or descends from it.
fn descends_from(origin: &Origin, command: u32) -> bool {
    let sender = origin.process.and_then(|process| u32::try_from(process.pid).ok());
    // A PID of 0 means another PID namespace.
    let Some(mut pid) = sender.filter(|&pid| pid != 0) else { return false };
    for _ in 0..GENERATIONS {
        if pid == command {
            return true;
        }
        match parent_of(pid) {
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// Parent PID: field 4 of /proc/PID/stat (proc_pid_stat(5)).
fn parent_of(pid: u32) -> Option<u32> {
    parent_in(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Parent PID in a line, where a name of any bytes stands in brackets.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|&b| b == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Stops this process as SIGTSTP does by default. It does not stop in an orphaned process group,
/// where nobody could continue it (setpgid(2)).
fn stop() -> io::Result<()> {
    let mut ours = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: an action without a handler; there is room for the old action, which is put back.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        if libc::sigaction(SIGTSTP, &default, ours.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        low_level::raise(SIGTSTP)?;
        match libc::sigaction(SIGTSTP, ours.as_ptr(), std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The child's side; it makes only system calls.
pub struct Child {
    begun: Arc<StartFlag>,
    taken: Vec<i32>,
    parent: u32,
}

impl Child {
    /// The first step: from here on, signals have their default effect, and the child dies with its
    /// parent until it is the command.
    ///
    /// # Errors
    /// The parent has already exited.
    pub fn first(&self) -> io::Result<()> {
        for &signal in &self.taken {
            // SAFETY: the default action runs no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        self.stay_with_parent()
    }

    /// Sets the parent-death signal again, which a change of user clears (prctl(2)).
    ///
    /// # Errors
    /// The parent has already exited.
    pub fn stay_with_parent(&self) -> io::Result<()> {
        goes_with_parent(libc::SIGKILL)?;
        // SAFETY: returns a number.
        match u32::try_from(unsafe { libc::getppid() }) {
            Ok(parent) if parent == self.parent => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    /// The last step: from here on signals are for the command.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn last(&self) -> io::Result<()> {
        self.begun.set(true);
        goes_with_parent(0)
    }
}

fn goes_with_parent(signal: i32) -> io::Result<()> {
    // SAFETY: the call takes a number.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_of_any_name_is_found() {
        assert_eq!(parent_in(b"7 (a\xff) R 1) S 4711 7 7 0"), Some(4711));
        assert_eq!(parent_in(b"7 (a"), None);
    }

    #[test]
    fn ancestors_are_found() {
        let us = std::process::id();
        let mut child = std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap();
        assert_eq!(parent_of(child.id()), Some(us));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(parent_of(child.id()), None);
    }
}
