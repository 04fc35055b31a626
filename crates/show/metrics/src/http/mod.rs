//! The page over HTTP: GET /metrics, for clients that reach the address and use one of its names;
//! and the probes /healthz and /readyz.
//!
//! The server runs in a thread of its own ([`exactop_http::Server`]) and gets the page from a
//! function, whose caller decides the instant. One page is made at a time; simultaneous requests
//! for the same page share its bytes.

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

/// Most connections at once. Each unread one holds a page and the kernel's buffer for it.
const MOST: usize = 1024;
/// Most connections that wait in the kernel to be accepted (listen(2); net.core.somaxconn bounds
/// it).
const QUEUE: u32 = 4096;
/// Most bytes of an unread answer that the kernel keeps for a client (SO_SNDBUF of socket(7)).
const UNREAD: u32 = 64 << 10;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum HttpError {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}: choose another address or port")]
    Bind {
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The thread or its runtime cannot be started.
    #[error(
        "cannot start the server of metrics: {0}: raise the limits of processes and open files"
    )]
    Start(#[source] io::Error),
}

/// Host names of the server, and the state for its probes.
#[derive(Clone, Debug)]
pub struct Front {
    /// Host names besides loopback names and the address.
    pub names: Vec<String>,
    /// When windows close.
    pub pulse: Arc<Pulse>,
}

impl Default for Front {
    fn default() -> Front {
        Front { names: Vec::new(), pulse: Arc::new(Pulse::new(Duration::from_secs(10))) }
    }
}

/// A server; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    _server: exactop_http::Server,
}

impl Server {
    /// Listens at once, and answers from a thread of its own. `page` returns the page in the
    /// requested format; `None`: there is none now, and the client gets status 503.
    ///
    /// # Errors
    /// [`HttpError`]: the address cannot be used, or the thread cannot be started.
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

    /// The address at which it listens, with the port if the kernel chose it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn listen(runtime: &Runtime, address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Connections that the last server left behind do not delay this one.
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
    // A client that left or was too slow is not reported.
    let _ = tokio::time::timeout(CONNECTION, connection(stream, answer)).await;
}
