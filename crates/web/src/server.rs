//! A thread that answers.

use crate::answer::{Desk, Sent};
use crate::door::Door;
use crate::hub::Hub;
use crate::looks::Looks;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, Semaphore};

/// Time in which a request has to be here.
const REQUEST: Duration = Duration::from_secs(5);
/// Time in which all is over, unless windows are read.
const CONNECTION: Duration = Duration::from_secs(30);
/// Time after which who reads windows has to come again.
const READING: Duration = Duration::from_secs(12 * 3600);
/// Bytes of a request's head.
const HEAD: usize = 8192;
/// As many connections at once.
const MOST: usize = 64;
/// Time to breathe where a connection cannot be taken: the process may have no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

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
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
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
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().map_err(WebError::Start)?;
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async {
                tokio::spawn(serve(listener, desk));
                // Dropped or sent, it means the same.
                let _ = stopped.await;
            });
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("web".into()).spawn(serve);
        Ok(Server { stop: Some(stop), thread: Some(thread.map_err(WebError::Start)?) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A thread that is gone needs no word, and what it died of was printed by then.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        // Whoever comes while all is taken waits; who asks nothing goes within seconds.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Err(_) => tokio::time::sleep(PAUSE).await,
            Ok((stream, _)) => {
                let desk = Arc::clone(&desk);
                tokio::spawn(async move {
                    converse(stream, &desk).await;
                    drop(place);
                });
            }
        }
    }
}

async fn converse(stream: TcpStream, desk: &Desk) {
    let reads: Mutex<Option<oneshot::Receiver<()>>> = Mutex::new(None);
    let answer = service_fn(|request: Request<Incoming>| {
        let mut answer: Response<Sent> = desk.answer(&request);
        if let Sent::Windows(windows) = answer.body_mut() {
            *reads.lock().unwrap_or_else(PoisonError::into_inner) = windows.let_go.take();
        }
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
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
