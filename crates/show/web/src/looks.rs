//! The processes that are open on pages now. exactop attaches programs for them and sends their
//! reports to the pages.

use crate::hub::{event, Windows};
use hyper::body::Bytes;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::{channel, Sender};
use tokio::sync::oneshot;

/// Most pages with an open process.
const LOOKERS: usize = 8;
/// Most open processes: each has programs in the kernel.
const PROCESSES: usize = 4;
/// Windows that a reader may lag before it is disconnected.
const BEHIND: usize = 16;

/// A process that a page looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// PID.
    pub pid: u32,
    /// True to count its system calls besides its waits.
    pub calls: bool,
}

/// A page that looks. Dropping it ends the connection.
#[derive(Debug)]
struct Looker {
    look: Look,
    events: Sender<Bytes>,
    _stays: oneshot::Sender<()>,
}

/// The pages that look.
#[derive(Debug)]
pub struct Looks {
    /// A secret that only pages of this server know.
    key: String,
    lookers: Mutex<Vec<Looker>>,
    changed: Condvar,
}

impl Looks {
    /// No pages yet; `key`: unpredictable letters and digits.
    pub fn new(key: String) -> Looks {
        Looks { key, lookers: Mutex::default(), changed: Condvar::new() }
    }

    /// The key that a page must send.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// A poisoned lock is harmless: every state behind it is consistent.
    fn lookers(&self) -> MutexGuard<'_, Vec<Looker>> {
        let mut lookers = self.lookers.lock().unwrap_or_else(PoisonError::into_inner);
        lookers.retain(|looker| !looker.events.is_closed());
        lookers
    }

    /// Adds a page. `None`: too many pages, or too many processes.
    pub(crate) fn join(&self, look: Look) -> Option<Windows> {
        let mut lookers = self.lookers();
        let mut looked_at = open_processes(&lookers);
        looked_at.insert(look.pid, look.calls);
        if lookers.len() >= LOOKERS || looked_at.len() > PROCESSES {
            return None;
        }
        let (events, receiver) = channel(BEHIND);
        let (stays, let_go) = oneshot::channel();
        lookers.push(Looker { look, events, _stays: stays });
        self.changed.notify_all();
        Some(Windows { events: receiver, let_go: Some(let_go) })
    }

    /// The open processes by PID, each with true if its system calls are counted.
    pub fn open_processes(&self) -> BTreeMap<u32, bool> {
        open_processes(&self.lookers())
    }

    /// Waits until [`Looks::open_processes`] differs from `known`, or for `until`, and returns it. While no
    /// process is open, it ignores `until`.
    pub fn wait(&self, known: &BTreeMap<u32, bool>, until: Instant) -> BTreeMap<u32, bool> {
        let mut lookers = self.lookers();
        loop {
            let now = open_processes(&lookers);
            let left = until.saturating_duration_since(Instant::now());
            if now != *known || (left.is_zero() && !now.is_empty()) {
                return now;
            }
            let waited = match now.is_empty() {
                true => self.changed.wait(lookers).map_err(PoisonError::into_inner),
                false => match self.changed.wait_timeout(lookers, left) {
                    Ok((lookers, _)) => Ok(lookers),
                    Err(poisoned) => Err(poisoned.into_inner().0),
                },
            };
            lookers = waited.unwrap_or_else(|lookers| lookers);
            lookers.retain(|looker| !looker.events.is_closed());
        }
    }

    /// Sends a report to the pages that look at a process; `calls`: only to those that want its
    /// system calls. A page too far behind is disconnected. JSON is on one line.
    pub fn tell(&self, pid: u32, calls: bool, name: &str, json: &str) {
        let event = event(name, json);
        self.lookers().retain(|looker| {
            let Look { pid: of, calls: wants_calls } = looker.look;
            let is_for = of == pid && (wants_calls || !calls);
            !is_for || looker.events.try_send(event.clone()).is_ok()
        });
    }
}

fn open_processes(lookers: &[Looker]) -> BTreeMap<u32, bool> {
    let mut open = BTreeMap::new();
    for Looker { look, .. } in lookers {
        *open.entry(look.pid).or_insert(false) |= look.calls;
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn look(pid: u32, calls: bool) -> Look {
        Look { pid, calls }
    }

    fn looks() -> Looks {
        Looks::new("key".into())
    }

    #[test]
    fn a_process_is_wanted_while_a_page_looks_at_it() {
        let looks = looks();
        let (one, two) = (looks.join(look(7, false)), looks.join(look(7, true)));
        assert_eq!(looks.open_processes(), BTreeMap::from([(7, true)]));
        drop(two);
        assert_eq!(looks.open_processes(), BTreeMap::from([(7, false)]));
        drop(one);
        assert!(looks.open_processes().is_empty());
    }

    #[test]
    fn each_page_gets_the_reports_of_its_process() {
        let looks = looks();
        let asks = [look(7, false), look(7, true), look(8, true)];
        let mut told: Vec<Windows> = asks.into_iter().filter_map(|ask| looks.join(ask)).collect();
        looks.tell(7, false, "waits", "1");
        looks.tell(7, true, "calls", "2");
        let all = |told: &mut Windows| {
            std::iter::from_fn(|| told.events.try_recv().ok()).collect::<Vec<Bytes>>()
        };
        assert_eq!(all(&mut told[0]), ["event: waits\ndata: 1\n\n"]);
        assert_eq!(all(&mut told[1]).len(), 2);
        assert!(all(&mut told[2]).is_empty());
    }

    #[test]
    fn lookers_are_bounded_and_a_slow_one_is_disconnected() {
        let looks = looks();
        let mut four: Vec<Windows> =
            (1..=4).filter_map(|pid| looks.join(look(pid, false))).collect();
        assert!(four.len() == PROCESSES && looks.join(look(5, false)).is_none());
        let more: Vec<_> = (0..9).filter_map(|_| looks.join(look(1, false))).collect();
        assert_eq!(more.len(), LOOKERS - PROCESSES);
        (0..=BEHIND).for_each(|_| looks.tell(2, false, "waits", "1"));
        assert!(!looks.open_processes().contains_key(&2));
        let told = four[1].let_go.as_mut().map(oneshot::Receiver::try_recv);
        assert_eq!(told, Some(Err(oneshot::error::TryRecvError::Closed)));
        assert!(looks.join(look(5, false)).is_some(), "there is room again");
    }

    #[test]
    fn wait_returns_when_a_page_looks_and_when_none_does() {
        let looks = Arc::new(looks());
        let waiting = std::thread::spawn({
            let looks = Arc::clone(&looks);
            // The next window is overdue, but no process is open.
            move || looks.wait(&BTreeMap::new(), Instant::now())
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        let looker = looks.join(look(7, false)).expect("room");
        let wanted = waiting.join().expect("no panic");
        assert_eq!(wanted, BTreeMap::from([(7, false)]));
        assert_eq!(looks.wait(&wanted, Instant::now()), wanted, "the next window is due");
        drop(looker);
        assert!(looks.wait(&wanted, Instant::now()).is_empty());
    }
}
