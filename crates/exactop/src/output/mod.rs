//! Standard output and the time between windows; a signal can interrupt both.

pub mod file;
pub mod screen;
pub mod second_signal;

use crate::failure::Failure;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// Bytes that a pipe accepts without blocking when poll(2) calls it writable (pipe(7), PIPE_BUF).
const CHUNK: usize = 4096;

/// Catches SIGINT, SIGTERM and SIGHUP. The first one asks for an orderly end; a later SIGINT or
/// SIGTERM ends the program at once, whatever it does.
pub struct Signals {
    wake: UnixStream,
    /// The end to which handlers write.
    sender: UnixStream,
    /// The first signal that came.
    caught: Arc<AtomicI32>,
    /// True if a service got SIGHUP.
    reload: Arc<AtomicBool>,
}

impl Signals {
    /// Catches these signals from now on.
    ///
    /// # Errors
    /// The kernel refuses a socket pair or a handler.
    pub fn new() -> Result<Signals, Failure> {
        Signals::taken(&[SIGINT, SIGTERM, SIGHUP]).map_err(Failure::cannot("catch signals"))
    }

    /// Catches the signals of a service, in which SIGHUP only asks to read the settings again.
    ///
    /// # Errors
    /// The kernel refuses a socket pair or a handler.
    pub fn of_a_service() -> Result<Signals, Failure> {
        let taken = Signals::taken(&[SIGINT, SIGTERM]);
        let signals = taken.map_err(Failure::cannot("catch signals"))?;
        let wished = signals.hears_hang_ups().map_err(Failure::cannot("catch signals"));
        wished.map(|()| signals)
    }

    fn hears_hang_ups(&self) -> io::Result<()> {
        let sender = self.sender.try_clone()?;
        signal_hook::flag::register(SIGHUP, self.reload.clone())?;
        signal_hook::low_level::pipe::register(SIGHUP, sender)?;
        interrupts(SIGHUP)
    }

    fn taken(ends: &[i32]) -> io::Result<Signals> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let caught = Arc::new(AtomicI32::new(0));
        let ignored = ignored();
        for &signal in ends {
            // nohup(1), and shells that start a background job, ignore signals on purpose.
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            let first = caught.clone();
            let note = move || {
                let _ = first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
                // A terminal that hangs up may send SIGHUP twice, itself and through its shell.
                second_signal::note_signal(signal, signal != SIGHUP);
            };
            // SAFETY: the handler uses only atomics and system calls that a handler may make.
            unsafe { signal_hook::low_level::register(signal, note)? };
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
            interrupts(signal)?;
        }
        Ok(Signals { wake, sender, caught, reload: Arc::default() })
    }

    /// Readable once a signal came.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// The signal that came.
    pub fn caught(&self) -> Option<i32> {
        let mut bytes = [0; 16];
        while (&self.wake).read(&mut bytes).is_ok_and(|n| n > 0) {}
        Some(self.caught.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// True once for each request to read the settings again.
    pub fn asks_to_reload(&self) -> bool {
        self.reload.swap(false, Ordering::SeqCst)
    }

    /// The failure; or the signal that came, which may have caused it.
    pub fn or(&self, failure: Failure) -> Failure {
        self.caught().map_or(failure, Failure::Signal)
    }

    /// Sleeps until this time.
    ///
    /// # Errors
    /// A signal came first.
    pub fn sleep_until(&self, then: Instant) -> Result<(), Failure> {
        self.wait(then, &[]).map(|_| ())
    }

    /// Sleeps until this time, or until one of `inputs` is readable: its index. A time that has
    /// passed still checks the inputs.
    ///
    /// # Errors
    /// A signal came first.
    pub fn wait(&self, then: Instant, inputs: &[BorrowedFd]) -> Result<Option<usize>, Failure> {
        loop {
            if let Some(signal) = self.caught() {
                return Err(Failure::Signal(signal));
            }
            let left = then.saturating_duration_since(Instant::now());
            let timeout =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let mut fds: Vec<PollFd> =
                inputs.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            fds.push(PollFd::new(&self.wake, PollFlags::IN));
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Failure::cannot("wait")(error)),
            }
            // Hang-ups too: the read will report them.
            let ready = fds[..inputs.len()].iter().position(|fd| !fd.revents().is_empty());
            if ready.is_some() && self.caught.load(Ordering::SeqCst) == 0 {
                return Ok(ready);
            }
            if left.is_zero() && self.caught.load(Ordering::SeqCst) == 0 {
                return Ok(None);
            }
        }
    }

    /// Writes all bytes to standard output. It waits for a slow reader, but a signal ends the wait.
    ///
    /// # Errors
    /// Standard output cannot be written, or a signal came.
    pub fn write(&self, mut bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout();
        out.flush().map_err(not_written)?;
        while !bytes.is_empty() {
            self.wait_writable(&out)?;
            // Not through std's buffer, which cuts each chunk at its last line.
            match rustix::io::write(&out, &bytes[..bytes.len().min(CHUNK)]) {
                Ok(n) => bytes = &bytes[n..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(not_written(error.into())),
            }
        }
        Ok(())
    }

    fn wait_writable(&self, out: &impl AsFd) -> Result<(), Failure> {
        loop {
            let mut fds =
                [PollFd::new(out, PollFlags::OUT), PollFd::new(&self.wake, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(not_written(error.into())),
            }
            // Errors too: the write will report them.
            if !fds[0].revents().is_empty() {
                return Ok(());
            }
            if let Some(signal) = self.caught() {
                return Err(Failure::Signal(signal));
            }
        }
    }
}

/// Makes system calls return when this signal interrupts them. signal-hook's handlers let the
/// kernel restart them (SA_RESTART, sigaction(2)).
fn interrupts(signal: i32) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: room for the action; the same action goes back with one flag less.
    unsafe {
        if libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut action = action.assume_init();
        action.sa_flags &= !libc::SA_RESTART;
        match libc::sigaction(signal, &action, ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The failure to write the output.
pub fn not_written(error: io::Error) -> Failure {
    Failure::cannot("write the output")(error)
}

/// The signals that this program was started to ignore, as a mask (proc_pid_status(5)).
pub fn ignored() -> u64 {
    std::fs::read("/proc/self/status").ok().and_then(|status| sigign(&status)).unwrap_or(0)
}

/// `SigIgn` in a status file, whose name field may hold any byte.
fn sigign(status: &[u8]) -> Option<u64> {
    let mask = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"SigIgn:"))?;
    u64::from_str_radix(std::str::from_utf8(mask).ok()?.trim(), 16).ok()
}

/// Prints a whole text.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).map_err(not_written)
}

/// A progress bar with the remaining time, on a terminal.
#[cfg(feature = "bpf")]
pub fn bar(template: &str, steps: u64) -> indicatif::ProgressBar {
    if !io::IsTerminal::is_terminal(&io::stderr()) {
        return indicatif::ProgressBar::hidden();
    }
    let style = indicatif::ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar());
    indicatif::ProgressBar::new(steps).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::sigign;

    #[test]
    fn ignored_signals_are_found_behind_a_name_of_any_bytes() {
        assert_eq!(sigign(b"Name:\tno\xffhup\nSigIgn:\t0000000000000001\n"), Some(1));
        assert_eq!(sigign(b"Name:\tx\n"), None);
    }
}
