//! Standard output and the time between windows, both of which a signal can cut short.

use crate::failure::Failure;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// As much as a pipe that poll(2) calls writable takes without blocking (pipe(7), PIPE_BUF).
const CHUNK: usize = 4096;

/// Notices SIGINT, SIGTERM and SIGHUP.
pub struct Signals {
    wake: UnixStream,
    caught: Arc<AtomicUsize>,
}

impl Signals {
    /// From now on these signals no longer end the program at once.
    ///
    /// # Errors
    /// When the kernel refuses a socket pair or a handler.
    pub fn new() -> io::Result<Signals> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let caught = Arc::new(AtomicUsize::new(0));
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // nohup(1) and shells that start a job in the background mean it.
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            signal_hook::flag::register_usize(signal, caught.clone(), signal as usize)?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Signals { wake, caught })
    }

    fn caught(&self) -> Option<i32> {
        let mut bytes = [0; 16];
        while (&self.wake).read(&mut bytes).is_ok_and(|n| n > 0) {}
        i32::try_from(self.caught.load(Ordering::SeqCst)).ok().filter(|&s| s != 0)
    }

    /// Sleeps until then.
    ///
    /// # Errors
    /// The signal that came first.
    pub fn sleep_until(&self, then: Instant) -> Result<(), Failure> {
        self.wait(then, &[]).map(|_| ())
    }

    /// Sleeps until then, or until one of `inputs` has something to read: its index.
    ///
    /// # Errors
    /// The signal that came first.
    pub fn wait(&self, then: Instant, inputs: &[BorrowedFd]) -> Result<Option<usize>, Failure> {
        loop {
            if let Some(signal) = self.caught() {
                return Err(Failure::Signal(signal));
            }
            let left = then.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let timeout =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let mut fds: Vec<PollFd> =
                inputs.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            fds.push(PollFd::new(&self.wake, PollFlags::IN));
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            // Hang-ups, too: the read will tell.
            let ready = fds[..inputs.len()].iter().position(|fd| !fd.revents().is_empty());
            if ready.is_some() && self.caught.load(Ordering::SeqCst) == 0 {
                return Ok(ready);
            }
        }
    }

    /// Writes everything to standard output. A reader that takes its time is waited for, but a
    /// signal ends the wait.
    ///
    /// # Errors
    /// Those of standard output, or the signal.
    pub fn write(&self, mut bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout();
        while !bytes.is_empty() {
            self.wait_writable(&out)?;
            let n = out.write(&bytes[..bytes.len().min(CHUNK)])?;
            out.flush()?;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    fn wait_writable(&self, out: &impl AsFd) -> Result<(), Failure> {
        loop {
            let mut fds =
                [PollFd::new(out, PollFlags::OUT), PollFd::new(&self.wake, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            // Errors too: the write will say which.
            if !fds[0].revents().is_empty() {
                return Ok(());
            }
            if let Some(signal) = self.caught() {
                return Err(Failure::Signal(signal));
            }
        }
    }
}

/// The set of signals this program was started to ignore (proc_pid_status(5)).
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Prints a text that is ready as a whole.
///
/// # Errors
/// Those of standard output.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())?;
    Ok(out.flush()?)
}
