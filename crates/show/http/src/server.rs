//! A server: a thread that takes connections.
//!
//! No client can block it. A request must arrive within `REQUEST`, and its head has at most `HEAD`
//! bytes. The number of connections is limited; the server first closes connections without a
//! request. While all connections have sent a request, new ones wait in the kernel's queue.

use crate::guests::{Guest, Guests};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::{Builder, Connection};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::error::Error;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Runtime};
use tokio::sync::{oneshot, Notify};

/// Longest time for a request to arrive.
const REQUEST: Duration = Duration::from_secs(5);
/// Longest time for a connection, including the answer.
pub const CONNECTION: Duration = Duration::from_secs(30);
/// Most bytes of a request's head.
const HEAD: usize = 8192;
/// Pause after a connection could not be accepted: the process may have no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// A server; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A runtime for one thread.
    ///
    /// # Errors
    /// Memory or descriptors are missing.
    pub fn runtime() -> io::Result<Runtime> {
        runtime::Builder::new_current_thread().enable_all().build()
    }

    /// Starts a thread of this name. It calls `converse` for each connection, at most `most` at
    /// once.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        name: &str,
        runtime: Runtime,
        listener: TcpListener,
        most: usize,
        converse: impl Fn(TcpStream, Guest) -> F + Send + 'static,
    ) -> io::Result<Server> {
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async {
                tokio::spawn(serve(listener, most, converse));
                // A dropped sender means the same as a message.
                let _ = stopped.await;
            });
            // Does not wait for answers in progress.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(serve)?;
        Ok(Server { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A thread that has ended needs no message, and has already printed its panic.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn serve<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    most: usize,
    converse: impl Fn(TcpStream, Guest) -> F,
) {
    let mut guests = Guests::new(most);
    let gone = Arc::new(Notify::new());
    loop {
        // Make room before accepting: a connection in the kernel's queue loses only time.
        while !guests.make_room() {
            gone.notified().await;
        }
        match listener.accept().await {
            Err(_) => tokio::time::sleep(PAUSE).await,
            Ok((stream, _)) => {
                let guest = Guest::default();
                let (conversation, gone) = (converse(stream, guest.clone()), Arc::clone(&gone));
                let task = tokio::spawn(async move {
                    conversation.await;
                    gone.notify_one();
                });
                guests.admit(guest, task.abort_handle());
            }
        }
    }
}

/// Handles one request.
pub fn connection<S, B>(stream: TcpStream, answer: S) -> Connection<TokioIo<TcpStream>, S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(HEAD)
        .max_header_size(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer)
}
