//! Notifies systemd (sd_notify(3)) if it started the daemon; else does nothing.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// The connection to systemd.
pub struct Supervisor {
    /// Interval of the watchdog, if systemd asks for one.
    watchdog: Option<Duration>,
    heard: Instant,
}

impl Supervisor {
    /// Reads the environment variables that systemd sets.
    pub fn new() -> Supervisor {
        // Notify twice per watchdog timeout.
        let watchdog = sd_notify::watchdog_enabled().map(|timeout| timeout / 2);
        Supervisor { watchdog, heard: Instant::now() }
    }

    /// Reports that the daemon serves.
    pub fn ready(&mut self) {
        notify(&[NotifyState::Ready, NotifyState::Watchdog]);
        self.heard = Instant::now();
    }

    /// Reports that the daemon reads its settings again.
    pub fn reloads(&self) {
        let now = sd_notify::NotifyState::monotonic_usec_now();
        let now = now.ok();
        let states: Vec<NotifyState> =
            [Some(NotifyState::Reloading), now].into_iter().flatten().collect();
        notify(&states);
    }

    /// Reports that the daemon is about to end.
    pub fn ends(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// Reports that the daemon lives, when the watchdog is due.
    pub fn lives(&mut self) {
        if self.watchdog.is_some() && self.pause().is_zero() {
            notify(&[NotifyState::Watchdog]);
            self.heard = Instant::now();
        }
    }

    /// Time until the next watchdog report.
    pub fn pause(&self) -> Duration {
        self.watchdog.map_or(Duration::MAX, |pause| pause.saturating_sub(self.heard.elapsed()))
    }
}

/// An error is ignored: the daemon may run without systemd.
fn notify(states: &[NotifyState]) {
    let _ = sd_notify::notify(states);
}
