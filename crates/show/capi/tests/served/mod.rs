//! A daemon within the test: a server of this machine's figures, in a thread of its own.

use exactop_model::Book;
use exactop_recording::Machine;
use exactop_service::Server;
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, SplitOptions};
use std::path::Path;
use std::sync::mpsc::{channel, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server that runs until it is dropped.
pub struct Served {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves figures of this source; readers may connect from now on.
    pub fn start(socket: &Path, kind: &str) -> Served {
        let choice = if kind == "ledger" { Choice::Ledger } else { Choice::Procfs };
        let machine = Machine::this("0.1.0");
        let mut server = Server::listen(socket, None, machine).expect("a socket");
        let (stop, stopped) = channel::<()>();
        let (opened, is_open) = channel::<()>();
        let thread = std::thread::spawn(move || {
            // Some sources cannot move between threads.
            let mut source = session::source(choice, SplitOptions::default()).expect("a source");
            let _ = opened.send(());
            let mut book = Book::new();
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                server.serve(Duration::from_millis(20), &[]).expect("it waits");
                if server.is_due() {
                    let t0_ns = book.at_ns();
                    let now = source.snapshot(&Request::default()).expect("a snapshot");
                    book.advance(now.clone());
                    server.tell(t0_ns.unwrap_or(now.at_ns), &now, &book);
                }
            }
        });
        // A reader waits ten seconds, and loading programs may take longer on a busy machine.
        is_open.recv().expect("a source");
        Served { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the daemon failed");
        }
    }
}
