//! The loop: waits until somebody wants a window to end, ends it, and gives it to everyone.

use super::exporting::Exported;
use super::kept::Kept;
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
use exactop_sources::{Followed, Request};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

/// The last snapshot.
pub type Latest = Rc<RefCell<Option<Snapshot>>>;

/// Keeps what a session tells: the last snapshot, and what was read for rows.
pub struct Told {
    /// Where the snapshot is put.
    pub latest: Latest,
    /// Who is told of rows.
    pub recorder: Option<Shared>,
}

impl Tap for Told {
    fn snapshot(&mut self, now: &Snapshot, _: &Book) {
        *self.latest.borrow_mut() = Some(now.clone());
    }

    fn details(&mut self, row: &Row) {
        if let Some(recorder) = &self.recorder {
            recorder.with(|recorder| recorder.details(row));
        }
    }
}

/// All that serves.
pub struct Serving {
    session: Session,
    latest: Latest,
    server: Server,
    kept: Kept,
    published: Published,
    exported: Exported,
    followed: Vec<Followed>,
    saving: Saving,
    in_force: Settings,
}

impl Serving {
    /// With the first window still to come.
    pub fn new(
        session: Session,
        latest: Latest,
        server: Server,
        kept: Kept,
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

    /// Serves until a signal ends it; SIGHUP has `settings` read anew.
    ///
    /// # Errors
    /// The ledger cannot be read any more, or the kernel refuses to wait.
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
            let most = most.min(supervisor.pause());
            let asked = self.server.serve(most, &files).map_err(Failure::failed)?;
            if signals.caught().is_some() {
                return Ok(());
            }
            if signals.asks_to_reload() {
                supervisor.reloads();
                self.reload(settings());
                supervisor.ready();
            }
            self.server.notices().iter().for_each(|notice| complain(&words(notice)));
            let is_asked = asked.get(1).copied() == Some(true);
            if is_asked {
                self.published.hear();
            }
            let is_due = self.kept.due() <= Instant::now() || self.server.is_due();
            if is_due || (is_asked && !self.is_fresh()) {
                self.end_window()?;
            }
        }
    }

    /// Whether the last window ended just before: no more than ten end in a second. Pages count it as new, too.
    fn is_fresh(&self) -> bool {
        let at_ns = self.session.book().at_ns();
        at_ns.is_some_and(|at_ns| exactop_service::now_ns().saturating_sub(at_ns) < SHORTEST_NS)
    }

    /// Has those followed who ask for it by now.
    fn follow(&mut self) {
        let followed = self.server.followed();
        if followed == self.followed {
            return;
        }
        match self.session.follow(&followed) {
            Ok(()) => self.followed = followed,
            Err(why) => self.server.follows_nobody(&why.to_string()),
        }
    }

    /// Ends a window, for whoever wants it.
    fn end_window(&mut self) -> Result<(), Failure> {
        let t0_ns = self.session.book().at_ns();
        self.follow();
        let wanted = self.server.wanted();
        let needs = wanted.needs | NEEDS.without(Needs::SPLIT.with(Needs::INTERRUPTS));
        let request = Request { needs, watch: wanted.watch, interval_ns: None };
        self.session.advance(&request).map_err(Failure::failed)?;
        let Some(now) = self.latest.borrow_mut().take() else { return Ok(()) };
        // First, as somebody may wait for it.
        if let Some(window) = self.session.window() {
            let degraded = self.saving.told();
            self.published.take(window, self.session.book(), &self.exported, degraded);
        }
        self.server.tell(t0_ns.unwrap_or(now.at_ns), &now, self.session.book());
        self.published.tell();
        self.exported.tell();
        self.kept.take(now, &mut self.session);
        self.saving.window(self.in_force.memory, &mut self.session, &mut self.server);
        Ok(())
    }

    /// Takes what can be taken while it runs, and says what cannot.
    fn reload(&mut self, settings: Result<Settings, Failure>) {
        let settings = match settings {
            Ok(settings) => settings,
            Err(failure) => return complain(&words_of("the settings stay as they are", &failure)),
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
        if settings.metrics.counted() != in_force.metrics.counted() {
            self.published.set(&settings.metrics.counted());
            let listen = in_force.metrics.listen;
            in_force.metrics = settings.metrics;
            in_force.metrics.listen = listen;
        }
    }

    /// The last window, the recording's end, and what others are to be sent of it.
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
        Notice::Stalled(bytes) => format!("a reader was let go: it left {bytes} bytes unread"),
        Notice::Refused(why) => format!("a reader was refused: {}", harmless(why)),
        Notice::TooLarge => "a window is too large to be sent: all readers were let go".into(),
    }
}
