//! Answers requests.

use super::accept;
use super::pulse::Pulse;
use crate::text::Format;
use exactop_http::Hosts;
use exactop_model::text::escape::harmless;
use flate2::write::GzEncoder;
use flate2::Compression;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    HeaderName, HeaderValue, ACCEPT, ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HOST,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Longest time for a page, including the wait for others' pages.
const PAGE: Duration = Duration::from_secs(10);

/// Number of formats of a page.
const FORMATS: usize = 2;

const PATH: &str = "/metrics";
/// Paths of the probes: the daemon lives, and windows close.
const ALIVE: &str = "/healthz";
const READY: &str = "/readyz";
/// Most characters of a refused host name that the answer repeats.
const SHOWN: usize = 100;

type Page = dyn Fn(Format) -> Option<Bytes> + Send + Sync;
type Answer = Response<Full<Bytes>>;

/// Content of the answers.
pub(super) struct Desk {
    hosts: Hosts,
    pulse: Arc<Pulse>,
    page: Arc<Page>,
    /// One page is made at a time; a waiting request holds no thread.
    turn: Arc<Semaphore>,
    compressed: Arc<Compressed>,
}

impl Desk {
    pub fn new(
        hosts: Hosts,
        pulse: Arc<Pulse>,
        page: impl Fn(Format) -> Option<Bytes> + Send + Sync + 'static,
    ) -> Desk {
        let (turn, compressed) = (Arc::new(Semaphore::new(1)), Arc::default());
        Desk { hosts, pulse, page: Arc::new(page), turn, compressed }
    }

    pub async fn answer(&self, request: &Request<Incoming>) -> Answer {
        if let Err(host) = self.is_asked_by_name(request) {
            return text_answer(StatusCode::FORBIDDEN, elsewhere(&host));
        }
        let path = request.uri().path();
        if ![PATH, ALIVE, READY].contains(&path) {
            return text_answer(StatusCode::NOT_FOUND, "not found: the metrics are at /metrics\n");
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut answer = text_answer(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        match path {
            ALIVE => return probed(self.pulse.is_alive()),
            READY => return probed(self.pulse.is_ready()),
            _ => {}
        }
        let header = |name: HeaderName| {
            let values = request.headers().get_all(name).into_iter();
            let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
            (!values.is_empty()).then(|| values.join(","))
        };
        let format = accept::format(header(ACCEPT).as_deref());
        let gzip = accept::gzip(header(ACCEPT_ENCODING).as_deref());
        // Making a page counts as a scrape, in which a new group stands at 0; a HEAD request must
        // not count.
        if request.method() == Method::HEAD {
            return page_answer(Bytes::new(), format, gzip);
        }
        match tokio::time::timeout(PAGE, self.page(format, gzip)).await {
            Ok(Some(page)) => page_answer(page, format, gzip),
            Ok(None) | Err(_) => {
                text_answer(StatusCode::SERVICE_UNAVAILABLE, "no figures now: ask again\n")
            }
        }
    }

    /// Checks the request's host name; else returns the wrong name.
    fn is_asked_by_name(&self, request: &Request<Incoming>) -> Result<(), String> {
        let mut values = request.headers().get_all(HOST).into_iter();
        let host = values.next().map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
        let host = host.unwrap_or_default();
        // Two Host headers would name two servers.
        match values.next().is_none() && self.hosts.has(&host) {
            true => Ok(()),
            false => Err(host),
        }
    }

    async fn page(&self, format: Format, gzip: bool) -> Option<Bytes> {
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok()?;
        let (page, compressed) = (Arc::clone(&self.page), Arc::clone(&self.compressed));
        let make = move || {
            let _turn = turn;
            let page = page(format)?;
            if gzip {
                compressed.compress(page)
            } else {
                Some(page)
            }
        };
        // A panic has already been printed.
        tokio::task::spawn_blocking(make).await.ok().flatten()
    }
}

/// The pages that were compressed last, one per format, which requests for the same page share.
#[derive(Debug, Default)]
struct Compressed(Mutex<VecDeque<(Bytes, Bytes)>>);

impl Compressed {
    fn compress(&self, page: Bytes) -> Option<Bytes> {
        // A poisoned lock is harmless: pairs are inserted whole.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Compares addresses, not bytes: while the page is kept here, no other page lies at its
        // address.
        let is_same =
            |(of, _): &&(Bytes, Bytes)| of.as_ptr() == page.as_ptr() && of.len() == page.len();
        if let Some((_, compressed)) = last.iter().find(is_same) {
            return Some(compressed.clone());
        }
        let compressed = compressed(&page)?;
        last.push_back((page, compressed.clone()));
        if last.len() > FORMATS {
            last.pop_front();
        }
        Some(compressed)
    }
}

/// Writing into memory cannot fail.
fn compressed(page: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(page).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn page_answer(page: Bytes, format: Format, gzip: bool) -> Answer {
    let mut answer = Response::new(Full::new(page));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    if gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// The text of a refusal for a wrong host name.
fn elsewhere(host: &str) -> String {
    let host: String = harmless(host).chars().take(SHOWN).collect();
    format!(
        "the host '{host}' is not served here: ask by the address, or add the name to http.hosts in the daemon's settings\n"
    )
}

fn probed(state: Result<(), String>) -> Answer {
    match state {
        Ok(()) => text_answer(StatusCode::OK, "ok\n"),
        Err(why) => text_answer(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

fn text_answer(status: StatusCode, words: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(words.into()));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}
