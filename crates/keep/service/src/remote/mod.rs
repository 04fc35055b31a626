//! A daemon's snapshots as a source.
//!
//! A thread reads and merges every window, also those requested by other readers; so a reader may
//! ask as seldom as it likes. Each request names the figures that the ledger measures only on
//! request.
//!
//! A restarted daemon is another ledger: the source reconnects and starts over
//! ([`Source::has_begun_anew`]).

mod connection;
mod link;

use crate::error::ServiceError;
use exactop_model::{Provenance, Snapshot};
use exactop_recording::RecordingInfo;
use exactop_sources::{Request, Source, SourceError};
use link::{Link, Opening, PATIENT};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest first wait for an answer in non-blocking mode.
const BRIEF: Duration = Duration::from_secs(1);
/// Longest later wait in that mode, and for the first answer of a daemon that may be starting.
const MOMENT: Duration = Duration::from_millis(100);
/// Longest wait for a daemon that ended, before a snapshot fails.
const AWAY: Duration = Duration::from_secs(10);
/// Pause between two connection attempts: the first, doubled each time up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// A source on a daemon's socket.
#[derive(Debug)]
pub struct Remote {
    path: PathBuf,
    exactop: String,
    link: Link,
    /// How long to wait for a daemon that ended.
    pub(crate) away: Duration,
    /// Longest wait for an answer: the first time, and each time after.
    patience: [Duration; 2],
    /// The next daemon, in non-blocking mode.
    opening: Option<Opening>,
    /// The wait for the next daemon failed: each snapshot tries once.
    is_lost: bool,
    /// No snapshot has been taken yet since the reconnection.
    is_another: bool,
    has_begun_anew: bool,
}

impl Remote {
    /// Connects and waits for the first snapshot.
    ///
    /// # Errors
    /// [`ServiceError`]: no daemon listens there, or it refuses.
    pub fn connect(path: &Path, exactop: &str) -> Result<Remote, ServiceError> {
        Ok(Remote::on(path, exactop, Link::open(path, exactop)?))
    }

    /// Connects and asks the daemon to follow this process's children, from now on and until this
    /// is dropped. Returns the tree number of the children and all their descendants. The first
    /// snapshot is the one before their first instant.
    ///
    /// # Errors
    /// [`ServiceError`]: no daemon listens there, it refuses, or it is older than this.
    pub fn following(path: &Path, exactop: &str) -> Result<(Remote, u32), ServiceError> {
        let (link, tree) = Link::following(path, exactop)?;
        Ok((Remote::on(path, exactop, link), tree))
    }

    fn on(path: &Path, exactop: &str, link: Link) -> Remote {
        Remote {
            path: path.into(),
            exactop: exactop.into(),
            link,
            away: AWAY,
            patience: PATIENT,
            opening: None,
            is_lost: false,
            is_another: false,
            has_begun_anew: false,
        }
    }

    /// Non-blocking mode, for callers with an event loop. After the daemon ended, a snapshot fails
    /// at once, and each later one tries once to connect. If the daemon does not answer, a snapshot
    /// fails after a second, and each later one after a tenth of a second.
    pub fn waits_for_nobody(&mut self) {
        (self.away, self.patience) = (Duration::ZERO, [BRIEF, MOMENT]);
        self.link.patience = self.patience;
    }

    /// The daemon, and the machine that it measures.
    pub fn about(&self) -> &RecordingInfo {
        &self.link.about
    }

    /// True if the daemon sends only the tasks of a PID namespace, and one sum for all others.
    pub fn is_inside(&self) -> bool {
        self.link.shared.received().is_inside
    }

    /// A window that ends now or ended just before; of a restarted daemon its first.
    fn window(&mut self, request: &Request) -> Result<Snapshot, ServiceError> {
        let connection = &self.link.connection;
        if connection.is_anothers() {
            let opened_by = connection.opened_by;
            return Err(ServiceError::Forked { path: self.path.clone(), opened_by });
        }
        self.has_begun_anew = false;
        let snapshot = match self.link.window(&self.path, request) {
            // A disconnected reader connects again, or gets the reason for the refusal.
            Err(ServiceError::Closed(_) | ServiceError::Refused { .. }) => {
                self.connect_again()?;
                self.link.window(&self.path, request)
            }
            other => other,
        }?;
        self.has_begun_anew = std::mem::take(&mut self.is_another);
        Ok(snapshot)
    }

    /// Connects to the daemon that listens now, if it answers at once.
    fn connect_at_once(&mut self) -> Result<(), ServiceError> {
        let opening = match self.opening.take() {
            Some(opening) => Ok(opening),
            None => Opening::begin(&self.path, &self.exactop, false),
        };
        let opening = opening.map_err(|error| self.gone(error))?;
        let has_come = opening.has_come(&self.path, MOMENT);
        if has_come.map_err(|error| self.gone(error))? {
            let link = opening.link(&self.path)?;
            self.take_up(link);
            return Ok(());
        }
        self.opening = Some(opening);
        Err(self.gone(ServiceError::Starting(self.path.clone())))
    }

    /// The error for a missing daemon that may come back.
    fn gone(&self, error: ServiceError) -> ServiceError {
        match may_come(&error) {
            true => ServiceError::Away { path: self.path.clone(), why: error.to_string() },
            false => error,
        }
    }

    fn take_up(&mut self, link: Link) {
        (self.link, self.is_lost, self.is_another) = (link, false, true);
        self.link.patience = self.patience;
    }

    /// Connects to the daemon that listens now.
    fn connect_again(&mut self) -> Result<(), ServiceError> {
        if self.away.is_zero() {
            return self.connect_at_once();
        }
        let begun = Instant::now();
        let most = if self.is_lost { Duration::ZERO } else { self.away };
        let [mut pause, longest] = PAUSES;
        loop {
            let error = match Link::open(&self.path, &self.exactop) {
                Ok(link) => {
                    self.take_up(link);
                    return Ok(());
                }
                Err(error) if may_come(&error) => error,
                Err(error) => {
                    self.is_lost = true;
                    return Err(error);
                }
            };
            let Some(left) = most.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
            else {
                self.is_lost = true;
                return Err(self.gone(error));
            };
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(longest);
        }
    }
}

/// True if a daemon may serve there soon: it is about to listen or to start. For a moment, a new
/// socket is open to its owner only.
fn may_come(error: &ServiceError) -> bool {
    use ServiceError::{Closed, Nobody, NotAllowed, Starting};
    matches!(error, Closed(_) | Nobody { .. } | NotAllowed { .. } | Starting(_))
}

impl Source for Remote {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let advice = |error: &ServiceError| match error {
            ServiceError::Forked { .. } => "open a connection in each process",
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
