//! What systemd is told (sd_notify(3)), where it started the daemon; elsewhere nothing.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// Who started it.
pub struct Supervisor {
    /// How often it wants to hear, if it does.
    watchdog: Option<Duration>,
    heard: Instant,
}

impl Supervisor {
    /// As the environment has it.
    pub fn new() -> Supervisor {
        // Twice in the time after which it would be taken for dead.
        let watchdog = sd_notify::watchdog_enabled().map(|timeout| timeout / 2);
        Supervisor { watchdog, heard: Instant::now() }
    }

    /// It serves.
    pub fn ready(&mut self) {
        notify(&[NotifyState::Ready, NotifyState::Watchdog]);
        self.heard = Instant::now();
    }

    /// Settings are read anew.
    pub fn reloads(&self) {
        let now = sd_notify::NotifyState::monotonic_usec_now();
        let now = now.ok();
        let states: Vec<NotifyState> =
            [Some(NotifyState::Reloading), now].into_iter().flatten().collect();
        notify(&states);
    }

    /// It is about to end.
    pub fn ends(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// It lives, which is said as often as need be.
    pub fn lives(&mut self) {
        if self.watchdog.is_some() && self.pause().is_zero() {
            notify(&[NotifyState::Watchdog]);
            self.heard = Instant::now();
        }
    }

    /// How long it may wait until it has to say that it lives.
    pub fn pause(&self) -> Duration {
        self.watchdog.map_or(Duration::MAX, |pause| pause.saturating_sub(self.heard.elapsed()))
    }
}

/// Nobody may be there, which is no failure.
fn notify(states: &[NotifyState]) {
    let _ = sd_notify::notify(states);
}
