//! A thread that answers.

use crate::answer::{Desk, Sent};
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

/// Time after which who reads windows has to come again.
const READING: Duration = Duration::from_secs(12 * 3600);
/// As many connections at once.
const MOST: usize = 64;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}: choose another address or port with --listen")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// The policy is no header.
    #[error("the page's policy is not fit for a header")]
    Policy,
    /// No thread, or nothing to wait with.
    #[error("cannot start the page's server: {0}: raise the limits of processes and open files")]
    Start(#[source] io::Error),
}

/// What is served.
#[derive(Debug)]
pub struct Content {
    /// The page.
    pub page: String,
    /// What it may do (Content-Security-Policy).
    pub policy: String,
    /// Windows as they come, if they do.
    pub hub: Option<Arc<Hub>>,
    /// Who looks at which process, if somebody attaches programs for them.
    pub looks: Option<Arc<Looks>>,
}

/// A server; ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    _server: exactop_http::Server,
}

impl Server {
    /// Takes an address; nobody is answered yet.
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
    /// [`WebError`]: there can be no thread.
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
        let mut answer: Response<Sent> = desk.answer(&request);
        if let Sent::Windows(windows) = answer.body_mut() {
            *reads.lock().unwrap_or_else(PoisonError::into_inner) = windows.let_go.take();
        }
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = connection(stream, answer);
    tokio::pin!(connection);
    let reader = || reads.lock().unwrap_or_else(PoisonError::into_inner);
    // What is on its way to somebody who reads nothing would keep the connection as long as they like.
    let mut over = std::future::poll_fn(|context| {
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        match reader().as_mut() {
            Some(let_go) => Pin::new(let_go).poll(context).map(drop),
            None => Poll::Pending,
        }
    });
    // A client that went away, or was too slow, is his own affair.
    let first = tokio::time::timeout(CONNECTION, &mut over).await;
    if first.is_err() && reader().is_some() {
        let _ = tokio::time::timeout(READING, over).await;
    }
}
