//! Standard output and the time between windows, both of which a signal can cut short.

#[cfg(feature = "bpf")]
pub mod file;
pub mod second_signal;

use crate::failure::Failure;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// As much as a pipe that poll(2) calls writable takes without blocking (pipe(7), PIPE_BUF).
const CHUNK: usize = 4096;

/// Notices SIGINT, SIGTERM and SIGHUP. The first asks for an end in good order; a SIGINT or SIGTERM
/// after that ends the program at once, whatever it is doing.
pub struct Signals {
    wake: UnixStream,
    /// The first that came.
    caught: Arc<AtomicI32>,
}

impl Signals {
    /// From now on the first of these signals no longer ends the program at once.
    ///
    /// # Errors
    /// When the kernel refuses a socket pair or a handler.
    pub fn new() -> Result<Signals, Failure> {
        Signals::taken().map_err(Failure::cannot("catch signals"))
    }

    fn taken() -> io::Result<Signals> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let caught = Arc::new(AtomicI32::new(0));
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // nohup(1) and shells that start a job in the background mean it.
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            let first = caught.clone();
            let note = move || {
                let _ = first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
                // A terminal that hangs up may say so twice, itself and by its shell.
                second_signal::came(signal, signal != SIGHUP);
            };
            // SAFETY: only atomics and system calls that a handler may make.
            unsafe { signal_hook::low_level::register(signal, note)? };
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
            interrupts(signal)?;
        }
        Ok(Signals { wake, caught })
    }

    fn caught(&self) -> Option<i32> {
        let mut bytes = [0; 16];
        while (&self.wake).read(&mut bytes).is_ok_and(|n| n > 0) {}
        Some(self.caught.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }

    /// What failed; or the signal that came, which may be why.
    pub fn or(&self, failure: Failure) -> Failure {
        self.caught().map_or(failure, Failure::Signal)
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
                Err(error) => return Err(Failure::cannot("wait")(error)),
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
            match out.write(&bytes[..bytes.len().min(CHUNK)]) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(not_written(error)),
            }
            out.flush().map_err(not_written)?;
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

/// A system call that this signal interrupts comes back and says so; signal-hook's handlers have
/// the kernel begin it again (SA_RESTART, sigaction(2)).
fn interrupts(signal: i32) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: room for the action; the same goes back with one flag less.
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

/// The failure of who cannot say what there is to say.
pub fn not_written(error: io::Error) -> Failure {
    Failure::cannot("write the output")(error)
}

/// The set of signals this program was started to ignore (proc_pid_status(5)).
pub fn ignored() -> u64 {
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
    out.write_all(text.as_ref()).and_then(|()| out.flush()).map_err(not_written)
}

/// A bar with the time that is left, on a terminal.
#[cfg(feature = "bpf")]
pub fn bar(template: &str, steps: u64) -> indicatif::ProgressBar {
    if !io::IsTerminal::is_terminal(&io::stderr()) {
        return indicatif::ProgressBar::hidden();
    }
    let style = indicatif::ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar());
    indicatif::ProgressBar::new(steps).with_style(style)
}
