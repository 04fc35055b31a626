//! A file that someone names for output. It may be a FIFO or a device on purpose: then whoever is
//! behind it is waited for, and a signal ends the wait.

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

/// How often it is looked whether someone reads.
const BEAT: Duration = Duration::from_millis(50);
/// How long a reader may take nothing once a signal came.
const GRACE: Duration = Duration::from_secs(1);

/// An output that is open.
pub struct Sink<'a> {
    output: Output,
    path: PathBuf,
    signals: &'a Signals,
}

impl<'a> Sink<'a> {
    /// Opens it; a FIFO once it has a reader.
    ///
    /// # Errors
    /// Why not, or the signal that came first.
    pub fn open(path: &Path, signals: &'a Signals) -> Result<Sink<'a>, Failure> {
        loop {
            match Output::open(path).map_err(|error| Failure::Failed(error.into()))? {
                Await::Ready(output) => return Ok(Sink { output, path: path.into(), signals }),
                Await::NoReader => signals.sleep_until(Instant::now() + BEAT)?,
            }
        }
    }

    /// Whether standard output is the same file, as with /dev/stdout.
    pub fn is_stdout(&self) -> bool {
        let of = |fd: BorrowedFd| fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino));
        of(self.output.as_fd()).is_some_and(|own| of(io::stdout().as_fd()) == Some(own))
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Of a full disk too, and the signal when who reads takes nothing any more.
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

    /// Waits until something can be written, or an error told.
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

/// Writes a text that is ready as a whole.
///
/// # Errors
/// As above.
#[cfg(feature = "bpf")]
pub fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let signals = Signals::new()?;
    Sink::open(path, &signals)?.write(text.as_bytes())
}
