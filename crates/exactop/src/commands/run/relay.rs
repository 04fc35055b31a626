//! Signals that are sent to us but meant for the command.
//!
//! What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) goes to the whole process group, so
//! the command has it already; what the command's own processes send they could have sent to
//! themselves. Everything else is passed on, as sudo(8) does. Before there is a command and after
//! its end a signal ends us at once.

use super::begun::Begun;
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

/// Those that are passed on.
const PASSED_ON: [i32; 8] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP];

/// Those after which nothing new is begun.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How far a sender's ancestors are followed.
const GENERATIONS: usize = 256;

/// Takes signals for the command.
pub struct Relay {
    arrived: SignalDelivery<UnixStream, WithOrigin>,
    begun: Arc<Begun>,
    taken: Vec<i32>,
    /// The first that asked for an end.
    end: Option<i32>,
}

impl Relay {
    /// From now on. A signal that we were started to ignore stays ignored, by the command too
    /// (nohup(1)).
    ///
    /// # Errors
    /// When the kernel refuses a socket pair, memory or a handler.
    pub fn new() -> io::Result<Relay> {
        let begun = Arc::new(Begun::new()?);
        let ignored = output::ignored();
        let is_ours = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
        let taken: Vec<i32> = PASSED_ON.into_iter().filter(is_ours).collect();
        let us = std::process::id();
        for &signal in &taken {
            let begun = begun.clone();
            let without_command = move || {
                // A child has a copy of this until it has put the defaults back.
                if std::process::id() != us || begun.get() {
                    return;
                }
                match signal {
                    SIGCONT => {}
                    SIGTSTP => drop(low_level::emulate_default_handler(SIGTSTP)),
                    signal => low_level::exit(128 + signal),
                }
            };
            // SAFETY: only system calls that a handler may make.
            unsafe { low_level::register(signal, without_command)? };
        }
        let (read, write) = UnixStream::pair()?;
        let arrived = SignalDelivery::with_pipe(read, write, WithOrigin::default(), &taken)?;
        Ok(Relay { arrived, begun, taken, end: None })
    }

    /// What a child has to do, first and last, before it becomes the command.
    pub fn for_child(&self) -> Child {
        Child { begun: self.begun.clone(), taken: self.taken.clone(), parent: std::process::id() }
    }

    /// Readable when a signal came.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrived.get_read().as_fd()
    }

    /// Passes on what came.
    ///
    /// # Errors
    /// When the kernel does not let us stop ourselves.
    pub fn pass_on(&mut self, command: BorrowedFd, pid: u32) -> io::Result<()> {
        let came: Vec<Origin> = self.arrived.pending().collect();
        for origin in came {
            let theirs = descends_from(&origin, pid);
            if ENDING.contains(&origin.signal) && !theirs {
                self.end = self.end.or(Some(origin.signal));
            }
            if origin.cause != Cause::Kernel && !theirs {
                if let Some(signal) = Signal::from_named_raw(origin.signal) {
                    // It may be gone, or somebody else by now (sudo(8)): then it is not for us.
                    let _ = pidfd_send_signal(command, signal);
                }
            }
            if origin.signal == SIGTSTP {
                stop()?;
            }
        }
        Ok(())
    }

    /// The command has ended.
    pub fn ended(&mut self) {
        self.begun.set(false);
        let came = self.arrived.pending().map(|origin| origin.signal);
        self.end = self.end.or(came.into_iter().find(|signal| ENDING.contains(signal)));
    }

    /// The signal that asked for an end, if one did.
    pub fn end(&self) -> Option<i32> {
        self.end
    }
}

/// Whether the sender is the command or descends from it.
fn descends_from(origin: &Origin, command: u32) -> bool {
    let sender = origin.process.and_then(|process| u32::try_from(process.pid).ok());
    // 0: from another PID namespace.
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

/// Field 4 of /proc/PID/stat (proc_pid_stat(5)).
fn parent_of(pid: u32) -> Option<u32> {
    parent_in(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The same of a line, in which a name of any bytes stands in brackets.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|&b| b == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Stops as SIGTSTP stops who has no handler: not where nobody could continue us (an orphaned
/// process group, setpgid(2)).
fn stop() -> io::Result<()> {
    let mut ours = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: an action without a handler; room for the one that was there, which is put back.
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

/// The child's side: only system calls.
pub struct Child {
    begun: Arc<Begun>,
    taken: Vec<i32>,
    parent: u32,
}

impl Child {
    /// First: from here on signals do to the child what they do to any program, and it does not
    /// outlive us before it is the command.
    ///
    /// # Errors
    /// When we are gone already.
    pub fn first(&self) -> io::Result<()> {
        for &signal in &self.taken {
            // SAFETY: the default runs no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        self.stay_with_parent()
    }

    /// Another user's process forgets that it goes with its parent (prctl(2)).
    ///
    /// # Errors
    /// When we are gone already.
    pub fn stay_with_parent(&self) -> io::Result<()> {
        goes_with_parent(libc::SIGKILL)?;
        // SAFETY: returns a number.
        match u32::try_from(unsafe { libc::getppid() }) {
            Ok(parent) if parent == self.parent => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    /// Last: from here on signals are for the command.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn last(&self) -> io::Result<()> {
        self.begun.set(true);
        goes_with_parent(0)
    }
}

fn goes_with_parent(signal: i32) -> io::Result<()> {
    // SAFETY: takes a number.
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
