//! Keeps the daemon's memory below its bound. It reads the memory once a window and lets the
//! readers' server and the session keep less.

use super::degraded::{usual_bound, Change, Degraded, Detail};
use super::process::resident_bytes;
use crate::failure::complain;
use exactop_cgroups::memory_left;
use exactop_service::Server;
use exactop_sources::session::Session;

/// The daemon's memory use.
pub struct Saving {
    degraded: Degraded,
    /// Memory limit of the control group, bytes.
    limit: Option<u64>,
    /// Living tasks at the last complete snapshot.
    tasks: u64,
}

impl Saving {
    /// Starts with all details. Reads the control group's limit, so call it before rights are given
    /// up.
    pub fn new() -> Saving {
        let limit = memory_left().map(|left| left.limit);
        Saving { degraded: Degraded::default(), limit, tasks: 0 }
    }

    /// The dropped details.
    pub fn dropped(&self) -> exactop_model::Degraded {
        let is_gone = |detail| self.degraded.has_given_up(detail);
        exactop_model::Degraded {
            history: is_gone(Detail::History),
            brief: is_gone(Detail::Brief),
            threads: is_gone(Detail::Threads),
        }
    }

    /// Drops or restores a detail at the end of a window, if due. `set`: the configured bound.
    pub fn window(&mut self, set: Option<u64>, session: &mut Session, server: &mut Server) {
        let Some(used) = resident_bytes() else { return };
        if !self.degraded.has_given_up(Detail::Threads) {
            self.tasks = session.book().census().total.into();
        }
        let bound = set.unwrap_or_else(|| usual_bound(self.tasks, self.limit));
        let Some(change) = self.degraded.window(used, bound) else { return };
        complain(&words(change, used, bound));
        let told = self.dropped();
        server.keep_history(!told.history);
        session.degrade(told);
    }
}

fn words(change: Change, used: u64, bound: u64) -> String {
    let (word, detail) = match change {
        Change::GivesUp(detail) => ("drops", detail),
        Change::TakesBack(detail) => ("restores", detail),
    };
    let what = match detail {
        Detail::History => "history: windows for slow readers",
        Detail::Brief => "exit rows: processes that exited",
        Detail::Threads => "rows of threads",
    };
    let (used, bound) = (used >> 20, bound >> 20);
    format!(
        "memory: {used} MiB of {bound} MiB: the daemon {word} {what} (docs/how-to/service.md, 'Memory')"
    )
}
