//! The page over HTTP: GET /metrics, for whoever may reach the address and asks by one of its names; and the probes /healthz
//! and /readyz.
//!
//! Nobody can hold it: a request has seconds to arrive and its connection seconds to end, headers have a
//! size, connections a number, of which those that have not asked yet go first. Whoever comes while all of
//! them have asked waits in the kernel's queue. The server runs in a thread of its own and asks for the page
//! by a function, whose caller decides the instant; one page is made at a time, and who asks for the same
//! one meanwhile has the same bytes.

mod accept;
mod answer;
mod guests;
mod pulse;

use crate::text::Format;
use answer::Desk;
use exactop_http::Hosts;
use guests::{Guest, Guests};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
pub use pulse::Pulse;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, Notify};

/// Time in which a request has to be here.
const REQUEST: Duration = Duration::from_secs(5);
/// Time in which all is over, the answer taken.
const CONNECTION: Duration = Duration::from_secs(30);
/// Bytes of a request's head.
const HEAD: usize = 8192;
/// Connections that wait in the kernel until they are taken (listen(2); net.core.somaxconn bounds it).
const QUEUE: u32 = 4096;
/// Bytes of an answer that the kernel keeps for a client until it reads them (SO_SNDBUF of socket(7)).
const UNREAD: u32 = 64 << 10;
/// Time to breathe where a connection cannot be taken: the process may have no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}: choose another address or port")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// No thread, or nothing to wait with.
    #[error(
        "cannot start the server of metrics: {0}: raise the limits of processes and open files"
    )]
    Start(#[source] io::Error),
}

/// By what the server is asked, and what its probes answer.
#[derive(Clone, Debug)]
pub struct Front {
    /// Names beside loopback's and the address.
    pub names: Vec<String>,
    /// When windows close.
    pub pulse: Arc<Pulse>,
}

impl Default for Front {
    fn default() -> Front {
        Front { names: Vec::new(), pulse: Arc::new(Pulse::new(Duration::from_secs(10))) }
    }
}

/// A server; ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at once, and answers from a thread of its own. `page` is asked for each page in the format
    /// that was asked for; `None`: there is none now, which the client is told (503).
    ///
    /// # Errors
    /// [`HttpError`]: the address cannot be had, or there can be no thread.
    pub fn start(
        address: SocketAddr,
        front: Front,
        page: impl Fn(Format) -> Option<Bytes> + Send + Sync + 'static,
    ) -> Result<Server, HttpError> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().map_err(HttpError::Start)?;
        let bind = |source| HttpError::Bind { address, source };
        let listener = listen(&runtime, address).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let (stop, stopped) = oneshot::channel();
        let hosts = Hosts::new(address.ip(), front.names);
        let desk = Arc::new(Desk::new(hosts, front.pulse, page));
        let serve = move || {
            runtime.block_on(async {
                tokio::spawn(serve(listener, desk));
                // Dropped or sent, it means the same.
                let _ = stopped.await;
            });
            // Whoever makes a page still is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(serve);
        let thread = Some(thread.map_err(HttpError::Start)?);
        Ok(Server { address, stop: Some(stop), thread })
    }

    /// Where it listens: the port, if it was left to the kernel.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A thread that is gone needs no word, and what it died of was printed by then.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn listen(runtime: &Runtime, address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // What the last server's connections left behind is no reason to wait for them.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(UNREAD)?;
    socket.bind(address)?;
    let _within = runtime.enter();
    socket.listen(QUEUE)
}

async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut guests = Guests::default();
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
                let (desk, told, gone) = (Arc::clone(&desk), guest.clone(), Arc::clone(&gone));
                let task = tokio::spawn(async move {
                    converse(stream, desk, told).await;
                    gone.notify_one();
                });
                guests.admit(guest, task.abort_handle());
            }
        }
    }
}

async fn converse(stream: TcpStream, desk: Arc<Desk>, guest: Guest) {
    let answer = service_fn(|request| {
        guest.asks();
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(desk.answer(&request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(HEAD)
        .max_header_size(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that went away, or was too slow, is his own affair.
    let _ = tokio::time::timeout(CONNECTION, connection).await;
}
