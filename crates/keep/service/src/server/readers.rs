//! One who reads: what they said, and what they have not read yet.
//!
//! All are sent the same bytes, each when a window ends that they asked for: a write wakes whoever reads,
//! and of the pieces between two of their own windows nobody makes anything alone. So what many cost
//! goes by how often they ask, not by how often the fastest of them does.

use super::pids::{self, Whose};
use super::refused_file;
use crate::ask::{Hello, Look, Said, Window, LONGEST};
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

/// Whoever left more unread, bytes, when the next piece comes is let go: some minutes of a busy machine.
const UNREAD: usize = 32 << 20;
/// Bytes that may wait for a reader while the daemon is short of memory.
const LITTLE_UNREAD: usize = 1 << 20;
/// So much waits for a reader's own window to end, bytes: what a socket takes at once.
const HELD: usize = 64 << 10;
/// Whoever asks for nothing for so long keeps no place.
const IDLE_NS: u64 = 60_000_000_000;
/// How often somebody may look who does not say how often.
const UNSAID_NS: u64 = 10_000_000_000;
/// What is wanted so seldom is wanted for so long only.
const SELDOM_NS: u64 = 3_600_000_000_000;
/// Pieces that are written with one call.
const PIECES: usize = 32;

/// How far somebody has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Connected.
    New,
    /// Said who they are.
    Greeted,
    /// Gets all that is sent.
    Follows,
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoke {
    /// A window is to end.
    Window(Window),
    /// A window of programs on demand is to end.
    Look(Look),
    /// Their children are to be followed.
    Follow,
    /// What is no question.
    Wrong(String),
}

#[derive(Debug, PartialEq, Eq)]
enum Over {
    No,
    Gone,
    Stalled(usize),
}

/// Who reads.
#[derive(Debug)]
pub struct Reader {
    /// Which of all.
    pub number: u64,
    pub place: Place,
    /// Who they are, by the socket.
    pub uid: u32,
    /// What they asked for last.
    pub wants: Option<Window>,
    /// When they came, CLOCK_BOOTTIME.
    pub came_ns: u64,
    /// When they asked last, or came, CLOCK_MONOTONIC.
    asked_ns: u64,
    /// The PID namespace that they are told of; `None`: everyone.
    pub namespace: Option<Arc<PidNamespace>>,
    whose: Whose,
    /// A file that came with what they said.
    shown: Option<OwnedFd>,
    stream: UnixStream,
    said: Vec<u8>,
    unread: VecDeque<Arc<[u8]>>,
    /// Of the first piece.
    written: usize,
    unread_bytes: usize,
    /// Most bytes that may be unread when the next piece comes.
    most_unread: usize,
    /// What is unread is to be read now, and was not all written for want of room.
    is_full: bool,
    /// As was said last.
    was_full: bool,
    /// They wait for what is told next.
    is_awaited: bool,
    over: Over,
}

impl Reader {
    /// Who just came; `stream` does not block.
    pub fn new(number: u64, stream: UnixStream, (uid, whose): (u32, Whose), now_ns: u64) -> Reader {
        Reader {
            number,
            place: Place::New,
            uid,
            wants: None,
            came_ns: since_boot_ns(),
            asked_ns: now_ns,
            namespace: None,
            whose,
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
            over: Over::No,
        }
    }

    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Whether they wait for room, if that is news since the last call.
    pub fn fullness(&mut self) -> Option<bool> {
        let is_news = self.is_full != self.was_full;
        self.was_full = self.is_full;
        is_news.then_some(self.is_full)
    }

    /// Bounds what waits for it: windows of the past that it has not read.
    pub fn keep_history(&mut self, keeps: bool) {
        self.most_unread = if keeps { UNREAD } else { LITTLE_UNREAD };
    }

    /// They ask for something now.
    pub fn asks(&mut self, now_ns: u64) {
        self.asked_ns = now_ns;
    }

    /// What is to be measured for them: what they asked for last, until its ends are over and they have
    /// not asked for others.
    pub fn wants_at(&self, now_ns: u64) -> Option<&Window> {
        let window = self.wants.as_ref()?;
        let interval_ns = window.interval_ns.unwrap_or(UNSAID_NS).clamp(SHORTEST_NS, SELDOM_NS);
        let ends = window.ends.unwrap_or(1).clamp(1, MOST_ENDS);
        let for_ns = interval_ns * (u64::from(ends) + 2) + UNSAID_NS;
        (now_ns <= self.asked_ns.saturating_add(for_ns)).then_some(window)
    }

    /// Whether they have a place and have asked for nothing.
    pub fn is_idle(&self, now_ns: u64) -> bool {
        self.wants.is_none() && now_ns.saturating_sub(self.asked_ns) > IDLE_NS
    }

    /// Waits for the beginning.
    pub fn is_due(&self) -> bool {
        self.place == Place::Greeted && self.wants.is_some()
    }

    /// Whether they have asked for windows: until then nothing is made for them.
    pub fn is_told(&self) -> bool {
        self.wants.is_some()
    }

    /// Whether it is done with.
    pub fn is_over(&self) -> bool {
        match self.over {
            Over::No => false,
            Over::Gone | Over::Stalled(_) => true,
        }
    }

    /// How much they had not read, if they were let go for that.
    pub fn stalled(&self) -> Option<usize> {
        match self.over {
            Over::Stalled(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Bytes that they have not read.
    #[cfg(test)]
    pub fn unread(&self) -> usize {
        self.unread_bytes
    }

    /// What they said.
    pub fn read(&mut self) -> Vec<Spoke> {
        let mut bytes = [0; LONGEST];
        match self.receive(&mut bytes) {
            Ok(0) => self.over = Over::Gone,
            Ok(n) => self.said.extend_from_slice(&bytes[..n]),
            Err(error) if is_for_later(&error) => {}
            Err(_) => self.over = Over::Gone,
        }
        let mut spoke = Vec::new();
        while let Some(end) = self.said.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            spoke.extend(self.line(&line[..end]));
            if matches!(spoke.last(), Some(Spoke::Wrong(_))) {
                return spoke;
            }
        }
        if self.said.len() > LONGEST {
            self.said.clear();
            spoke.push(Spoke::Wrong(format!("a line of more than {LONGEST} bytes")));
        }
        spoke
    }

    /// Reads; with the first words of somebody whose numbers are not the machine's a file may come.
    fn receive(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let may_show = self.place == Place::New && matches!(self.whose, Whose::Theirs);
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

    /// Whether they are told of this namespace.
    pub fn is_in(&self, namespace: &PidNamespace) -> bool {
        self.namespace.as_ref().is_some_and(|own| own.id() == namespace.id())
    }

    /// They said who they are.
    fn greet(&mut self, hello: &Hello) -> Result<(), String> {
        speaks(hello)?;
        let shown = self.shown.take();
        self.namespace = match self.whose {
            Whose::Hosts => None,
            Whose::Theirs => Some(Arc::new(pids::shown(&self.stream, shown)?)),
        };
        self.place = Place::Greeted;
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Option<Spoke> {
        let said = match serde_json::from_slice(line) {
            Ok(said) => said,
            Err(error) => return Some(Spoke::Wrong(wrong(line, &error))),
        };
        match said {
            Said::Hello(hello) if self.place == Place::New => {
                self.greet(&hello).err().map(Spoke::Wrong)
            }
            Said::Window(window) if self.place != Place::New => {
                self.wants = Some(window.clone());
                Some(Spoke::Window(window))
            }
            Said::Look(look) if self.place != Place::New => Some(Spoke::Look(look)),
            Said::Follow(_) if self.place != Place::New => Some(Spoke::Follow),
            Said::Hello(_) => Some(Spoke::Wrong("a second hello".into())),
            Said::Window(_) | Said::Look(_) | Said::Follow(_) => {
                Some(Spoke::Wrong("the first line is no hello".into()))
            }
        }
    }

    /// A window is told next that they asked for.
    pub fn awaits_next(&mut self) {
        self.is_awaited = true;
    }

    /// They get all that is sent from here on, the next piece at once.
    pub fn follow(&mut self, beginning: &Arc<[u8]>) {
        self.place = Place::Follows;
        self.is_awaited = true;
        self.keep(beginning);
    }

    /// Tells it: now if they wait for that, else with what they wait for.
    pub fn tell(&mut self, bytes: &Arc<[u8]>) {
        self.keep(bytes);
        let is_awaited = std::mem::take(&mut self.is_awaited);
        // Where there was no room, whoever reads makes some.
        if !self.is_full && (is_awaited || self.unread_bytes > HELD) {
            self.write();
        }
    }

    /// Sends a piece, now or when it is read.
    pub fn send(&mut self, bytes: &Arc<[u8]>) {
        self.keep(bytes);
        self.write();
    }

    fn keep(&mut self, bytes: &Arc<[u8]>) {
        if self.over != Over::No {
            return;
        }
        // One piece may be longer than that: what counts is what they left of those before.
        if self.unread_bytes > self.most_unread {
            self.over = Over::Stalled(self.unread_bytes);
            return;
        }
        self.unread.push_back(bytes.clone());
        self.unread_bytes += bytes.len();
    }

    /// Says why not, if that can be said at once, and ends: nobody is waited for who was refused.
    pub fn refuse(&mut self, why: &str) {
        if let Ok(bytes) = word(why) {
            self.send(&bytes.into());
        }
        self.over = Over::Gone;
    }

    /// Writes what can be written.
    pub fn write(&mut self) {
        if self.over != Over::No {
            return;
        }
        match self.write_all() {
            Ok(()) => self.is_full = false,
            Err(error) if is_for_later(&error) => self.is_full = true,
            Err(_) => self.over = Over::Gone,
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

/// As start times of processes are told.
fn since_boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn is_for_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Who reads an earlier format than the one that is sent could make nothing of it.
fn speaks(hello: &Hello) -> Result<(), String> {
    match hello.format >= FORMAT {
        true => Ok(()),
        false => Err(format!(
            "format {} is not spoken here: exactop {} speaks format {FORMAT}, and you are exactop {}: take that version",
            hello.format,
            env!("CARGO_PKG_VERSION"),
            escape_str(&hello.exactop),
        )),
    }
}

/// What somebody said is theirs: escaped, and cut.
fn wrong(line: &[u8], error: &serde_json::Error) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
    format!("'{}' is no question: {error}", escape_str(&text))
}
