//! The probes: whether windows close.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Intervals without a window after which the daemon is not ready.
const READY: u32 = 3;
/// Intervals, and at least this time, after which it is not alive: whoever waits for it starts it anew.
const ALIVE: u32 = 10;
/// The latter.
const ALIVE_LEAST: Duration = Duration::from_secs(60);

/// When windows closed. The thread that closes them writes it, the server reads it.
#[derive(Debug)]
pub struct Pulse {
    begun: Instant,
    beat: Mutex<Beat>,
}

#[derive(Clone, Copy, Debug)]
struct Beat {
    interval: Duration,
    closed: Option<Instant>,
}

impl Pulse {
    /// Begins; a window is to close once in an interval.
    pub fn new(interval: Duration) -> Pulse {
        let beat = Mutex::new(Beat { interval, closed: None });
        Pulse { begun: Instant::now(), beat }
    }

    /// A window has closed.
    pub fn closes(&self) {
        self.change(|beat| beat.closed = Some(Instant::now()));
    }

    /// Windows are to close at another interval.
    pub fn set_interval(&self, interval: Duration) {
        self.change(|beat| beat.interval = interval);
    }

    fn change<T>(&self, change: impl FnOnce(&mut Beat) -> T) -> T {
        // Both values are whole at any instant.
        change(&mut self.beat.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is alive; else why not.
    pub(super) fn is_alive(&self) -> Result<(), String> {
        self.alive_at(Instant::now())
    }

    /// Whether a window closed lately; else why not.
    pub(super) fn is_ready(&self) -> Result<(), String> {
        self.ready_at(Instant::now())
    }

    fn alive_at(&self, now: Instant) -> Result<(), String> {
        let Beat { interval, closed } = self.change(|beat| *beat);
        let since = now.saturating_duration_since(closed.unwrap_or(self.begun));
        within(since, (interval * ALIVE).max(ALIVE_LEAST))
    }

    fn ready_at(&self, now: Instant) -> Result<(), String> {
        let Beat { interval, closed } = self.change(|beat| *beat);
        let closed = closed.ok_or("no window has closed yet")?;
        within(now.saturating_duration_since(closed), interval * READY)
    }
}

fn within(since: Duration, most: Duration) -> Result<(), String> {
    match since <= most {
        true => Ok(()),
        false => Err(format!(
            "no window has closed for {} s; {} s are the limit",
            since.as_secs(),
            most.as_secs()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ready_while_windows_close() {
        let pulse = Pulse::new(Duration::from_secs(10));
        let after = |seconds| Instant::now() + Duration::from_secs(seconds);
        assert!(pulse.ready_at(Instant::now()).expect_err("none yet").contains("no window"));
        assert_eq!(pulse.alive_at(after(99)), Ok(()), "it may take its time to attach");
        pulse.closes();
        assert_eq!(pulse.ready_at(after(29)), Ok(()));
        let why = pulse.ready_at(after(31)).expect_err("three intervals");
        assert!(why.ends_with("30 s are the limit"), "{why}");
        assert_eq!(pulse.alive_at(after(99)), Ok(()));
        assert!(pulse.alive_at(after(101)).is_err());
        pulse.set_interval(Duration::from_secs(1));
        assert!(pulse.ready_at(after(4)).is_err());
        // Windows of a second are no reason to be started anew after ten.
        assert_eq!((pulse.alive_at(after(59)), pulse.alive_at(after(61)).is_err()), (Ok(()), true));
    }
}
