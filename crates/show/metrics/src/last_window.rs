//! The counters as of the last window that closed. One thread counts, others serve pages and send
//! reports.
//!
//! Pages and reports are made from the counters of one window without the lock, so that no window
//! waits for them. A window that closes meanwhile counts in a copy.
//!
//! A page shows the last window. A scrape requests a newer window, and uses it if it closes
//! quickly; a slow window delays no scrape.

use crate::blamed;
use crate::exporting::Exporting;
use crate::metrics::Metrics;
use crate::sized;
use crate::text::Format;
use exactop_model::owner::{labelled, Names};
use exactop_model::{Book, Degraded, Window};
use hyper::body::Bytes;
use rustix::time::{clock_gettime, ClockId};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for a requested window. It begins with the first request; later requests wait only
/// for the rest of it.
const PATIENCE: Duration = Duration::from_millis(250);

struct State {
    /// The counters; a page or a report in progress shares them.
    metrics: Arc<Metrics>,
    /// When the pending window was requested.
    asked: Option<Instant>,
    /// Pages of the last window, each made at its first request.
    pages: Vec<(Format, Bytes)>,
    /// Counters with new settings, which the next window uses.
    next: Option<Metrics>,
}

impl State {
    /// Prepares for a reader, and returns the counters; `None` before the first window closes.
    fn look(&mut self) -> Option<Arc<Metrics>> {
        self.metrics.boundary_ns()?;
        Arc::make_mut(&mut self.metrics).look();
        Some(Arc::clone(&self.metrics))
    }
}

/// The counters, and the request to the thread that closes windows.
pub struct LastWindow {
    state: Mutex<State>,
    closed: Condvar,
    /// A window that ended less than this long ago is new enough, ns.
    fresh_ns: u64,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for LastWindow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("LastWindow")
            .field("metrics", &self.state().metrics)
            .finish_non_exhaustive()
    }
}

impl LastWindow {
    /// Starts without a window. `wake` asks the closing thread for a window and returns at once; it
    /// is not called if the last window ended less than `fresh_ns` ago.
    pub fn new(
        metrics: Metrics,
        fresh_ns: u64,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> LastWindow {
        let metrics = Arc::new(metrics);
        let state = State { metrics, asked: None, pages: Vec::new(), next: None };
        LastWindow {
            state: Mutex::new(state),
            closed: Condvar::new(),
            fresh_ns,
            wake: Box::new(wake),
        }
    }

    /// A poisoned lock is harmless: a half-counted window shows as a residual.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True from a request for a window until one closes.
    pub fn is_wanted(&self) -> bool {
        self.state().asked.is_some()
    }

    /// Counts a window that closed; the book is at its end. Pages show it from now on.
    pub fn close(
        &self,
        window: &Window,
        book: &Book,
        names: &dyn Names,
        (exporting, degraded): (Option<Exporting>, Option<Degraded>),
    ) {
        let settings = {
            let mut state = self.state();
            if let Some(next) = state.next.take() {
                state.metrics = Arc::new(next);
            }
            state.metrics.settings().clone()
        };
        // The longest part runs without the lock, so that no page waits for it.
        let groups = labelled(window, book, &settings.by, names);
        let booked = blamed::booked(window, book, &settings, names);
        let sized = sized::sized(window, book, &settings, names);
        let mut state = self.state();
        let metrics = Arc::make_mut(&mut state.metrics);
        metrics.count(window, groups, booked, sized);
        metrics.set_exporting(exporting);
        metrics.set_degraded(degraded);
        state.asked = None;
        state.pages.clear();
        drop(state);
        self.closed.notify_all();
    }

    /// Replaces the counters from the next window on. Until then pages show the current ones.
    pub fn begin_anew(&self, metrics: Metrics) {
        self.state().next = Some(metrics);
    }

    /// The page for a scrape; `None` before the first window closes.
    pub fn page(&self, format: Format) -> Option<Bytes> {
        let mut state = self.newest();
        if let Some((_, page)) = state.pages.iter().find(|(of, _)| *of == format) {
            return Some(page.clone());
        }
        let metrics = state.look()?;
        drop(state);
        // Made without the lock, because many groups take a while.
        let page = Bytes::from(metrics.render(format));
        let mut state = self.state();
        if state.metrics.boundary_ns() == metrics.boundary_ns() {
            state.pages.push((format, page.clone()));
        }
        Some(page)
    }

    /// Makes a report for a collector; `None` before the first window closes.
    pub fn report<T>(&self, report: impl FnOnce(&Metrics) -> T) -> Option<T> {
        let metrics = self.newest().look()?;
        Some(report(&metrics))
    }

    /// Makes a report of the last window.
    pub fn last_report<T>(&self, report: impl FnOnce(&Metrics) -> T) -> Option<T> {
        let metrics = self.state().look()?;
        Some(report(&metrics))
    }

    /// Locks the state, with a window that just ended if it closes in time.
    fn newest(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let before = state.metrics.boundary_ns();
        if before.is_some_and(|at_ns| now_ns().saturating_sub(at_ns) < self.fresh_ns) {
            return state;
        }
        let asked = *state.asked.get_or_insert_with(|| {
            (self.wake)();
            Instant::now()
        });
        let left = PATIENCE.saturating_sub(asked.elapsed());
        let is_same = |state: &mut State| state.metrics.boundary_ns() == before;
        let waited = self.closed.wait_timeout_while(state, left, is_same);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// CLOCK_MONOTONIC, the clock of boundaries.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
