//! Reads events of the terminal in a thread. The library's reads do not fit into the view's loop:
//! inside an unfinished escape sequence they wait for its end, and a read with a time limit may
//! leave events in the library's buffer, where no poll(2) sees them until the next key.

use crossterm::event::{self, Event};
use rustix::event::{poll, PollFd, PollFlags};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Most events of a batch: a user who holds a key must see its effect.
pub(crate) const MOST_EVENTS: usize = 256;

/// Longest pause between two events of a batch.
const PAUSE: Duration = Duration::from_millis(1);

/// Longest wait for the next event of a batch, or for its end.
const PATIENCE: Duration = Duration::from_millis(5);

/// Longest wait for the thread at the end: inside an unfinished escape sequence it cannot be woken.
const LAST_WAIT: Duration = Duration::from_millis(100);

/// The events of the terminal, in batches. A process has one value. Dropping it ends the thread, so
/// that what the user types next goes to the program that has the terminal next.
pub(crate) struct Keyboard {
    /// `None` ends a batch: the thread waits for permission to read the next.
    events: Receiver<Option<io::Result<Event>>>,
    /// `None` at the end.
    permit: Option<Sender<()>>,
    /// Its end wakes a thread that waits for keys.
    stop: Option<UnixStream>,
    /// True if the thread waits for permission.
    rests: bool,
    /// True if an event of the batch was taken: the next one or the end comes soon.
    inside: bool,
    /// Readable after each message in `events`.
    wake: UnixStream,
}

impl Keyboard {
    /// Starts the thread, which reads nothing before [`Keyboard::go_on`]. `input`: the terminal.
    pub(crate) fn new(input: OwnedFd) -> io::Result<Keyboard> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (stop, stopped) = UnixStream::pair()?;
        let (permit, permits) = channel();
        let (sender, events) = channel();
        thread::Builder::new().name("keyboard".into()).spawn(move || {
            let tell = |message| sender.send(message).is_ok() && (&waker).write_all(&[0]).is_ok();
            let has_keys = || waits_for_keys(&input, &stopped);
            while permits.recv().is_ok() && has_keys() && read_batch(&tell) {}
        })?;
        let (permit, stop) = (Some(permit), Some(stop));
        Ok(Keyboard { events, permit, stop, rests: true, inside: false, wake })
    }

    /// Readable if [`Keyboard::next`] may have an event.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Lets the thread read the next batch. Before this, what the user types stays with the
    /// terminal, for the program that has it next.
    pub(crate) fn go_on(&mut self) {
        if let (true, Some(permit)) = (std::mem::take(&mut self.rests), &self.permit) {
            // The thread ends only after an error, which `next` returns.
            let _ = permit.send(());
        }
    }

    /// The next event of a batch; `None` if the batch is over or takes longer.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        // Before the look: a message that comes later wakes again.
        let mut bytes = [0; 64];
        while matches!((&self.wake).read(&mut bytes), Ok(n) if n > 0) {}
        let patience = if self.inside { PATIENCE } else { Duration::ZERO };
        let message = self.events.recv_timeout(patience);
        self.inside = matches!(message, Ok(Some(_)));
        self.rests |= matches!(message, Ok(None));
        message.ok().flatten().transpose()
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        (self.permit, self.stop) = (None, None);
        let until = Instant::now() + LAST_WAIT;
        // Events that come now are dropped with it. The channel ends with the thread.
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if matches!(self.events.recv_timeout(left), Err(RecvTimeoutError::Disconnected)) {
                break;
            }
        }
    }
}

/// Waits until the terminal has something to read; false at the end of the view. An event in the
/// library's buffer is not seen by poll(2).
fn waits_for_keys(input: &OwnedFd, stopped: &UnixStream) -> bool {
    if event::poll(Duration::ZERO).unwrap_or(true) {
        return true;
    }
    let mut fds = [PollFd::new(input, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
    loop {
        match poll(&mut fds, None) {
            Ok(_) => return fds[1].revents().is_empty(),
            Err(rustix::io::Errno::INTR) => {}
            // The read then has the error.
            Err(_) => return true,
        }
    }
}

/// Reads and tells a batch; false if the terminal cannot be read or nobody listens.
fn read_batch(tell: &impl Fn(Option<io::Result<Event>>) -> bool) -> bool {
    for _ in 0..MOST_EVENTS {
        let event = event::read();
        let failed = event.is_err();
        if !tell(Some(event)) || failed {
            return false;
        }
        // A false answer may be wrong; the next batch then begins with that event.
        if !event::poll(PAUSE).unwrap_or(true) {
            break;
        }
    }
    tell(None)
}
