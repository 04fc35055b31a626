//! A server: a thread that takes connections.
//!
//! Nobody can hold it: a request has seconds to arrive, headers have a size, connections a number, of which those
//! that have not asked yet go first. Whoever comes while all of them have asked waits in the kernel's queue.

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

/// Time in which a request has to be here.
const REQUEST: Duration = Duration::from_secs(5);
/// Time in which all is over, the answer taken.
pub const CONNECTION: Duration = Duration::from_secs(30);
/// Bytes of a request's head.
const HEAD: usize = 8192;
/// Time to breathe where a connection cannot be taken: the process may have no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// A server; ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// What a server waits with.
    ///
    /// # Errors
    /// It lacks memory or descriptors.
    pub fn runtime() -> io::Result<Runtime> {
        runtime::Builder::new_current_thread().enable_all().build()
    }

    /// Has `converse` answer each connection, `most` at once, from a thread of this name.
    ///
    /// # Errors
    /// There can be no thread.
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
                // Dropped or sent, it means the same.
                let _ = stopped.await;
            });
            // Whoever makes an answer still is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(serve)?;
        Ok(Server { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A thread that is gone needs no word, and what it died of was printed by then.
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
        // Before one is taken: in the queue it loses nothing but time.
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

/// One request and its answer.
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
