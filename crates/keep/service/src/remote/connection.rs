//! The connection to a daemon, and the thread that reads from it: merged snapshots, and why the
//! stream ended.

use crate::ask::{Answer, ReaderMessage};
use crate::error::ServiceError;
use exactop_model::ledger::merged::Merged;
use exactop_model::text::escape::harmless;
use exactop_recording::stream::{Incoming, StreamError, StreamItem};
use exactop_recording::RecordingInfo;
use exactop_sources::{own_rights, pid_namespace};
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::thread::CapabilitySet;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes per read.
const CHUNK: usize = 1 << 16;
/// Longest wait for bytes sent before the connection ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What has been received.
#[derive(Debug, Default)]
pub struct ReceivedWindow {
    pub merged: Merged,
    pub about: Option<Box<RecordingInfo>>,
    /// The daemon sends one sum for all processes outside this PID namespace.
    pub is_inside: bool,
    /// The tree of this process's children.
    pub follows: Option<FollowedTree>,
    ended: Option<Ended>,
}

impl ReceivedWindow {
    pub fn is_up_to(&self, after_ns: u64) -> bool {
        self.merged.at_ns().is_some_and(|at_ns| at_ns >= after_ns)
    }
}

/// The tree of this process's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedTree {
    pub tree: u32,
    /// Children are in it from the answer on, and not only from the next window on.
    pub from_now: bool,
}

/// Why the stream ended.
#[derive(Clone, Debug)]
pub enum Ended {
    Closed,
    Refused(String),
    Unreadable(StreamError),
}

#[derive(Debug, Default)]
pub struct Shared {
    came: Mutex<ReceivedWindow>,
    something: Condvar,
}

impl Shared {
    /// A poisoned lock is harmless: every state behind it is consistent.
    pub fn received(&self) -> MutexGuard<'_, ReceivedWindow> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection and the thread that reads from it. Dropping this ends both, so nothing is left of
/// it in the program. In a forked child the thread does not exist, and the connection belongs to
/// the parent.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    thread: Option<JoinHandle<()>>,
    pub opened_by: u32,
}

impl Connection {
    pub fn open(path: &Path, shared: &Arc<Shared>) -> Result<Connection, ServiceError> {
        let nobody = |error| ServiceError::unconnected(path, error);
        let stream = UnixStream::connect(path).map_err(nobody)?;
        let reading = stream.try_clone().map_err(nobody)?;
        let (theirs, ready) = (shared.clone(), Arc::new(Barrier::new(2)));
        let is_ready = ready.clone();
        // Started before the process gives up its rights, it would keep them.
        let thread = std::thread::Builder::new()
            .name("daemon".into())
            .spawn(move || {
                own_rights::give_up_all_but(CapabilitySet::empty());
                is_ready.wait();
                listen(reading, &theirs);
            })
            .map_err(|error| ServiceError::Io { what: "start a thread", error })?;
        ready.wait();
        Ok(Connection { stream, thread: Some(thread), opened_by: std::process::id() })
    }

    pub fn is_anothers(&self) -> bool {
        self.opened_by != std::process::id()
    }

    pub fn say(&mut self, said: &ReaderMessage) -> std::io::Result<()> {
        self.stream.write_all(&line(said)?)
    }

    /// Sends the hello with this process's PID namespace. A reader in its own namespace gets only
    /// that namespace's tasks.
    pub fn greet(&mut self, hello: &ReaderMessage) -> std::io::Result<()> {
        let line = line(hello)?;
        let namespace = pid_namespace::own().ok();
        let files: Vec<BorrowedFd> = namespace.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            beside.push(SendAncillaryMessage::ScmRights(&files));
        }
        let flags = SendFlags::NOSIGNAL;
        let sent = sendmsg(&self.stream, &[IoSlice::new(&line)], &mut beside, flags)?;
        self.stream.write_all(&line[sent..])
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_anothers() {
            // A forked child has no thread to join and must not end the connection.
            return std::mem::forget(self.thread.take());
        }
        // The shutdown ends the thread's read.
        let ended = self.stream.shutdown(Shutdown::Both);
        if let (Ok(()), Some(thread)) = (ended, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// Reads until the connection ends.
fn listen(mut stream: UnixStream, shared: &Shared) {
    let mut incoming = Incoming::new();
    let mut bytes = vec![0; CHUNK];
    let ended = loop {
        match stream.read(&mut bytes) {
            Ok(0) => break Ended::Closed,
            Ok(n) => incoming.push(&bytes[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break Ended::Closed,
        }
        if let Err(ended) = hear(&mut incoming, shared) {
            break ended;
        }
    };
    shared.received().ended.get_or_insert(ended);
    shared.something.notify_all();
}

fn hear(incoming: &mut Incoming, shared: &Shared) -> Result<(), Ended> {
    while let Some(heard) = incoming.next_item().map_err(Ended::Unreadable)? {
        let mut came = shared.received();
        match heard {
            StreamItem::Machine(about) => came.about = Some(about),
            // A keyframe for readers that connected later.
            StreamItem::Whole(_) if came.merged.at_ns().is_some() => {}
            StreamItem::Whole(whole) => {
                came.is_inside = whole.outside.is_some();
                came.merged.add(*whole);
            }
            StreamItem::Window(_, now) => came.merged.add(*now),
            StreamItem::Answer(json) => {
                came.follows = match serde_json::from_slice(&json) {
                    Ok(Answer::Follows(tree)) => Some(FollowedTree { tree, from_now: false }),
                    Ok(Answer::Followed(tree)) => Some(FollowedTree { tree, from_now: true }),
                    _ => came.follows,
                };
            }
            StreamItem::Word(said) => return Err(Ended::Refused(harmless(&said))),
        }
        drop(came);
        shared.something.notify_all();
    }
    Ok(())
}

fn line(said: &ReaderMessage) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    Ok(line)
}

/// Longest wait for an answer. After a failed request only the daemon's last message is waited for.
pub fn heard_within(refused: bool, patience: Duration) -> Duration {
    if refused {
        patience.min(LAST_WORDS)
    } else {
        patience
    }
}

/// What was received, once it reaches an instant.
pub fn awaited<'a>(
    path: &Path,
    shared: &'a Shared,
    after_ns: u64,
    most: Duration,
) -> Result<MutexGuard<'a, ReceivedWindow>, ServiceError> {
    let begun = Instant::now();
    came_within(path, shared, |came| came.is_up_to(after_ns), most)?.ok_or_else(|| {
        ServiceError::Silent { path: path.to_path_buf(), seconds: begun.elapsed().as_secs() }
    })
}

/// What was received, once `is` holds; `None` after the time is over.
pub fn came_within<'a>(
    path: &Path,
    shared: &'a Shared,
    is_it: impl Fn(&ReceivedWindow) -> bool,
    most: Duration,
) -> Result<Option<MutexGuard<'a, ReceivedWindow>>, ServiceError> {
    let begun = Instant::now();
    let mut came = shared.received();
    loop {
        if is_it(&came) {
            return Ok(Some(came));
        }
        let path = || path.to_path_buf();
        match came.ended.clone() {
            Some(Ended::Closed) => return Err(ServiceError::Closed(path())),
            Some(Ended::Refused(said)) => return Err(ServiceError::Refused { path: path(), said }),
            Some(Ended::Unreadable(error)) => {
                return Err(ServiceError::Stream { path: path(), error })
            }
            None => {}
        }
        let left = most.checked_sub(begun.elapsed()).filter(|left| !left.is_zero());
        let Some(left) = left else { return Ok(None) };
        let waited = shared.something.wait_timeout(came, left);
        came = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
