//! The connections of a server, and the choice of those to close when there are too many.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use tokio::task::AbortHandle;

/// A connection.
#[derive(Clone, Debug, Default)]
pub struct Guest {
    asked: Arc<AtomicBool>,
}

impl Guest {
    /// Notes that its request has arrived.
    pub fn asks(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

/// All connections, the oldest first.
#[derive(Debug)]
pub(super) struct Guests {
    most: usize,
    all: VecDeque<(Guest, AbortHandle)>,
}

impl Guests {
    /// Allows at most `most` connections at once.
    pub fn new(most: usize) -> Guests {
        Guests { most, all: VecDeque::new() }
    }

    /// True if one more may come: the oldest connection without a request is closed for it.
    pub fn make_room(&mut self) -> bool {
        self.all.retain(|(_, task)| !task.is_finished());
        if self.all.len() < self.most {
            return true;
        }
        let idle = |(guest, _): &(Guest, AbortHandle)| !guest.asked.load(Ordering::Relaxed);
        let Some(place) = self.all.iter().position(idle) else { return false };
        if let Some((_, task)) = self.all.remove(place) {
            task.abort();
        }
        true
    }

    /// Adds a connection.
    pub fn admit(&mut self, guest: Guest, task: AbortHandle) {
        self.all.push_back((guest, task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::task::JoinHandle;

    const MOST: usize = 1024;

    /// Connects `number` guests; some of them ask. Returns those that were let in and still live at
    /// the end.
    fn crowd(number: usize, asks: fn(usize) -> bool) -> Vec<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut guests = Guests::new(MOST);
            let mut tasks: Vec<(usize, JoinHandle<()>)> = Vec::new();
            for n in 0..number {
                if !guests.make_room() {
                    continue;
                }
                let guest = Guest::default();
                if asks(n) {
                    guest.asks();
                }
                let task = tokio::spawn(pending());
                guests.admit(guest, task.abort_handle());
                tasks.push((n, task));
                // Lets closed connections end.
                tokio::task::yield_now().await;
            }
            tokio::task::yield_now().await;
            let live = tasks.iter().filter(|(_, task)| !task.is_finished());
            live.map(|(n, _)| *n).collect()
        })
    }

    #[test]
    fn the_oldest_that_has_not_asked_goes() {
        let number = MOST + 36;
        assert_eq!(crowd(number, |_| false), (36..number).collect::<Vec<_>>());
        let live = crowd(number, |n| n < 10);
        assert_eq!(live.len(), MOST);
        assert!(live.starts_with(&(0..10).collect::<Vec<_>>()), "{live:?}");
    }

    #[test]
    fn connections_with_a_request_are_kept() {
        assert_eq!(crowd(MOST + 36, |_| true), (0..MOST).collect::<Vec<_>>());
    }
}
