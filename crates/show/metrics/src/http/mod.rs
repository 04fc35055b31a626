//! The page over HTTP: GET /metrics, for whoever may reach the address and asks by one of its names; and the probes /healthz
//! and /readyz.
//!
//! The server runs in a thread of its own ([`exactop_http::Server`]) and asks for the page by a function, whose caller
//! decides the instant; one page is made at a time, and who asks for the same one meanwhile has the same bytes.

mod accept;
mod answer;
mod pulse;

use crate::text::Format;
use answer::Desk;
use exactop_http::{connection, Guest, Hosts, CONNECTION};
use hyper::body::Bytes;
use hyper::service::service_fn;
pub use pulse::Pulse;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;

/// As many connections at once: of each that does not read, a page and what the kernel keeps for it are held.
const MOST: usize = 1024;
/// Connections that wait in the kernel until they are taken (listen(2); net.core.somaxconn bounds it).
const QUEUE: u32 = 4096;
/// Bytes of an answer that the kernel keeps for a client until it reads them (SO_SNDBUF of socket(7)).
const UNREAD: u32 = 64 << 10;

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
    _server: exactop_http::Server,
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
        let runtime = exactop_http::Server::runtime().map_err(HttpError::Start)?;
        let bind = |source| HttpError::Bind { address, source };
        let listener = listen(&runtime, address).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let hosts = Hosts::new(address.ip(), front.names);
        let desk = Arc::new(Desk::new(hosts, front.pulse, page));
        let answer = move |stream, guest| converse(stream, Arc::clone(&desk), guest);
        let server = exactop_http::Server::start("metrics", runtime, listener, MOST, answer);
        Ok(Server { address, _server: server.map_err(HttpError::Start)? })
    }

    /// Where it listens: the port, if it was left to the kernel.
    pub fn address(&self) -> SocketAddr {
        self.address
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

async fn converse(stream: TcpStream, desk: Arc<Desk>, guest: Guest) {
    let answer = service_fn(|request| {
        guest.asks();
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(desk.answer(&request).await) }
    });
    // A client that went away, or was too slow, is his own affair.
    let _ = tokio::time::timeout(CONNECTION, connection(stream, answer)).await;
}
