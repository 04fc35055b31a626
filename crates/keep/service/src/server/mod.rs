//! The server: its socket, its readers and their requests, and one stream of bytes for all of them.

mod following;
mod inside;
mod looking;
mod pids;
mod readers;
mod ready;
mod refused_file;
mod shares;
mod socket;
mod telling;
#[cfg(test)]
mod tests;
mod visibility;

use crate::ask::{self, Follow, Look, Window};
use crate::beat::MOST_ENDS;
use crate::error::ServiceError;
use crate::notices::{Log, Notice};
use crate::schedule::{Schedule, WindowRequest};
use exactop_model::{Book, Needs, Snapshot};
use exactop_recording::stream::{self, word};
use exactop_recording::{FrameError, Machine};
use exactop_sources::FollowedProcess;
use following::{Asker, Following};
use inside::{too_many, Insides};
pub use looking::Attach;
use looking::{Probes, Reply};
use pids::PidNumbering;
use readers::{Reader, ReaderCommand, ReaderStage};
use ready::{Readiness, Ready};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::time::{clock_gettime, ClockId};
use shares::READERS;
use socket::Socket;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use telling::{SnapshotStream, WindowEnd};
use visibility::Visibility;

/// The combined needs of all readers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ReaderNeeds {
    /// Figures that cost extra.
    pub needs: Needs,
    /// The process to watch, of the first reader that requested one.
    pub watch: Option<u32>,
}

/// Message to a reader that is disconnected by the idle timeout.
const IDLE: &str = "no request for a minute: connect again";

/// Serves snapshots to readers.
#[derive(Debug)]
pub struct Server {
    socket: Socket,
    machine: Machine,
    telling: SnapshotStream,
    insides: Insides,
    readers: Vec<Reader>,
    ready: Ready,
    schedule: Schedule,
    looking: Probes,
    following: Following,
    numbers: u64,
    keeps_history: bool,
    notices: Vec<Notice>,
    log: Log,
}

impl Server {
    /// Listens at a path that only its owner and this group may use (`None`: only its owner).
    ///
    /// # Errors
    /// [`ServiceError`]: another daemon is there, or the socket cannot be created.
    pub fn listen(
        path: &Path,
        group: Option<u32>,
        machine: Machine,
    ) -> Result<Server, ServiceError> {
        Ok(Server {
            socket: Socket::listen(path, group)?,
            machine,
            telling: SnapshotStream::default(),
            insides: Insides::default(),
            readers: Vec::new(),
            ready: Ready::new().map_err(|error| ServiceError::Io { what: "wait", error })?,
            schedule: Schedule::default(),
            looking: Probes::new()
                .map_err(|error| ServiceError::Io { what: "make a pair of sockets", error })?,
            following: Following::default(),
            numbers: 0,
            keeps_history: true,
            notices: Vec::new(),
            log: Log::default(),
        })
    }

    /// Sets how on-demand programs are attached.
    pub fn attach_by(&mut self, attach: Attach) {
        self.looking.attach_by(attach);
    }

    /// Keeps 32 MiB of unread windows for a reader if `keeps`, else 1 MiB; a reader above that is
    /// disconnected.
    pub fn keep_history(&mut self, keeps: bool) {
        self.keeps_history = keeps;
        self.readers.iter_mut().for_each(|reader| reader.keep_history(keeps));
    }

    /// Number of connected readers.
    pub fn readers(&self) -> usize {
        self.readers.len()
    }

    /// New notices, at most one of each kind a second.
    pub fn notices(&mut self) -> Vec<Notice> {
        self.log.take(std::mem::take(&mut self.notices), now_ns())
    }

    /// Needs of the next window.
    pub fn reader_needs(&self) -> ReaderNeeds {
        self.reader_needs_at(now_ns())
    }

    fn reader_needs_at(&self, now_ns: u64) -> ReaderNeeds {
        let asks = self.readers.iter().filter_map(|reader| reader.wants_at(now_ns));
        // In a reader's PID namespace, this PID is another process.
        let of_all = self.readers.iter().filter(|reader| reader.namespace.is_none());
        ReaderNeeds {
            needs: asks.fold(Needs::NONE, |needs, ask| needs | ask.needs()),
            watch: of_all.filter_map(|reader| reader.wants_at(now_ns)?.watch).next(),
        }
    }

    /// Disconnects the readers of followed commands, with the reason: the source cannot follow.
    pub fn refuse_followers(&mut self, why: &str) {
        let them = self.following.take_askers();
        let readers = self.readers.iter_mut().filter(|reader| them.contains(&reader.number));
        readers.for_each(|reader| reader.refuse(why));
    }

    /// Processes whose descendants get a tree number from now on.
    pub fn followed(&self) -> Vec<FollowedProcess> {
        self.following.all()
    }

    /// When the next window should end, CLOCK_MONOTONIC ns; `None` if no reader waits.
    pub fn due_ns(&self) -> Option<u64> {
        self.schedule.due_ns()
    }

    /// True if a window should end now.
    pub fn is_due(&self) -> bool {
        self.due_ns().is_some_and(|due_ns| due_ns <= now_ns())
    }

    /// Serves the socket for at most this long, or until a window is due or one of `others` is
    /// readable. Returns which of `others` are readable.
    pub fn serve(
        &mut self,
        most: Duration,
        others: &[BorrowedFd],
    ) -> Result<Vec<bool>, ServiceError> {
        let mut files: Vec<PollFd> =
            others.iter().map(|&other| PollFd::from_borrowed_fd(other, PollFlags::IN)).collect();
        files.push(PollFd::new(self.socket.listener(), PollFlags::IN));
        files.push(PollFd::from_borrowed_fd(self.looking.file(), PollFlags::IN));
        self.ready.update(&mut self.readers);
        files.push(PollFd::from_borrowed_fd(self.ready.file(), PollFlags::IN));
        let due = [self.due_ns(), self.looking.due_ns()].into_iter().flatten().min();
        let due = due.map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(now_ns())));
        let most = due.into_iter().chain(self.log.due(now_ns())).fold(most, Duration::min);
        let timeout = Timespec::try_from(most).ok();
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(ServiceError::Io { what: "wait", error: error.into() }),
        }
        let ready: Vec<PollFlags> = files.iter().map(PollFd::revents).collect();
        drop(files);
        let (others, own) = ready.split_at(others.len());
        if own[2].contains(PollFlags::IN) {
            self.attend(&self.ready.all());
        }
        self.look();
        self.disconnect_idle(now_ns());
        if own[0].contains(PollFlags::IN) {
            self.accept();
        }
        Ok(others.iter().map(|ready| !ready.is_empty()).collect())
    }

    fn attend(&mut self, ready: &[Readiness]) {
        let now_ns = now_ns();
        for ready in ready {
            let reader = self.readers.iter_mut().find(|reader| reader.number == ready.number);
            let Some(reader) = reader else { continue };
            if ready.written {
                reader.write();
            }
            if !ready.read {
                continue;
            }
            for spoke in reader.read() {
                match spoke {
                    ReaderCommand::Window(window) => {
                        reader.asks(now_ns);
                        ask(&mut self.schedule, reader, &window, now_ns);
                    }
                    ReaderCommand::Look(look) => {
                        reader.asks(now_ns);
                        let looked = start_look(&mut self.looking, reader, &look, now_ns);
                        answer(reader, looked, &mut self.notices);
                    }
                    ReaderCommand::Follow(asked) => {
                        reader.asks(now_ns);
                        if let Err(why) = follow(&mut self.following, reader, asked) {
                            self.notices.push(Notice::Refused(why.clone()));
                            reader.refuse(&why);
                        }
                    }
                    ReaderCommand::Wrong(why) => {
                        self.notices.push(Notice::Refused(why.clone()));
                        reader.refuse(&why);
                    }
                }
            }
        }
        self.refuse_namespaces();
        self.let_go();
    }

    /// Refuses readers in PID namespaces above the limit.
    fn refuse_namespaces(&mut self) {
        let told =
            self.readers.iter_mut().filter(|reader| reader.has_requested() && !reader.is_over());
        let mut told: Vec<&mut Reader> = told.filter(|reader| reader.namespace.is_some()).collect();
        // Readers with an unknown user count as one user.
        let user = |reader: &Reader| socket::user(reader.stream()).unwrap_or(u32::MAX);
        let ids = told.iter().filter_map(|reader| {
            reader.namespace.as_ref().map(|namespace| (namespace.id(), user(reader)))
        });
        let whys = too_many(ids);
        for (reader, why) in told.iter_mut().zip(whys) {
            let Some(why) = why else { continue };
            self.notices.push(Notice::Refused(why.clone()));
            reader.refuse(&why);
        }
    }

    /// Sends replies of on-demand programs, and ends windows that are due.
    fn look(&mut self) {
        for (number, reply) in self.looking.replies() {
            if let Some(reader) = self.readers.iter_mut().find(|reader| reader.number == number) {
                answer(reader, Some(reply), &mut self.notices);
            }
        }
        self.let_go();
        self.looking.end_due(now_ns());
    }

    /// Disconnects readers by the idle timeout.
    fn disconnect_idle(&mut self, now_ns: u64) {
        let looking = &self.looking;
        let idle = |reader: &&mut Reader| reader.is_idle(now_ns) && !looking.has(reader.number);
        let mut is_any = false;
        for reader in self.readers.iter_mut().filter(idle) {
            is_any = true;
            self.notices.push(Notice::Refused(IDLE.into()));
            reader.refuse(IDLE);
        }
        if is_any {
            self.let_go();
        }
    }

    /// Removes readers that have gone or were disconnected.
    fn let_go(&mut self) {
        for reader in self.readers.iter().filter(|reader| reader.is_over()) {
            self.schedule.leave(reader.number);
            self.looking.leave(reader.number);
            self.following.leave(reader.number);
            self.notices.extend(reader.stalled().map(Notice::Stalled));
        }
        self.readers.retain(|reader| !reader.is_over());
    }

    fn accept(&mut self) {
        for stream in self.socket.accept() {
            let whose = match self.admit(&stream) {
                Ok(whose) => whose,
                Err(why) => {
                    self.notices.push(Notice::Refused(why.clone()));
                    refuse(&stream, &why);
                    continue;
                }
            };
            self.numbers += 1;
            let mut reader = Reader::new(self.numbers, stream, whose, now_ns());
            reader.keep_history(self.keeps_history);
            match self.ready.add(&reader) {
                Ok(()) => self.readers.push(reader),
                Err(error) => reader.refuse(&format!("cannot wait for your requests: {error}")),
            }
        }
    }

    fn admit(&mut self, stream: &UnixStream) -> Result<(u32, PidNumbering), String> {
        let uid = socket::user(stream)?;
        self.make_room(uid)?;
        socket::may_read(stream)?;
        Ok((uid, pids::peer_numbering(stream)?))
    }

    /// Makes room for this user; if needed, disconnects a reader that has sent nothing yet.
    fn make_room(&mut self, uid: u32) -> Result<(), String> {
        let room_without = |gone: Option<usize>| {
            let stay = self.readers.iter().enumerate().filter(|(at, _)| Some(*at) != gone);
            READERS.one_more(stay.map(|(_, reader)| reader.uid), uid, "connections are served")
        };
        let Err(why) = room_without(None) else { return Ok(()) };
        let is_silent = |at: &usize| self.readers[*at].stage == ReaderStage::New;
        let mut silent = (0..self.readers.len()).filter(is_silent);
        let gone = silent.find(|&at| room_without(Some(at)).is_ok()).ok_or(why)?;
        self.readers.remove(gone);
        Ok(())
    }

    /// Sends a window that began at `t0_ns` and ended at `now.at_ns`; `book` has taken it.
    pub fn tell(&mut self, t0_ns: u64, now: &Snapshot, book: &Book) {
        let served = self.schedule.ended(now.at_ns);
        let served = self.readers.iter_mut().filter(|reader| served.contains(&reader.number));
        served.for_each(Reader::awaits_next);
        if let Err(bad) = self.send(t0_ns, now, book) {
            // The readers' streams cannot continue.
            debug_assert_eq!(bad, FrameError::TooMuch);
            self.notices.push(Notice::TooLarge);
            self.telling = SnapshotStream::default();
            self.insides.forget();
            self.readers.iter_mut().for_each(|reader| reader.refuse("a window is too large"));
        }
        self.following.begin(book);
        self.let_go();
    }

    /// Sends the number of their tree to the readers that requested it. Call it once the source
    /// follows [`Server::followed`], because a reader may start its command at the answer.
    pub fn tell_followers(&mut self) {
        for (asker, tree) in self.following.take_begun() {
            let reader = self.readers.iter_mut().find(|reader| reader.number == asker.reader);
            let Some(reader) = reader else { continue };
            let reply = match tree.and_then(|tree| follows(tree, asker.at_once)) {
                Ok(bytes) => Reply::Bytes(bytes.into()),
                Err(why) => Reply::Refusal(why),
            };
            answer(reader, Some(reply), &mut self.notices);
        }
        self.let_go();
    }

    fn send(&mut self, t0_ns: u64, now: &Snapshot, book: &Book) -> Result<(), FrameError> {
        let of_all = self.readers.iter_mut().filter(|reader| reader.namespace.is_none());
        let mut of_all: Vec<&mut Reader> = of_all.collect();
        let told = WindowEnd { t0_ns, now, whole: &|| book.whole() };
        self.telling.tell(&self.machine, &told, &mut of_all)?;
        self.insides.tell(&self.machine, t0_ns, now, book, &mut self.readers)
    }
}

/// Handles a request for window ends.
fn ask(schedule: &mut Schedule, reader: &mut Reader, window: &Window, now_ns: u64) {
    // An end far in the future counts as now. A new reader gets no earlier windows.
    let after_ns = match reader.stage {
        ReaderStage::Follows => window.after_ns.unwrap_or(now_ns).min(now_ns),
        _ => now_ns,
    };
    let ends = window.ends.unwrap_or(1).clamp(1, MOST_ENDS);
    let (interval_ns, at_once) = (window.interval_ns, window.at_once);
    let asked = WindowRequest { interval_ns, after_ns, ends, at_once };
    schedule.ask(reader.number, asked, now_ns);
    // Send the window up to the last end if the server holds it back for the reader.
    if schedule.last_ns().is_some_and(|last_ns| last_ns >= after_ns) {
        reader.write();
    }
}

/// Handles a request for an on-demand window.
fn start_look(looking: &mut Probes, reader: &Reader, look: &Look, now_ns: u64) -> Option<Reply> {
    if reader.is_inside() {
        return Some(Reply::Refusal(pids::NOT_LOOKED_AT.into()));
    }
    let seen = || socket::user(reader.stream()).map(Visibility::by);
    looking.ask(reader.number, look, seen, now_ns).unwrap_or_else(|why| Some(Reply::Refusal(why)))
}

/// Handles a request to follow children.
fn follow(following: &mut Following, reader: &Reader, asked: Follow) -> Result<(), String> {
    if reader.is_inside() {
        return Err(pids::NOT_FOLLOWED.into());
    }
    let pid = pids::peer_pid(reader.stream())?;
    let &Reader { number, uid, came_ns, .. } = reader;
    following.ask(Asker { reader: number, uid, pid, came_ns, at_once: asked.at_once })
}

fn follows(tree: u32, at_once: bool) -> Result<Vec<u8>, String> {
    let told = match at_once {
        true => ask::AnswerRef::Followed(tree),
        false => ask::AnswerRef::Follows(tree),
    };
    let told = serde_json::to_vec(&told).map_err(|error| error.to_string())?;
    stream::answer(told).map_err(|bad| bad.to_string())
}

fn answer(reader: &mut Reader, reply: Option<Reply>, notices: &mut Vec<Notice>) {
    match reply {
        None => {}
        Some(Reply::Bytes(bytes)) => reader.send(&bytes),
        Some(Reply::Refusal(why)) => {
            notices.push(Notice::Refused(why.clone()));
            reader.refuse(&why);
        }
    }
}

/// Sends the reason if possible; the connection ends in any case.
fn refuse(mut stream: &UnixStream, why: &str) {
    use std::io::Write;
    if let Ok(bytes) = word(why) {
        let _ = stream.write_all(&bytes);
    }
}

/// Now, CLOCK_MONOTONIC ns.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
