//! The loop: waits until a reader requests a window, ends it, and sends it to all readers.

use super::exporting::Exported;
use super::kept::PacedRecorder;
use super::published::Published;
use super::saving::Saving;
use super::settings::Settings;
use super::supervisor::Supervisor;
use crate::commands::record::NEEDS;
use crate::failure::{complain, Failure};
use crate::output::Signals;
use crate::recorded::Shared;
use exactop_model::text::escape::harmless;
use exactop_model::{Book, Needs, Row, Snapshot, Tap};
use exactop_service::{Notice, Server, SHORTEST_NS};
use exactop_sources::session::Session;
use exactop_sources::{FollowedProcess, Request};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The last snapshot.
pub type Latest = Rc<RefCell<Option<Snapshot>>>;

/// Receives a session's snapshots and the details read for rows.
pub struct SessionTap {
    /// Where the last snapshot goes.
    pub latest: Latest,
    /// The recorder that gets the rows.
    pub recorder: Option<Shared>,
}

impl Tap for SessionTap {
    fn snapshot(&mut self, now: &Snapshot, _: &Book) {
        *self.latest.borrow_mut() = Some(now.clone());
    }

    fn details(&mut self, row: &Row) {
        if let Some(recorder) = &self.recorder {
            recorder.with(|recorder| recorder.details(row));
        }
    }

    fn user(&mut self, uid: u32, name: &str) {
        if let Some(recorder) = &self.recorder {
            recorder.with(|recorder| recorder.user(uid, name));
        }
    }
}

/// State of the serving loop.
pub struct Serving {
    session: Session,
    latest: Latest,
    server: Server,
    kept: PacedRecorder,
    published: Published,
    exported: Exported,
    followed: Vec<FollowedProcess>,
    saving: Saving,
    in_force: Settings,
}

impl Serving {
    /// Starts before the first window.
    pub fn new(
        session: Session,
        latest: Latest,
        server: Server,
        kept: PacedRecorder,
        (published, exported): (Published, Exported),
        saving: Saving,
        in_force: Settings,
    ) -> Serving {
        Serving {
            session,
            latest,
            server,
            kept,
            published,
            exported,
            followed: Vec::new(),
            saving,
            in_force,
        }
    }

    /// Serves until a signal ends it; SIGHUP reads `settings` again.
    ///
    /// # Errors
    /// The ledger can no longer be read, or the kernel refuses to wait.
    pub fn until_a_signal(
        &mut self,
        signals: &Signals,
        supervisor: &mut Supervisor,
        settings: impl Fn() -> Result<Settings, Failure>,
    ) -> Result<(), Failure> {
        self.end_window()?;
        loop {
            supervisor.lives();
            let most = self.kept.due().saturating_duration_since(Instant::now());
            let files = [Some(signals.file()), self.published.file()];
            let files: Vec<_> = files.into_iter().flatten().collect();
            let mut most = most.min(supervisor.pause());
            if self.published.is_wanted() {
                most = most.min(self.fresh_for());
            }
            let woken = self.server.serve(most, &files).map_err(Failure::failed)?;
            if signals.caught().is_some() {
                return Ok(());
            }
            if signals.asks_to_reload() {
                supervisor.reloads();
                self.reload(settings());
                supervisor.ready();
            }
            self.server.notices().iter().for_each(|notice| complain(&words(notice)));
            if woken.get(1).copied() == Some(true) {
                self.published.hear();
            }
            let is_due = self.kept.due() <= Instant::now() || self.server.is_due();
            if is_due || (self.published.is_wanted() && self.fresh_for().is_zero()) {
                self.end_window()?;
            }
        }
    }

    /// The rest of the 100 ms in which no other window ends: at most ten windows end in a second.
    /// Pages also count such a window as new.
    fn fresh_for(&self) -> Duration {
        let until_ns = self.session.book().at_ns().map_or(0, |at_ns| at_ns + SHORTEST_NS);
        Duration::from_nanos(until_ns.saturating_sub(exactop_service::now_ns()))
    }

    /// Follows the processes that readers ask for now.
    fn follow(&mut self) {
        let followed = self.server.followed();
        if followed == self.followed {
            return;
        }
        match self.session.follow(&followed) {
            Ok(()) => self.followed = followed,
            Err(why) => self.server.refuse_followers(&why.to_string()),
        }
    }

    /// Ends a window that a reader or the recorder needs.
    fn end_window(&mut self) -> Result<(), Failure> {
        let t0_ns = self.session.book().at_ns();
        let wanted = self.server.reader_needs();
        // A followed command may end with this window.
        let at_once = !self.followed.is_empty();
        let needs = wanted.needs | NEEDS.without(Needs::SPLIT.with(Needs::INTERRUPTS));
        let request = Request { needs, watch: wanted.watch, interval_ns: None, at_once };
        self.session.advance(&request).map_err(Failure::failed)?;
        let Some(now) = self.latest.borrow_mut().take() else { return Ok(()) };
        // Readers may be waiting, so the window goes to them first.
        if let Some(window) = self.session.window() {
            let degraded = self.saving.dropped();
            self.published.take(window, self.session.book(), &self.exported, degraded);
        }
        self.server.tell(t0_ns.unwrap_or(now.at_ns), &now, self.session.book());
        self.follow();
        self.server.tell_followers();
        self.published.tell();
        self.exported.tell();
        self.kept.take(now, &mut self.session);
        self.saving.window(self.in_force.memory, &mut self.session, &mut self.server);
        Ok(())
    }

    /// Applies the settings that can change at run time, and reports those that need a restart.
    fn reload(&mut self, settings: Result<Settings, Failure>) {
        let settings = match settings {
            Ok(settings) => settings,
            Err(failure) => {
                return complain(&words_of(
                    "cannot apply the settings, and the earlier ones stay",
                    &failure,
                ))
            }
        };
        let in_force = &mut self.in_force;
        let bound = settings.bound(in_force);
        if !bound.is_empty() {
            complain(&format!("these settings take effect with a restart: {}", bound.join(", ")));
        }
        in_force.memory = settings.memory;
        if settings.record.interval != in_force.record.interval {
            self.kept.set_interval(settings.record.interval);
            self.published.set_interval(settings.record.interval);
            in_force.record.interval = settings.record.interval;
        }
        let counted = settings.metrics.counted(&settings.blame);
        if counted != in_force.metrics.counted(&in_force.blame) {
            self.published.set(&counted);
            let listen = in_force.metrics.listen;
            in_force.blame.by = settings.blame.by;
            in_force.metrics = settings.metrics;
            in_force.metrics.listen = listen;
        }
    }

    /// Ends the last window, closes the recording, and sends the rest to collectors and stores.
    pub fn finish(mut self) {
        if let Err(failure) = self.end_window() {
            complain(&words_of("cannot end the last window", &failure));
        }
        self.kept.finish(&mut self.session);
        self.published.finish();
        self.exported.finish();
    }
}

fn words_of(what: &str, failure: &Failure) -> String {
    match failure {
        Failure::Usage(why) => format!("{what}: {why}"),
        Failure::Failed(error) => format!("{what}: {error:#}"),
        _ => what.to_string(),
    }
}

fn words(notice: &Notice) -> String {
    match notice {
        Notice::Stalled(bytes) => format!("disconnected a reader that left {bytes} bytes unread"),
        Notice::Refused(why) => format!("refused a reader: {}", harmless(why)),
        Notice::TooLarge => {
            "cannot send a window that is too large: disconnected all readers".into()
        }
    }
}
