//! An output file that the user names. It may be a FIFO or a device: then exactop waits for its
//! reader, and a signal ends the wait.

use super::{Signals, CHUNK};
use crate::failure::Failure;
use exactop_files::{Await, Output};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::fstat;
use rustix::io::Errno;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval between two checks for a reader.
const BEAT: Duration = Duration::from_millis(50);
/// Longest time that a reader may accept nothing after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// An open output.
pub struct Sink<'a> {
    output: Output,
    path: PathBuf,
    signals: &'a Signals,
}

impl<'a> Sink<'a> {
    /// Opens a file; a FIFO once it has a reader.
    ///
    /// # Errors
    /// The file cannot be opened, or a signal came first.
    pub fn open(path: &Path, signals: &'a Signals) -> Result<Sink<'a>, Failure> {
        loop {
            match Output::open(path).map_err(|error| Failure::Failed(error.into()))? {
                Await::Ready(output) => return Ok(Sink { output, path: path.into(), signals }),
                Await::NoReader => signals.sleep_until(Instant::now() + BEAT)?,
            }
        }
    }

    /// True if standard output is the same file, as with /dev/stdout.
    pub fn is_stdout(&self) -> bool {
        let of = |fd: BorrowedFd| fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino));
        of(self.output.as_fd()).is_some_and(|own| of(io::stdout().as_fd()) == Some(own))
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// The file cannot be written, for example on a full disk, or a signal came and the reader
    /// accepts nothing.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        if !self.output.is_stream() {
            return self.output.write_all(bytes).map_err(|error| self.failed(error));
        }
        while !bytes.is_empty() {
            self.room()?;
            match self.output.write(&bytes[..bytes.len().min(CHUNK)]) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if is_for_now(&error) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// Waits until bytes can be written, or an error is known.
    fn room(&self) -> Result<(), Failure> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: BEAT.subsec_nanos().into() };
        let mut ended: Option<Instant> = None;
        loop {
            match poll(&mut [PollFd::new(&self.output, PollFlags::OUT)], Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(self.failed(errno.into())),
            }
            if let Err(signal) = self.signals.sleep_until(Instant::now()) {
                if ended.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    return Err(signal);
                }
            }
        }
    }

    fn failed(&self, error: io::Error) -> Failure {
        let what = format!("cannot write {}", self.path.display());
        Failure::Failed(anyhow::Error::new(error).context(what))
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Writes a whole text.
///
/// # Errors
/// The file cannot be opened or written, or a signal came first.
#[cfg(feature = "bpf")]
pub fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let signals = Signals::new()?;
    Sink::open(path, &signals)?.write(text.as_bytes())
}
