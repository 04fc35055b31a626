//! A thread that answers requests.

use crate::answer::{Desk, ResponseBody};
use crate::door::Door;
use crate::hub::Hub;
use crate::looks::Looks;
use exactop_http::{connection, Guest, CONNECTION};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// Time after which a reader of windows must reconnect.
const READING: Duration = Duration::from_secs(12 * 3600);
/// Most connections at once.
const MOST: usize = 64;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum WebError {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}: choose another address or port with --listen")]
    Bind {
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The policy does not fit into a header.
    #[error("cannot put the page's policy into a header: report this with the version of exactop")]
    Policy,
    /// The thread or its runtime cannot be started.
    #[error("cannot start the page's server: {0}: raise the limits of processes and open files")]
    Start(#[source] io::Error),
}

/// Content of the server.
#[derive(Debug)]
pub struct Content {
    /// The page.
    pub page: String,
    /// Its Content-Security-Policy.
    pub policy: String,
    /// Windows as they come, on a live page.
    pub hub: Option<Arc<Hub>>,
    /// Pages that look at processes, if programs are attached for them.
    pub looks: Option<Arc<Looks>>,
}

/// A server; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    _server: exactop_http::Server,
}

impl Server {
    /// Binds an address; requests are not answered yet.
    ///
    /// # Errors
    /// [`WebError::Bind`]
    pub fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), WebError> {
        let failed = |source| WebError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok((listener, address))
    }

    /// Answers from a thread of its own.
    ///
    /// # Errors
    /// [`WebError`]: the thread cannot be started.
    pub fn start(listener: TcpListener, door: Door, content: Content) -> Result<Server, WebError> {
        let policy = format!("{}; frame-ancestors 'none'", content.policy);
        let policy = HeaderValue::from_str(&policy).map_err(|_| WebError::Policy)?;
        let page = Bytes::from(content.page);
        let desk = Arc::new(Desk { door, page, policy, hub: content.hub, looks: content.looks });
        let runtime = exactop_http::Server::runtime().map_err(WebError::Start)?;
        let listener = {
            let _within = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(WebError::Start)?
        };
        let answer = move |stream, guest| converse(stream, Arc::clone(&desk), guest);
        let server = exactop_http::Server::start("web", runtime, listener, MOST, answer);
        Ok(Server { _server: server.map_err(WebError::Start)? })
    }
}

async fn converse(stream: TcpStream, desk: Arc<Desk>, guest: Guest) {
    let reads: Mutex<Option<oneshot::Receiver<()>>> = Mutex::new(None);
    let answer = service_fn(|request: Request<Incoming>| {
        guest.asks();
        let mut answer: Response<ResponseBody> = desk.answer(&request);
        if let ResponseBody::Windows(windows) = answer.body_mut() {
            *reads.lock().unwrap_or_else(PoisonError::into_inner) = windows.let_go.take();
        }
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = connection(stream, answer);
    tokio::pin!(connection);
    let reader = || reads.lock().unwrap_or_else(PoisonError::into_inner);
    // Data in transit to a client that reads nothing would keep the connection open without end.
    let mut over = std::future::poll_fn(|context| {
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        match reader().as_mut() {
            Some(let_go) => Pin::new(let_go).poll(context).map(drop),
            None => Poll::Pending,
        }
    });
    // A client that left or was too slow is not reported.
    let first = tokio::time::timeout(CONNECTION, &mut over).await;
    if first.is_err() && reader().is_some() {
        let _ = tokio::time::timeout(READING, over).await;
    }
}
