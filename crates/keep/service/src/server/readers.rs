//! A reader: its requests, and the bytes that it has not read yet.
//!
//! All readers get the same bytes. Each gets them when a window ends that it requested, because a
//! write wakes the reader. Windows that end in between are held back for it. So the cost of a
//! reader depends on its own interval, not on the fastest reader's.

use super::pids::{self, PidNumbering};
use super::refused_file;
use crate::ask::{Follow, Hello, Look, ReaderMessage, Window, LONGEST};
use crate::beat::MOST_ENDS;
use crate::schedule::SHORTEST_NS;
use exactop_model::text::escape::escape_str;
use exactop_recording::stream::word;
use exactop_recording::FORMAT;
use exactop_sources::pid_namespace::{self, PidNamespace};
use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::time::{clock_gettime, ClockId};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Most unread bytes when the next piece comes; a reader above it is disconnected. Some minutes of
/// a busy machine.
const UNREAD: usize = 32 << 20;
/// The same limit while the daemon is short of memory.
const LITTLE_UNREAD: usize = 1 << 20;
/// Most bytes held back until the reader's own window ends: one write of the socket.
const MOST_HELD_BACK: usize = 64 << 10;
/// Idle timeout of a reader before its first request for windows, ns.
const IDLE_NS: u64 = 60_000_000_000;
/// Assumed interval of a reader that does not state one, ns.
const ASSUMED_INTERVAL_NS: u64 = 10_000_000_000;
/// Longest interval by which needs are kept, ns.
const LONGEST_INTERVAL_NS: u64 = 3_600_000_000_000;
/// Most pieces per write.
const PIECES: usize = 32;

/// Progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderStage {
    /// Connected.
    New,
    /// The hello was received.
    Greeted,
    /// The reader gets the stream.
    Follows,
}

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReaderCommand {
    /// A window's end.
    Window(Window),
    /// An on-demand window.
    Look(Look),
    /// Following of the reader's children.
    Follow(Follow),
    /// Invalid: the reason.
    Wrong(String),
}

#[derive(Debug, PartialEq, Eq)]
enum ReaderEnd {
    No,
    Gone,
    Stalled(usize),
}

/// A connected reader.
#[derive(Debug)]
pub struct Reader {
    /// Reader number, unique in this server.
    pub number: u64,
    pub stage: ReaderStage,
    /// User id, from the socket.
    pub uid: u32,
    /// Last request for windows.
    pub wants: Option<Window>,
    /// When it connected, CLOCK_BOOTTIME ns.
    pub came_ns: u64,
    /// Last request, or connection, CLOCK_MONOTONIC ns.
    asked_ns: u64,
    /// PID namespace that it reads; `None` for the host.
    pub namespace: Option<Arc<PidNamespace>>,
    whose: PidNumbering,
    /// Why windows are refused: its namespace is not confirmed.
    unconfirmed: Option<String>,
    /// A namespace file received with the hello.
    shown: Option<OwnedFd>,
    stream: UnixStream,
    said: Vec<u8>,
    unread: VecDeque<Arc<[u8]>>,
    /// Bytes of the first piece that were written.
    written: usize,
    unread_bytes: usize,
    /// Most unread bytes when the next piece comes.
    most_unread: usize,
    /// The socket was full: the rest is written when there is room.
    is_full: bool,
    /// `is_full` at the last call of `fullness`.
    was_full: bool,
    /// It waits for the next window.
    is_awaited: bool,
    over: ReaderEnd,
}

impl Reader {
    /// A new reader; `stream` is non-blocking.
    pub fn new(
        number: u64,
        stream: UnixStream,
        (uid, whose): (u32, PidNumbering),
        now_ns: u64,
    ) -> Reader {
        Reader {
            number,
            stage: ReaderStage::New,
            uid,
            wants: None,
            came_ns: since_boot_ns(),
            asked_ns: now_ns,
            namespace: None,
            whose,
            unconfirmed: None,
            shown: None,
            stream,
            said: Vec::new(),
            unread: VecDeque::new(),
            written: 0,
            unread_bytes: 0,
            most_unread: UNREAD,
            is_full: false,
            was_full: false,
            is_awaited: false,
            over: ReaderEnd::No,
        }
    }

    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Returns `is_full` if it changed since the last call.
    pub fn fullness(&mut self) -> Option<bool> {
        let is_news = self.is_full != self.was_full;
        self.was_full = self.is_full;
        is_news.then_some(self.is_full)
    }

    /// Sets the limit of unread bytes.
    pub fn keep_history(&mut self, keeps: bool) {
        self.most_unread = if keeps { UNREAD } else { LITTLE_UNREAD };
    }

    /// Notes a request.
    pub fn asks(&mut self, now_ns: u64) {
        self.asked_ns = now_ns;
    }

    /// The request to measure for: the last one, until its ends are over and no new request has
    /// come.
    pub fn wants_at(&self, now_ns: u64) -> Option<&Window> {
        let window = self.wants.as_ref()?;
        let interval_ns = window
            .interval_ns
            .unwrap_or(ASSUMED_INTERVAL_NS)
            .clamp(SHORTEST_NS, LONGEST_INTERVAL_NS);
        let ends = window.ends.unwrap_or(1).clamp(1, MOST_ENDS);
        let for_ns = interval_ns * (u64::from(ends) + 2) + ASSUMED_INTERVAL_NS;
        (now_ns <= self.asked_ns.saturating_add(for_ns)).then_some(window)
    }

    /// True if it has never requested windows and the idle timeout has passed.
    pub fn is_idle(&self, now_ns: u64) -> bool {
        self.wants.is_none() && now_ns.saturating_sub(self.asked_ns) > IDLE_NS
    }

    /// True if the reader waits for the beginning of the stream.
    pub fn is_due(&self) -> bool {
        self.stage == ReaderStage::Greeted && self.wants.is_some()
    }

    /// True if the reader has requested windows: before that nothing is sent.
    pub fn has_requested(&self) -> bool {
        self.wants.is_some()
    }

    /// True if the connection is over.
    pub fn is_over(&self) -> bool {
        match self.over {
            ReaderEnd::No => false,
            ReaderEnd::Gone | ReaderEnd::Stalled(_) => true,
        }
    }

    /// Unread bytes, if the reader was disconnected because of them.
    pub fn stalled(&self) -> Option<usize> {
        match self.over {
            ReaderEnd::Stalled(bytes) => Some(bytes),
            _ => None,
        }
    }

    #[cfg(test)]
    pub fn unread(&self) -> usize {
        self.unread_bytes
    }

    /// Reads requests.
    pub fn read(&mut self) -> Vec<ReaderCommand> {
        let mut bytes = [0; LONGEST];
        match self.receive(&mut bytes) {
            Ok(0) => self.over = ReaderEnd::Gone,
            Ok(n) => self.said.extend_from_slice(&bytes[..n]),
            Err(error) if is_for_later(&error) => {}
            Err(_) => self.over = ReaderEnd::Gone,
        }
        let mut spoke = Vec::new();
        while let Some(end) = self.said.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            spoke.extend(self.line(&line[..end]));
            if matches!(spoke.last(), Some(ReaderCommand::Wrong(_))) {
                return spoke;
            }
        }
        if self.said.len() > LONGEST {
            self.said.clear();
            spoke.push(ReaderCommand::Wrong(format!("a line of more than {LONGEST} bytes")));
        }
        spoke
    }

    /// Reads bytes; a reader in a namespace may send its namespace file with the hello.
    fn receive(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let may_show = self.stage == ReaderStage::New && matches!(self.whose, PidNumbering::Theirs);
        if !may_show || refused_file::are_many() {
            return self.stream.read(bytes);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.stream, &mut [IoSliceMut::new(bytes)], &mut beside, flags)?;
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                for file in files {
                    match pid_namespace::looks_like_one(&file) {
                        true => self.shown = Some(file),
                        false => refused_file::close(file),
                    }
                }
            }
        }
        Ok(received.bytes)
    }

    /// True if the reader is in this namespace.
    pub fn is_in(&self, namespace: &PidNamespace) -> bool {
        self.namespace.as_ref().is_some_and(|own| own.id() == namespace.id())
    }

    /// True if the reader is in a PID namespace below the host's, confirmed or not.
    pub fn is_inside(&self) -> bool {
        self.whose == PidNumbering::Theirs
    }

    /// Handles the hello. Only windows need the namespace: other requests have reasons of their own
    /// to be refused.
    fn greet(&mut self, hello: &Hello) -> Result<(), String> {
        speaks(hello)?;
        let shown = self.shown.take();
        if self.is_inside() {
            match pids::shown(&self.stream, shown) {
                Ok(namespace) => self.namespace = Some(Arc::new(namespace)),
                Err(why) => self.unconfirmed = Some(why),
            }
        }
        self.stage = ReaderStage::Greeted;
        Ok(())
    }

    /// Handles a request for windows.
    fn request(&mut self, window: Window) -> ReaderCommand {
        match self.unconfirmed.clone() {
            Some(why) => ReaderCommand::Wrong(why),
            None => {
                self.wants = Some(window.clone());
                ReaderCommand::Window(window)
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Option<ReaderCommand> {
        let said = match serde_json::from_slice(line) {
            Ok(said) => said,
            Err(error) => return Some(ReaderCommand::Wrong(wrong(line, &error))),
        };
        match said {
            ReaderMessage::Hello(hello) if self.stage == ReaderStage::New => {
                self.greet(&hello).err().map(ReaderCommand::Wrong)
            }
            ReaderMessage::Window(window) if self.stage != ReaderStage::New => {
                Some(self.request(window))
            }
            ReaderMessage::Look(look) if self.stage != ReaderStage::New => {
                Some(ReaderCommand::Look(look))
            }
            ReaderMessage::Follow(follow) if self.stage != ReaderStage::New => {
                Some(ReaderCommand::Follow(follow))
            }
            ReaderMessage::Hello(_) => Some(ReaderCommand::Wrong("a second hello".into())),
            ReaderMessage::Window(_) | ReaderMessage::Look(_) | ReaderMessage::Follow(_) => {
                Some(ReaderCommand::Wrong("the first line is not a hello".into()))
            }
        }
    }

    /// The next window is one that the reader requested.
    pub fn awaits_next(&mut self) {
        self.is_awaited = true;
    }

    /// Starts the stream; the reader gets the next piece at once.
    pub fn follow(&mut self, beginning: &Arc<[u8]>) {
        self.stage = ReaderStage::Follows;
        self.is_awaited = true;
        self.keep(beginning);
    }

    /// Sends a piece now if the reader waits for it; else holds it back.
    pub fn tell(&mut self, bytes: &Arc<[u8]>) {
        self.keep(bytes);
        let is_awaited = std::mem::take(&mut self.is_awaited);
        // With a full socket, wait until the reader makes room.
        if !self.is_full && (is_awaited || self.unread_bytes > MOST_HELD_BACK) {
            self.write();
        }
    }

    /// Sends a piece now, or when there is room.
    pub fn send(&mut self, bytes: &Arc<[u8]>) {
        self.keep(bytes);
        self.write();
    }

    fn keep(&mut self, bytes: &Arc<[u8]>) {
        if self.over != ReaderEnd::No {
            return;
        }
        // One piece may exceed the limit: only earlier unread pieces count.
        if self.unread_bytes > self.most_unread {
            self.over = ReaderEnd::Stalled(self.unread_bytes);
            return;
        }
        self.unread.push_back(bytes.clone());
        self.unread_bytes += bytes.len();
    }

    /// Sends the reason if that is possible at once, and disconnects.
    pub fn refuse(&mut self, why: &str) {
        if let Ok(bytes) = word(why) {
            self.send(&bytes.into());
        }
        self.over = ReaderEnd::Gone;
    }

    /// Writes as much as the socket takes.
    pub fn write(&mut self) {
        if self.over != ReaderEnd::No {
            return;
        }
        match self.write_all() {
            Ok(()) => self.is_full = false,
            Err(error) if is_for_later(&error) => self.is_full = true,
            Err(_) => self.over = ReaderEnd::Gone,
        }
    }

    fn write_all(&mut self) -> std::io::Result<()> {
        while !self.unread.is_empty() {
            let pieces = self.unread.iter().take(PIECES).map(|piece| IoSlice::new(piece));
            let mut pieces: Vec<IoSlice> = pieces.collect();
            pieces[0].advance(self.written);
            let mut n = self.stream.write_vectored(&pieces)?;
            self.unread_bytes -= n;
            while let Some(piece) = self.unread.front() {
                let left = piece.len() - self.written;
                if n < left {
                    self.written += n;
                    break;
                }
                n -= left;
                self.written = 0;
                self.unread.pop_front();
            }
        }
        Ok(())
    }
}

/// Now, on the clock of process start times (CLOCK_BOOTTIME), ns.
fn since_boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn is_for_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// A reader of an earlier format could not decode the stream.
fn speaks(hello: &Hello) -> Result<(), String> {
    match hello.format >= FORMAT {
        true => Ok(()),
        false => Err(format!(
            "this reader (exactop {}) reads format {}, the daemon (exactop {}) sends format {FORMAT}: use the daemon's version",
            escape_str(&hello.exactop),
            hello.format,
            env!("CARGO_PKG_VERSION"),
        )),
    }
}

/// The error for an invalid line, quoted: escaped and truncated.
fn wrong(line: &[u8], error: &serde_json::Error) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
    format!("'{}' is not a valid request: {error}", escape_str(&text))
}
