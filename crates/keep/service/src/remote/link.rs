//! One daemon: its connection and the windows requested from it.

use super::connection::{awaited, came_within, heard_within, Connection, ReceivedWindow, Shared};
use crate::ask::{Follow, Hello, ReaderMessage, Window};
use crate::beat::{Beat, MOST_ENDS};
use crate::error::ServiceError;
use crate::schedule::Due;
use exactop_model::{Provenance, Snapshot};
use exactop_recording::{RecordingInfo, FORMAT};
use exactop_sources::Request;
use rustix::time::{clock_gettime, ClockId};
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Longest wait for an answer beyond the next point of the grid.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The same for the first request and for each after it.
pub const PATIENT: [Duration; 2] = [PATIENCE; 2];
/// How long an end may be overdue before it is requested, ns.
const OVERDUE_NS: u64 = 100_000_000;

/// A daemon that was connected to but has not answered yet.
#[derive(Debug)]
pub struct Opening {
    connection: Connection,
    shared: Arc<Shared>,
    /// The request could not be sent.
    refused: bool,
}

impl Opening {
    /// Connects and requests the first snapshot. With `follows` it also asks the daemon to follow
    /// this process's children, and to end the window at once.
    pub fn begin(path: &Path, exactop: &str, follows: bool) -> Result<Opening, ServiceError> {
        let shared = Arc::new(Shared::default());
        let mut connection = Connection::open(path, &shared)?;
        let hello = ReaderMessage::Hello(Hello { exactop: exactop.into(), format: FORMAT });
        let follow = follows.then_some(ReaderMessage::Follow(Follow { at_once: true }));
        let first = ReaderMessage::Window(Window { at_once: follows, ..Window::default() });
        let mut rest = follow.into_iter().chain([first]);
        let asked =
            connection.greet(&hello).and_then(|()| rest.try_for_each(|it| connection.say(&it)));
        Ok(Opening { connection, shared, refused: asked.is_err() })
    }

    /// True if the first snapshot arrives within this time.
    pub fn has_come(&self, path: &Path, most: Duration) -> Result<bool, ServiceError> {
        Ok(came_within(path, &self.shared, |came| came.is_up_to(1), most)?.is_some())
    }

    /// Waits for the first snapshot.
    pub fn link(self, path: &Path) -> Result<Link, ServiceError> {
        let Opening { connection, shared, refused } = self;
        let (about, provenance) = {
            let came = awaited(path, &shared, 1, heard_within(refused, PATIENCE))?;
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
            patience: PATIENT,
            unanswered: None,
            is_strict: false,
            has_beginning: false,
        })
    }
}

/// One connected daemon.
#[derive(Debug)]
pub struct Link {
    pub connection: Connection,
    pub shared: Arc<Shared>,
    pub about: Box<RecordingInfo>,
    pub provenance: Provenance,
    taken_ns: Option<u64>,
    /// The last request, and the ends that come because of it.
    asked: Option<(Window, Beat)>,
    /// Longest wait for an answer: the first time, and each time after.
    pub patience: [Duration; 2],
    /// A window ending from here on was requested at this instant, and did not come in time.
    unanswered: Option<(u64, Instant)>,
    /// Refuses windows that ended before the request: followed children begin and end with a
    /// window.
    is_strict: bool,
    /// The snapshot that was received is the one at which following began.
    has_beginning: bool,
}

impl Link {
    /// Connects and waits for the first snapshot.
    pub fn open(path: &Path, exactop: &str) -> Result<Link, ServiceError> {
        Opening::begin(path, exactop, false)?.link(path)
    }

    /// Connects as a reader whose children the daemon follows. Returns their tree number.
    pub fn following(path: &Path, exactop: &str) -> Result<(Link, u32), ServiceError> {
        let opening = Opening::begin(path, exactop, true)?;
        let follows_nobody = |error| match error {
            ServiceError::Refused { path, said } if said.contains("unknown variant `follow`") => {
                ServiceError::FollowsNobody { path }
            }
            other => other,
        };
        let mut link = opening.link(path).map_err(follows_nobody)?;
        let has = |came: &ReceivedWindow| came.follows.is_some();
        let most = link.patience[0];
        let came = came_within(path, &link.shared, has, most).map_err(follows_nobody)?;
        let silent = || ServiceError::Silent { path: path.into(), seconds: most.as_secs() };
        let of = came.and_then(|came| came.follows).ok_or_else(silent)?;
        (link.is_strict, link.has_beginning) = (true, of.from_now);
        Ok((link, of.tree))
    }

    /// A window that ends now, or, unless strict, ended just before.
    pub fn window(&mut self, path: &Path, request: &Request) -> Result<Snapshot, ServiceError> {
        if let Some((after_ns, since)) = self.unanswered {
            return self.late(path, after_ns, since);
        }
        if std::mem::take(&mut self.has_beginning) {
            let beginning = take(path, self.shared.received())?;
            self.note(&beginning);
            return Ok(beginning);
        }
        let begun = Instant::now();
        let mut due = Due::new(request.interval_ns, self.taken_ns, now_ns());
        if self.is_strict {
            due.after_ns = due.now_ns;
        }
        let snapshot = self.window_after(path, request, due);
        let is_silent = matches!(snapshot, Err(ServiceError::Silent { .. }));
        self.unanswered = is_silent.then_some((due.after_ns, begun));
        snapshot
    }

    /// Waits further for the window that was requested before. A newer request each time would get
    /// no answer from a daemon that always takes longer. It would also block once the socket of a
    /// stopped daemon is full.
    fn late(
        &mut self,
        path: &Path,
        after_ns: u64,
        since: Instant,
    ) -> Result<Snapshot, ServiceError> {
        let came = self.receive(path, after_ns, self.patience[1])?;
        let seconds = since.elapsed().as_secs();
        let silent = || ServiceError::Silent { path: path.into(), seconds };
        let snapshot = came.ok_or_else(silent)?;
        self.unanswered = None;
        self.note(&snapshot);
        Ok(snapshot)
    }

    fn note(&mut self, taken: &Snapshot) {
        self.taken_ns = Some(taken.at_ns);
        self.provenance = taken.provenance.clone();
    }

    fn window_after(
        &mut self,
        path: &Path,
        request: &Request,
        due: Due,
    ) -> Result<Snapshot, ServiceError> {
        let interval_ns = request.interval_ns;
        let ends = interval_ns.map(|_| MOST_ENDS);
        let window = Window::new(interval_ns, due.after_ns, request.needs, request.watch);
        let window = Window { ends, at_once: request.at_once, ..window };
        let by_itself = match self.comes(&window, due) {
            Some(patience) => self.receive(path, due.after_ns, patience)?,
            None => None,
        };
        let snapshot = match by_itself {
            Some(snapshot) => snapshot,
            None => self.ask(path, window, due)?,
        };
        self.note(&snapshot);
        Ok(snapshot)
    }

    /// How long to wait for an end that comes without a request and serves as well; `None`: send a
    /// request.
    fn comes(&self, window: &Window, due: Due) -> Option<Duration> {
        let (asked, beat) = self.asked.as_ref()?;
        if !asked.is_for_the_same(window) {
            return None;
        }
        let next_ns = beat.next_ns(due.after_ns.saturating_sub(1))?;
        let is_soon = next_ns <= due.point_ns;
        let until_ns = next_ns.saturating_add(OVERDUE_NS);
        is_soon.then(|| Duration::from_nanos(until_ns.saturating_sub(due.now_ns)))
    }

    /// The snapshot up to an instant, if it arrives in time; else `None`.
    fn receive(
        &self,
        path: &Path,
        after_ns: u64,
        most: Duration,
    ) -> Result<Option<Snapshot>, ServiceError> {
        let came = came_within(path, &self.shared, |came| came.is_up_to(after_ns), most)?;
        came.map(|came| take(path, came)).transpose()
    }

    /// Requests a window and those after it.
    fn ask(&mut self, path: &Path, window: Window, due: Due) -> Result<Snapshot, ServiceError> {
        let asked = self.connection.say(&ReaderMessage::Window(window.clone()));
        let most = heard_within(asked.is_err(), self.patience[0]);
        let came = awaited(path, &self.shared, due.after_ns, most)?;
        let snapshot = take(path, came)?;
        self.asked = window.interval_ns.map(|interval_ns| {
            let beat = Beat::after(snapshot.at_ns, interval_ns, due.grid_ns, MOST_ENDS - 1);
            (window, beat)
        });
        Ok(snapshot)
    }
}

fn take(path: &Path, mut came: MutexGuard<'_, ReceivedWindow>) -> Result<Snapshot, ServiceError> {
    came.merged.take().ok_or_else(|| ServiceError::Closed(path.into()))
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
