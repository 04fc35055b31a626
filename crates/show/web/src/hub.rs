//! Keeps the last windows for new readers, and sends the next ones to all readers.

use hyper::body::Bytes;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::oneshot;

/// Most windows that are kept.
const WINDOWS: usize = 300;
/// Most bytes of windows that are kept.
const BYTES: usize = 16 << 20;
/// Most readers at once.
const READERS: usize = 32;
/// Windows that a reader may lag before it is disconnected.
const BEHIND: usize = 64;

/// A reader. Dropping it ends the connection, even with unsent data: otherwise a reader that reads
/// nothing would keep it open for ever.
#[derive(Debug)]
struct Reader {
    events: Sender<Bytes>,
    _stays: oneshot::Sender<()>,
}

#[derive(Debug)]
pub(crate) struct Windows {
    pub events: Receiver<Bytes>,
    /// Ends when the hub disconnects the reader.
    pub let_go: Option<oneshot::Receiver<()>>,
}

/// The readers and the kept windows.
#[derive(Debug, Default)]
struct Inner {
    kept: VecDeque<Bytes>,
    bytes: usize,
    readers: Vec<Reader>,
}

/// Windows as they come.
#[derive(Debug)]
pub struct Hub {
    begin: Bytes,
    inner: Mutex<Inner>,
}

impl Hub {
    /// A hub whose readers first get the document `begin`, then windows. Both are JSON on one line.
    pub fn new(begin: &str) -> Hub {
        Hub { begin: event("begin", begin), inner: Mutex::default() }
    }

    /// A poisoned lock is harmless: every state behind it is consistent.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a window to all readers. A reader too far behind is disconnected; when it returns, it
    /// gets the kept windows.
    pub fn publish(&self, window: &str) {
        let event = event("window", window);
        let mut inner = self.inner();
        inner.readers.retain(|reader| reader.events.try_send(event.clone()).is_ok());
        inner.bytes += event.len();
        inner.kept.push_back(event);
        while inner.kept.len() > WINDOWS || inner.bytes > BYTES && inner.kept.len() > 1 {
            let gone = inner.kept.pop_front().map_or(0, |gone| gone.len());
            inner.bytes -= gone;
        }
    }

    /// True if there is a reader.
    pub fn is_read(&self) -> bool {
        let mut inner = self.inner();
        inner.readers.retain(|reader| !reader.events.is_closed());
        !inner.readers.is_empty()
    }

    /// Adds a reader: it gets `alone`, the kept windows, then new ones. `None`: there are too many
    /// readers.
    pub(crate) fn join(&self, alone: Option<Bytes>) -> Option<Windows> {
        let mut inner = self.inner();
        inner.readers.retain(|reader| !reader.events.is_closed());
        if inner.readers.len() >= READERS {
            return None;
        }
        let (sender, receiver) = channel(2 + inner.kept.len() + BEHIND);
        for event in std::iter::once(&self.begin).chain(&alone).chain(&inner.kept) {
            // The channel has room for all kept windows.
            sender.try_send(event.clone()).ok()?;
        }
        let (stays, let_go) = oneshot::channel();
        inner.readers.push(Reader { events: sender, _stays: stays });
        Some(Windows { events: receiver, let_go: Some(let_go) })
    }
}

/// An event in the form of browsers' event streams; the JSON is on one line.
pub(crate) fn event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(windows: &mut Windows) -> Vec<Bytes> {
        std::iter::from_fn(|| windows.events.try_recv().ok()).collect()
    }

    #[test]
    fn a_late_reader_gets_the_last_windows_and_all_get_the_next() {
        let hub = Hub::new("{}");
        (0..WINDOWS + 5).for_each(|n| hub.publish(&n.to_string()));
        let mut reader = hub.join(None).expect("room");
        let kept = all(&mut reader);
        assert_eq!(kept.len(), 1 + WINDOWS);
        assert_eq!(kept[0], "event: begin\ndata: {}\n\n");
        assert_eq!(kept[1], "event: window\ndata: 5\n\n");
        hub.publish("next");
        assert_eq!(all(&mut reader), ["event: window\ndata: next\n\n"]);
    }

    #[test]
    fn a_reader_that_does_not_read_is_disconnected_and_bytes_are_bounded() {
        let hub = Hub::new("{}");
        let mut reader = hub.join(None).expect("room");
        let window = "x".repeat(BYTES / 8);
        (0..BEHIND + 9).for_each(|_| hub.publish(&window));
        assert_eq!(hub.inner().readers.len(), 0);
        assert!(hub.inner().bytes <= BYTES);
        assert!(!all(&mut reader).is_empty());
        let told = reader.let_go.as_mut().map(oneshot::Receiver::try_recv);
        assert_eq!(told, Some(Err(oneshot::error::TryRecvError::Closed)), "its connection ends");
    }

    #[test]
    fn there_is_room_for_some() {
        let hub = Hub::new("{}");
        let readers: Vec<_> = (0..READERS).filter_map(|_| hub.join(None)).collect();
        assert!(readers.len() == READERS && hub.join(None).is_none());
        drop(readers);
        assert!(hub.join(None).is_some());
    }
}
