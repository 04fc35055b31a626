//! The probes: whether windows close.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Intervals without a window after which the daemon is not ready.
const READY: u32 = 3;
/// Intervals without a window after which the daemon counts as dead, so that its supervisor
/// restarts it; at least `ALIVE_LEAST`.
const ALIVE: u32 = 10;
/// Least time before the daemon counts as dead.
const ALIVE_LEAST: Duration = Duration::from_secs(60);

/// When windows closed. The thread that closes windows writes it, the server reads it.
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
    /// Starts; a window should close once per interval.
    pub fn new(interval: Duration) -> Pulse {
        let beat = Mutex::new(Beat { interval, closed: None });
        Pulse { begun: Instant::now(), beat }
    }

    /// Notes that a window closed.
    pub fn closes(&self) {
        self.change(|beat| beat.closed = Some(Instant::now()));
    }

    /// Sets the interval.
    pub fn set_interval(&self, interval: Duration) {
        self.change(|beat| beat.interval = interval);
    }

    fn change<T>(&self, change: impl FnOnce(&mut Beat) -> T) -> T {
        // Both values are consistent at every instant.
        change(&mut self.beat.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks that the daemon is alive; else returns the reason.
    pub(super) fn is_alive(&self) -> Result<(), String> {
        self.alive_at(Instant::now())
    }

    /// Checks that a window closed recently; else returns the reason.
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
        let closed = closed.ok_or("no window has closed yet: wait for the first")?;
        within(now.saturating_duration_since(closed), interval * READY)
    }
}

fn within(since: Duration, most: Duration) -> Result<(), String> {
    match since <= most {
        true => Ok(()),
        false => Err(format!(
            "no window has closed for {} s, and {} s are the limit: see the log of the daemon",
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
        assert!(why.contains("30 s are the limit"), "{why}");
        assert_eq!(pulse.alive_at(after(99)), Ok(()));
        assert!(pulse.alive_at(after(101)).is_err());
        pulse.set_interval(Duration::from_secs(1));
        assert!(pulse.ready_at(after(4)).is_err());
        // With windows of one second, ten missing ones are no reason for a restart.
        assert_eq!((pulse.alive_at(after(59)), pulse.alive_at(after(61)).is_err()), (Ok(()), true));
    }

    #[test]
    fn three_intervals_without_a_window_are_ready_and_a_nanosecond_more_is_not() {
        const NS: Duration = Duration::from_nanos(1);
        let pulse = Pulse::new(Duration::from_secs(10));
        pulse.closes();
        let closed = pulse.change(|beat| beat.closed).expect("a window closed");
        for interval in [Duration::from_millis(100), Duration::from_secs(10)] {
            pulse.set_interval(interval);
            let last = closed + 3 * interval;
            assert_eq!(pulse.ready_at(last), Ok(()), "{interval:?}");
            assert!(pulse.ready_at(last + NS).is_err(), "{interval:?}");
        }
        // The next window makes it ready again.
        let again = closed + Duration::from_secs(60);
        assert!(pulse.ready_at(again).is_err());
        pulse.change(|beat| beat.closed = Some(again));
        assert_eq!(pulse.ready_at(again), Ok(()));
    }
}
