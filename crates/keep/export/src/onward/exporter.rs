//! Sends what is recorded on to a store or into files, in a thread of its own.
//!
//! There is one way on after whatever went wrong, be it a store that is away, a refusal or a kill: the log is read on from
//! where the cursor stands. A store is asked what it has, a file that comes again replaces itself.

use super::cursor::Cursor;
use super::following::{Following, News, Shown, Status};
use crate::carrier::Carrier;
use crate::clickhouse::courier::Courier;
use crate::clickhouse::{Client, Sending, StoreError};
use crate::filing::{Filing, Shelf};
use crate::ExportError;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

/// How often it looks, and how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// What was recorded since is sent so often.
    pub every: Duration,
    /// After the first failure; doubled after each that follows,
    pub first: Duration,
    /// up to this. Each pause is shortened by up to half at random: many hosts miss a store at the same instant.
    pub longest: Duration,
}

impl Pace {
    /// Sends so often, and is as patient as one should be with a store that many ask.
    pub fn every(every: Duration) -> Pace {
        Pace { every, first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The directory that somebody records into.
    pub path: PathBuf,
    /// Groups of a window that have a row of their own, beside `~other`.
    pub groups: usize,
    /// When.
    pub pace: Pace,
}

/// Where it goes. The patience of whoever speaks to a server should be short: between two attempts the pace's pauses are
/// made.
#[derive(Debug)]
pub enum Onto {
    /// Into the tables of a ClickHouse.
    Clickhouse(Box<Client>),
    /// Into files of Parquet.
    Files(Shelf),
}

impl Onto {
    /// The file in which it stands how far it is.
    fn cursor(&self) -> &'static str {
        match self {
            Onto::Clickhouse(_) => "clickhouse.json",
            Onto::Files(_) => "parquet.json",
        }
    }

    fn told(&self) -> String {
        match self {
            Onto::Clickhouse(client) => client.told(),
            Onto::Files(shelf) => shelf.told(),
        }
    }

    fn carrier(&self, log: &Log) -> Box<dyn Carrier + '_> {
        match self {
            // What the time is, is said before windows are.
            Onto::Clickhouse(client) => {
                Box::new(Courier::new(Sending { client, groups: log.groups, now_ns: 0 }))
            }
            Onto::Files(shelf) => Box::new(Filing::new(shelf, log.groups, log.pace.every)),
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
    /// Begins.
    ///
    /// # Errors
    /// [`ExportError`]: the cursor has no place, or there can be no thread.
    pub fn start(onto: Onto, log: Log) -> Result<Exporter, ExportError> {
        let cursor = Cursor::open(&log.path, onto.cursor(), onto.told())?;
        let shown = Arc::new(Shown::default());
        let (stop, stopped) = channel();
        let (ends, ended) = channel();
        let sending = Sends { onto, log, cursor, shown: Arc::clone(&shown), stopped };
        let thread = std::thread::Builder::new().name("export".into());
        let run = move || {
            sending.until_stopped();
            drop(ends);
        };
        thread.spawn(run).map_err(ExportError::Start)?;
        Ok(Exporter { shown, stop, ended })
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        self.shown.with(|status| status.clone())
    }

    /// What is to be told, once.
    pub fn news(&self) -> Vec<News> {
        self.shown.with(|status| std::mem::take(&mut status.news))
    }

    /// Sends what was recorded last, if that is done in so long; what is not goes the next time.
    pub fn finish(self, patience: Duration) {
        drop(self.stop);
        let _ = self.ended.recv_timeout(patience);
    }
}

struct Sends {
    onto: Onto,
    log: Log,
    cursor: Cursor,
    shown: Arc<Shown>,
    stopped: Receiver<()>,
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

    /// Sends all there is, again and again, until it is stopped.
    fn follow(&self, sent: &mut dyn FnMut()) -> Result<(), ExportError> {
        let mut following = None;
        loop {
            if following.is_none() {
                let carrier = self.onto.carrier(&self.log);
                following = Following::open(&self.log.path, carrier, &self.cursor, &self.shown)?;
            }
            if let Some(following) = &mut following {
                following.send_all()?;
                sent();
            }
            if self.is_stopped(self.log.pace.every) {
                // What came since, once.
                return following.map_or(Ok(()), |mut following| following.send_all());
            }
        }
    }

    /// The store took everything: whether it is away.
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

/// Why, without how often it was asked: it goes on.
fn words(error: &ExportError) -> String {
    match error {
        ExportError::Store(StoreError::Away { last, .. } | StoreError::Silent { last, .. }) => {
            last.clone()
        }
        error => error.to_string(),
    }
}
