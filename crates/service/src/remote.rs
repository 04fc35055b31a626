//! The daemon's snapshots as a source.
//!
//! A thread reads what comes, whoever asked for it, and merges it; so a reader may look as seldom as
//! it likes. What is counted only while somebody asks is asked for with every window.
//!
//! A daemon that was started anew is another ledger: it is connected to again, and what comes from it
//! begins anew ([`Source::has_begun_anew`]).

use crate::ask::{Answer, Follow, Hello, Said, Window};
use crate::beat::{Beat, MOST_ENDS};
use crate::error::ServiceError;
use crate::schedule;
use exactop_model::escape::harmless;
use exactop_model::merged::Merged;
use exactop_model::{Provenance, Snapshot};
use exactop_recording::stream::{Heard, Incoming, StreamError};
use exactop_recording::{About, FORMAT};
use exactop_sources::{pid_namespace, Request, Source, SourceError};
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::time::{clock_gettime, ClockId};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an answer may take beyond what the grid of window ends makes of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an end may be overdue that comes by itself, before it is asked for.
const OVERDUE_NS: u64 = 100_000_000;
/// How long a daemon that went is waited for, before there is no snapshot.
const AWAY: Duration = Duration::from_secs(10);
/// How long nobody tries to connect between two times: twice as long each time, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// What came.
#[derive(Debug, Default)]
struct Came {
    merged: Merged,
    about: Option<Box<About>>,
    /// Others are told of as one sum.
    is_inside: bool,
    /// The tree of this process's children.
    follows: Option<u32>,
    ended: Option<Ended>,
}

impl Came {
    fn is_up_to(&self, after_ns: u64) -> bool {
        self.merged.at_ns().is_some_and(|at_ns| at_ns >= after_ns)
    }
}

/// Why no more comes.
#[derive(Clone, Debug)]
enum Ended {
    Closed,
    Refused(String),
    Unreadable(StreamError),
}

#[derive(Debug, Default)]
struct Shared {
    came: Mutex<Came>,
    something: Condvar,
}

impl Shared {
    /// Whoever had it panicked between two whole states, or not at all.
    fn came(&self) -> MutexGuard<'_, Came> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection, and the thread that reads from it. Both end with this, so that a program that closes
/// what it opened has nothing left of it. In a process that was forked from the one that opened it there
/// is no such thread, and the connection is the other's.
#[derive(Debug)]
struct Connection {
    stream: UnixStream,
    thread: Option<JoinHandle<()>>,
    opened_by: u32,
}

impl Connection {
    fn open(path: &Path, shared: &Arc<Shared>) -> Result<Connection, ServiceError> {
        let nobody = |error| ServiceError::unconnected(path, error);
        let stream = UnixStream::connect(path).map_err(nobody)?;
        let reading = stream.try_clone().map_err(nobody)?;
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("daemon".into())
            .spawn(move || listen(reading, &theirs))
            .map_err(|error| ServiceError::Io { what: "start a thread", error })?;
        Ok(Connection { stream, thread: Some(thread), opened_by: std::process::id() })
    }

    fn is_anothers(&self) -> bool {
        self.opened_by != std::process::id()
    }

    fn say(&mut self, said: &Said) -> std::io::Result<()> {
        self.stream.write_all(&line(said)?)
    }

    /// Says who reads, and shows by which numbers they call processes: who is in a PID namespace of their
    /// own is told of those in it.
    fn greet(&mut self, hello: &Said) -> std::io::Result<()> {
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
            // There is nothing to wait for, and nothing to end.
            return std::mem::forget(self.thread.take());
        }
        // The thread's reading ends with it.
        let ended = self.stream.shutdown(Shutdown::Both);
        if let (Ok(()), Some(thread)) = (ended, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// What there is of one daemon.
#[derive(Debug)]
struct Link {
    connection: Connection,
    shared: Arc<Shared>,
    about: Box<About>,
    provenance: Provenance,
    taken_ns: Option<u64>,
    /// What was asked for last, and what comes by itself because of it.
    asked: Option<(Window, Beat)>,
    /// No window that ended before it was asked for will do: what is followed begins and ends with one.
    is_strict: bool,
}

impl Link {
    /// Connects, and waits for the first snapshot.
    fn open(path: &Path, exactop: &str) -> Result<Link, ServiceError> {
        let shared = Arc::new(Shared::default());
        let mut connection = Connection::open(path, &shared)?;
        let hello = Said::Hello(Hello { exactop: exactop.into(), format: FORMAT });
        let first = Said::Window(Window::default());
        let asked = connection.greet(&hello).and_then(|()| connection.say(&first));
        let (about, provenance) = {
            let came = awaited(path, &shared, 1, asked.is_err())?;
            let about = came.about.clone();
            let provenance = came.merged.provenance().cloned();
            about.zip(provenance).ok_or_else(|| ServiceError::Closed(path.into()))?
        };
        Ok(Link {
            connection,
            shared,
            about,
            provenance,
            taken_ns: None,
            asked: None,
            is_strict: false,
        })
    }
}

/// A source on a daemon's socket.
#[derive(Debug)]
pub struct Remote {
    path: PathBuf,
    exactop: String,
    link: Link,
    /// How long a daemon that went is waited for.
    pub(crate) away: Duration,
    /// It was waited for in vain: each snapshot that is asked for tries once.
    is_lost: bool,
    /// Nothing was taken yet from the daemon that was connected to again.
    is_another: bool,
    has_begun_anew: bool,
}

impl Remote {
    /// Connects, and waits for the first snapshot.
    ///
    /// # Errors
    /// [`ServiceError`]: nobody serves there, or it refuses.
    pub fn connect(path: &Path, exactop: &str) -> Result<Remote, ServiceError> {
        Ok(Remote {
            path: path.into(),
            exactop: exactop.into(),
            link: Link::open(path, exactop)?,
            away: AWAY,
            is_lost: false,
            is_another: false,
            has_begun_anew: false,
        })
    }

    /// Who serves, of which machine.
    pub fn about(&self) -> &About {
        &self.link.about
    }

    /// Whether it tells of the tasks of a PID namespace, and of all others one sum.
    pub fn is_inside(&self) -> bool {
        self.link.shared.came().is_inside
    }

    /// Has this process's children followed, from the next snapshot on and as long as this lives: which tree
    /// they and all who descend from them begin. To be asked for before the first snapshot.
    ///
    /// # Errors
    /// [`ServiceError`]: the daemon refuses, or is older than this.
    pub fn follow_children(&mut self) -> Result<u32, ServiceError> {
        let follow = Said::Follow(Follow {});
        // It is known when a window has ended.
        let end = Said::Window(Window { after_ns: Some(now_ns()), ..Window::default() });
        let connection = &mut self.link.connection;
        let asked = connection.say(&follow).and_then(|()| connection.say(&end));
        let shared = &self.link.shared;
        let has = |came: &Came| came.follows.is_some();
        let most = if asked.is_err() { PATIENCE / 10 } else { PATIENCE };
        let came = came_within(&self.path, shared, has, most).map_err(|error| match error {
            ServiceError::Refused { path, said } if said.contains("unknown variant `follow`") => {
                ServiceError::FollowsNobody { path }
            }
            other => other,
        })?;
        let silent = || ServiceError::Silent { path: self.path.clone(), seconds: most.as_secs() };
        let tree = came.and_then(|came| came.follows).ok_or_else(silent)?;
        self.link.is_strict = true;
        Ok(tree)
    }

    /// A window that ends now, or did so just before; of a daemon that was started anew its first.
    fn window(&mut self, request: &Request) -> Result<Snapshot, ServiceError> {
        let connection = &self.link.connection;
        if connection.is_anothers() {
            let opened_by = connection.opened_by;
            return Err(ServiceError::Forked { path: self.path.clone(), opened_by });
        }
        self.has_begun_anew = false;
        let snapshot = match self.link.window(&self.path, request) {
            // Whoever was let go is taken again, or told why not.
            Err(ServiceError::Closed(_) | ServiceError::Refused { .. }) => {
                self.connect_again()?;
                self.link.window(&self.path, request)
            }
            other => other,
        }?;
        self.has_begun_anew = std::mem::take(&mut self.is_another);
        Ok(snapshot)
    }

    /// Connects to whoever serves there by now.
    fn connect_again(&mut self) -> Result<(), ServiceError> {
        let begun = Instant::now();
        let most = if self.is_lost { Duration::ZERO } else { self.away };
        let [mut pause, longest] = PAUSES;
        loop {
            use ServiceError::{Closed, Nobody, NotAllowed};
            let error = match Link::open(&self.path, &self.exactop) {
                Ok(link) => {
                    (self.link, self.is_lost, self.is_another) = (link, false, true);
                    return Ok(());
                }
                // It is about to listen; a new socket is its owner's alone for a moment.
                Err(error @ (Closed(_) | Nobody { .. } | NotAllowed { .. })) => error,
                Err(error) => {
                    self.is_lost = true;
                    return Err(error);
                }
            };
            let Some(left) = most.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
            else {
                self.is_lost = true;
                let (path, why) = (self.path.clone(), error.to_string());
                return Err(ServiceError::Away { path, why });
            };
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(longest);
        }
    }
}

impl Link {
    /// A window that ends now, or did so just before, if that will do.
    fn window(&mut self, path: &Path, request: &Request) -> Result<Snapshot, ServiceError> {
        let now_ns = now_ns();
        let interval_ns = request.interval_ns;
        let after_ns = match self.is_strict {
            true => now_ns,
            false => schedule::after_ns(interval_ns, self.taken_ns, now_ns),
        };
        let ends = interval_ns.map(|_| MOST_ENDS);
        let window = Window::of(interval_ns, after_ns, request.needs, request.watch);
        let window = Window { ends, ..window };
        let by_itself = match self.comes(&window, after_ns, now_ns) {
            Some(patience) => self.came(path, after_ns, patience)?,
            None => None,
        };
        let snapshot = match by_itself {
            Some(snapshot) => snapshot,
            None => self.ask(path, window, after_ns)?,
        };
        self.taken_ns = Some(snapshot.at_ns);
        self.provenance = snapshot.provenance.clone();
        Ok(snapshot)
    }
}

impl Link {
    /// How long to wait for what comes without being asked for and is no worse; `None`: it has to be asked.
    fn comes(&self, window: &Window, after_ns: u64, now_ns: u64) -> Option<Duration> {
        let (asked, beat) = self.asked.as_ref()?;
        if !asked.is_for_the_same(window) {
            return None;
        }
        let next_ns = beat.next_ns(after_ns.saturating_sub(1))?;
        let is_soon = next_ns <= schedule::point_ns(window.interval_ns, now_ns);
        let until_ns = next_ns.saturating_add(OVERDUE_NS);
        is_soon.then(|| Duration::from_nanos(until_ns.saturating_sub(now_ns)))
    }

    /// What comes up to an instant within a time; `None`: it did not.
    fn came(
        &self,
        path: &Path,
        after_ns: u64,
        most: Duration,
    ) -> Result<Option<Snapshot>, ServiceError> {
        let came = came_within(path, &self.shared, |came| came.is_up_to(after_ns), most)?;
        came.map(|came| take(path, came)).transpose()
    }

    /// Asks for a window, and for those after it.
    fn ask(
        &mut self,
        path: &Path,
        window: Window,
        after_ns: u64,
    ) -> Result<Snapshot, ServiceError> {
        let asked = self.connection.say(&Said::Window(window.clone()));
        let came = awaited(path, &self.shared, after_ns, asked.is_err())?;
        let snapshot = take(path, came)?;
        let grid_ns = schedule::grid_ns(window.interval_ns);
        self.asked = window.interval_ns.map(|interval_ns| {
            let beat = Beat::after(snapshot.at_ns, interval_ns, grid_ns, MOST_ENDS - 1);
            (window, beat)
        });
        Ok(snapshot)
    }
}

fn take(path: &Path, mut came: MutexGuard<'_, Came>) -> Result<Snapshot, ServiceError> {
    came.merged.take().ok_or_else(|| ServiceError::Closed(path.into()))
}

impl Source for Remote {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let advice = |error: &ServiceError| match error {
            ServiceError::Forked { .. } => "one connection is one process's",
            _ => {
                "look at the daemon's state ('systemctl status exactop'), or take another --source"
            }
        };
        self.window(request).map_err(|error| SourceError::Unavailable {
            what: error.to_string(),
            advice: advice(&error).into(),
        })
    }

    fn provenance(&self) -> &Provenance {
        &self.link.provenance
    }

    fn has_begun_anew(&self) -> bool {
        self.has_begun_anew
    }
}

/// What came, once it goes up to an instant.
fn awaited<'a>(
    path: &Path,
    shared: &'a Shared,
    after_ns: u64,
    refused: bool,
) -> Result<MutexGuard<'a, Came>, ServiceError> {
    let begun = Instant::now();
    // Whoever could not ask is told why by what was sent before the connection ended.
    let most = if refused { PATIENCE / 10 } else { PATIENCE };
    came_within(path, shared, |came| came.is_up_to(after_ns), most)?.ok_or_else(|| {
        ServiceError::Silent { path: path.to_path_buf(), seconds: begun.elapsed().as_secs() }
    })
}

/// What came, once it is what was waited for; `None`: it was not within this time.
fn came_within<'a>(
    path: &Path,
    shared: &'a Shared,
    is_it: impl Fn(&Came) -> bool,
    most: Duration,
) -> Result<Option<MutexGuard<'a, Came>>, ServiceError> {
    let begun = Instant::now();
    let mut came = shared.came();
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

/// Until the connection ends.
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
    shared.came().ended.get_or_insert(ended);
    shared.something.notify_all();
}

fn hear(incoming: &mut Incoming, shared: &Shared) -> Result<(), Ended> {
    while let Some(heard) = incoming.next_heard().map_err(Ended::Unreadable)? {
        let mut came = shared.came();
        match heard {
            Heard::Machine(about) => came.about = Some(about),
            // For others who came later.
            Heard::Whole(_) if came.merged.at_ns().is_some() => {}
            Heard::Whole(whole) => {
                came.is_inside = whole.outside.is_some();
                came.merged.add(*whole);
            }
            Heard::Window(_, now) => came.merged.add(*now),
            Heard::Answer(json) => {
                if let Ok(Answer::Follows(tree)) = serde_json::from_slice(&json) {
                    came.follows = Some(tree);
                }
            }
            Heard::Word(said) => return Err(Ended::Refused(harmless(&said))),
        }
        drop(came);
        shared.something.notify_all();
    }
    Ok(())
}

fn line(said: &Said) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    Ok(line)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
