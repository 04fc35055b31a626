//! Sends a log to a store or into files, in its own thread.
//!
//! After every failure (a missing store, a refusal, a kill) it resumes in the same way: it reads
//! the log from the cursor on. A store is asked what it has; a file that is written again replaces
//! itself.

use super::cursor::Cursor;
use super::following::{Following, News, Shown, Status};
use crate::carrier::Carrier;
use crate::clickhouse::courier::Courier;
use crate::clickhouse::{Client, Sending, StoreError};
use crate::filing::{Filing, Put, Shelf};
use crate::ExportError;
use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

/// Interval and retry pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Interval between two deliveries.
    pub every: Duration,
    /// Pause after the first failure; doubled after each further failure.
    pub first: Duration,
    /// Longest pause. Each pause is shortened by up to half at random, because many hosts lose a
    /// store at the same time.
    pub longest: Duration,
}

impl Pace {
    /// This interval, with retry pauses that suit a store with many clients.
    pub fn every(every: Duration) -> Pace {
        Pace { every, first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

/// The log to send, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Directory of the recording, which a recorder may be writing.
    pub path: PathBuf,
    /// Groups with their own row in a window, beside `~other`.
    pub groups: usize,
    /// Interval and retry pauses.
    pub pace: Pace,
}

/// Destination. Its client should have a short patience: the pauses between attempts are those of
/// the pace.
#[derive(Debug)]
pub enum Destination {
    /// The tables of a ClickHouse server.
    Clickhouse(Box<Client>),
    /// Parquet files.
    Files(Shelf),
}

impl Destination {
    /// Name of the cursor file.
    fn cursor(&self) -> &'static str {
        match self {
            Destination::Clickhouse(_) => "clickhouse.json",
            Destination::Files(_) => "parquet.json",
        }
    }

    fn display_name(&self) -> String {
        match self {
            Destination::Clickhouse(client) => client.display_name(),
            Destination::Files(shelf) => shelf.display_name(),
        }
    }

    fn carrier<'a>(&'a self, log: &Log, put: &'a RefCell<Put>) -> Box<dyn Carrier + 'a> {
        match self {
            // The current time is set before windows are added.
            Destination::Clickhouse(client) => {
                Box::new(Courier::new(Sending { client, groups: log.groups, now_ns: 0 }))
            }
            Destination::Files(shelf) => {
                Box::new(Filing::new(shelf, put, log.groups, log.pace.every))
            }
        }
    }
}

/// Sends until it is dropped or [`Exporter::finish`]ed.
#[derive(Debug)]
pub struct Exporter {
    shown: Arc<Shown>,
    stop: Sender<()>,
    ended: Receiver<()>,
}

impl Exporter {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`ExportError`]: the cursor or the thread cannot be created.
    pub fn start(onto: Destination, log: Log) -> Result<Exporter, ExportError> {
        let cursor = Cursor::open(&log.path, onto.cursor(), onto.display_name())?;
        let shown = Arc::new(Shown::default());
        let (stop, stopped) = channel();
        let (ends, ended) = channel();
        let put = RefCell::default();
        let sending = Sends { onto, log, cursor, shown: Arc::clone(&shown), stopped, put };
        let thread = std::thread::Builder::new().name("export".into());
        let run = move || {
            sending.until_stopped();
            drop(ends);
        };
        thread.spawn(run).map_err(ExportError::Start)?;
        Ok(Exporter { shown, stop, ended })
    }

    /// Current status.
    pub fn status(&self) -> Status {
        self.shown.with(|status| status.clone())
    }

    /// News since the last call.
    pub fn news(&self) -> Vec<News> {
        self.shown.with(|status| std::mem::take(&mut status.news))
    }

    /// Sends the last windows if this takes at most `patience`; the next start sends the rest.
    pub fn finish(self, patience: Duration) {
        drop(self.stop);
        let _ = self.ended.recv_timeout(patience);
    }
}

struct Sends {
    onto: Destination,
    log: Log,
    cursor: Cursor,
    shown: Arc<Shown>,
    stopped: Receiver<()>,
    put: RefCell<Put>,
}

impl Sends {
    fn until_stopped(&self) {
        let Pace { first, longest, .. } = self.log.pace;
        let mut pause = first;
        let mut is_away = false;
        while let Err(error) =
            self.follow(&mut || (pause, is_away) = (first, self.is_back(is_away)))
        {
            let why = words(&error);
            self.shown.with(|status| {
                status.failed += 1;
                if !is_away {
                    status.tell(News::Away(why.clone()));
                }
                status.error = Some(why);
            });
            is_away = true;
            if self.is_stopped(shortened(pause)) {
                return;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Sends new windows at each interval until it is stopped.
    fn follow(&self, sent: &mut dyn FnMut()) -> Result<(), ExportError> {
        let mut following = None;
        loop {
            if following.is_none() {
                let carrier = self.onto.carrier(&self.log, &self.put);
                following = Following::open(&self.log.path, carrier, &self.cursor, &self.shown)?;
            }
            if let Some(following) = &mut following {
                following.send_all()?;
                sent();
            }
            if self.is_stopped(self.log.pace.every) {
                // Send the last windows once more.
                return following.map_or(Ok(()), |mut following| following.send_all());
            }
        }
    }

    /// Notes a successful delivery; if the store was away, reports that it is back.
    fn is_back(&self, was_away: bool) -> bool {
        self.shown.with(|status| {
            status.error = None;
            if was_away {
                status.tell(News::Again);
            }
        });
        false
    }

    fn is_stopped(&self, wait: Duration) -> bool {
        self.stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
    }
}

fn shortened(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish() % 1024;
    pause.mul_f64(1.0 - random as f64 / 2048.0)
}

/// The error without the number of attempts, because sending continues.
fn words(error: &ExportError) -> String {
    match error {
        ExportError::Store(StoreError::Away { last, .. } | StoreError::Silent { last, .. }) => {
            last.clone()
        }
        error => error.to_string(),
    }
}
