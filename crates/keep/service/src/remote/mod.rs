//! The daemon's snapshots as a source.
//!
//! A thread reads what comes, whoever asked for it, and merges it; so a reader may look as seldom as
//! it likes. What is counted only while somebody asks is asked for with every window.
//!
//! A daemon that was started anew is another ledger: it is connected to again, and what comes from it
//! begins anew ([`Source::has_begun_anew`]).

mod connection;
mod link;

use crate::error::ServiceError;
use exactop_model::{Provenance, Snapshot};
use exactop_recording::About;
use exactop_sources::{Request, Source, SourceError};
use link::{Link, Opening, PATIENT};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long an answer is waited for by who has keys to answer, and may ask again soon.
const BRIEF: Duration = Duration::from_secs(1);
/// How long those wait each time after that, and for the first answer of a daemon that may be just about to start.
const MOMENT: Duration = Duration::from_millis(100);
/// How long a daemon that went is waited for, before there is no snapshot.
const AWAY: Duration = Duration::from_secs(10);
/// How long nobody tries to connect between two times: twice as long each time, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// A source on a daemon's socket.
#[derive(Debug)]
pub struct Remote {
    path: PathBuf,
    exactop: String,
    link: Link,
    /// How long a daemon that went is waited for.
    pub(crate) away: Duration,
    /// How long an answer is waited for, and how long each time after that.
    patience: [Duration; 2],
    /// The next daemon, where nobody waits for it.
    opening: Option<Opening>,
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
            patience: PATIENT,
            opening: None,
            is_lost: false,
            is_another: false,
            has_begun_anew: false,
        })
    }

    /// For who has something else to do, such as to answer keys: where the daemon went there is an error at
    /// once, and each snapshot that is asked for looks once for the next one; where it does not answer, after
    /// a second, and from then on after a tenth of one.
    pub fn waits_for_nobody(&mut self) {
        (self.away, self.patience) = (Duration::ZERO, [BRIEF, MOMENT]);
        self.link.patience = self.patience;
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
        self.link.follow_children(&self.path)
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

    /// Connects to whoever serves there by now, if they answer at once.
    fn connect_at_once(&mut self) -> Result<(), ServiceError> {
        let opening = match self.opening.take() {
            Some(opening) => Ok(opening),
            None => Opening::begin(&self.path, &self.exactop),
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

    /// Why there is nobody, where somebody may come.
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

    /// Connects to whoever serves there by now.
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

/// Whether somebody may serve there soon: they are about to listen, or to begin; a new socket is its owner's
/// alone for a moment.
fn may_come(error: &ServiceError) -> bool {
    use ServiceError::{Closed, Nobody, NotAllowed, Starting};
    matches!(error, Closed(_) | Nobody { .. } | NotAllowed { .. } | Starting(_))
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
