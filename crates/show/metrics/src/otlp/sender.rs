//! Reports, sent in a thread of its own.
//!
//! A collector that is not there, or has too much to do, is asked again: after a second, then after twice as
//! long each time, up to the interval. Each time the report is made anew, so that nothing old is kept.

use crate::otlp::wire::ExportMetricsServiceResponse;
use exactop_model::text::escape::harmless;
use flate2::write::GzEncoder;
use flate2::Compression;
use prost::Message;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::http::Uri;
use ureq::Agent;

/// Time in which a report has to be taken.
const REPORT: Duration = Duration::from_secs(10);
/// After the first failure; doubled after each that follows.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of an answer that are read.
const ANSWER: u64 = 65_536;
/// Characters of an error that are kept.
const LONGEST: usize = 300;

/// Why nothing is sent.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// No address of HTTP.
    #[error("'{url}' is no address to send metrics to ({why}): write http://HOST:4318")]
    Url {
        /// What was asked for.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// There can be no thread.
    #[error("cannot start the sender of metrics: {0}: raise the limit of processes")]
    Start(#[source] io::Error),
}

/// How it went so far.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// Reports that were taken.
    pub sent: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Points that the collector refused out of reports it took.
    pub rejected_points: u64,
    /// What was wrong last, in one harmless line; `None` since the last report was taken whole.
    pub error: Option<String>,
}

/// What a report is, each time one is due; `None`: there are no figures yet.
pub type Report = dyn Fn() -> Option<Vec<u8>> + Send;

/// A sender; ends when it is dropped, after the report that is under way.
#[derive(Debug)]
pub struct Sender {
    status: Arc<Mutex<Status>>,
    /// The last report; without one it stops when this is dropped.
    last: mpsc::Sender<Vec<u8>>,
    /// Nothing comes of it but its end.
    ended: mpsc::Receiver<()>,
}

impl Sender {
    /// Sends a report at once, and one each interval. Without a path it goes to `/v1/metrics`, where
    /// collectors take it.
    ///
    /// # Errors
    /// [`OtlpError`]: the address is none, or there can be no thread.
    pub fn start(url: &str, interval: Duration, report: Box<Report>) -> Result<Sender, OtlpError> {
        let url = endpoint(url)?;
        let status = Arc::new(Mutex::new(Status::default()));
        let (last, stopped) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let config = Agent::config_builder()
            .timeout_global(Some(REPORT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("exactop/", env!("CARGO_PKG_VERSION")));
        let post = Post { agent: config.build().new_agent(), url, status: Arc::clone(&status) };
        let send = move || {
            let _ends: mpsc::Sender<()> = ends;
            post.send_all(interval, &*report, &stopped);
        };
        let thread = std::thread::Builder::new().name("otlp".into()).spawn(send);
        thread.map_err(OtlpError::Start)?;
        Ok(Sender { status, last, ended })
    }

    /// Sends a last report, which is waited for so long at most. How it went in the end.
    pub fn finish(self, last: Vec<u8>, most: Duration) -> Status {
        // A thread that is gone takes none.
        if self.last.send(last).is_ok() {
            let _ = self.ended.recv_timeout(most);
        }
        self.status()
    }

    /// How it went so far.
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where reports go: the address, with the path that collectors have where it has none.
///
/// # Errors
/// [`OtlpError::Url`]
pub fn endpoint(url: &str) -> Result<Uri, OtlpError> {
    let wrong = |why: &str| OtlpError::Url { url: harmless(url), why: harmless(why) };
    let uri: Uri =
        url.parse().map_err(|error: ureq::http::uri::InvalidUri| wrong(&error.to_string()))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            return Err(wrong("there is no TLS in it; a collector on this machine has it"))
        }
        _ => return Err(wrong("it does not begin with http://")),
    }
    if !["", "/"].contains(&uri.path()) {
        return Ok(uri);
    }
    let whole = format!("{}/v1/metrics", url.trim_end_matches('/'));
    whole.parse().map_err(|error: ureq::http::uri::InvalidUri| wrong(&error.to_string()))
}

/// What became of a report.
enum Outcome {
    Taken,
    /// It may be taken later: after this time, if the collector says so.
    Later(Option<Duration>),
    /// It will not be taken.
    Refused,
}

struct Post {
    agent: Agent,
    url: Uri,
    status: Arc<Mutex<Status>>,
}

impl Post {
    fn send_all(&self, interval: Duration, report: &Report, stopped: &mpsc::Receiver<Vec<u8>>) {
        let mut pause = FIRST_PAUSE.min(interval);
        let mut due = Instant::now();
        loop {
            let wait = due.saturating_duration_since(Instant::now());
            match stopped.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(last) => {
                    self.send(&last);
                    return;
                }
            }
            let outcome = report().map_or(Outcome::Later(None), |report| self.send(&report));
            let now = Instant::now();
            match outcome {
                Outcome::Later(after) => {
                    due = now + after.unwrap_or(pause).min(interval);
                    pause = (pause * 2).min(interval);
                }
                Outcome::Taken | Outcome::Refused => {
                    pause = FIRST_PAUSE.min(interval);
                    // Those that were missed meanwhile are not made up for.
                    due = (due + interval).max(now);
                }
            }
        }
    }

    fn send(&self, report: &[u8]) -> Outcome {
        match self.post(report) {
            Err(error) => {
                self.failed(&error.to_string());
                Outcome::Later(None)
            }
            Ok(mut answer) => {
                let status = answer.status();
                let body = answer.body_mut().with_config().limit(ANSWER).read_to_vec();
                if status.is_success() {
                    self.taken(body.ok().as_deref());
                    return Outcome::Taken;
                }
                self.failed(&format!("{} answered {status}", self.url));
                let after = answer.headers().get("retry-after").and_then(|v| v.to_str().ok());
                let after = after.and_then(|v| v.parse().ok()).map(Duration::from_secs);
                match status.as_u16() {
                    // The protocol's list of what to send again.
                    429 | 502 | 503 | 504 => Outcome::Later(after),
                    _ => Outcome::Refused,
                }
            }
        }
    }

    fn post(&self, report: &[u8]) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(report)?;
        self.agent
            .post(&self.url)
            .header("content-type", "application/x-protobuf")
            .header("content-encoding", "gzip")
            .send(&encoder.finish()?[..])
    }

    fn taken(&self, answer: Option<&[u8]>) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.sent += 1;
        // An answer that is none of the protocol's says nothing against the report.
        let answer = answer.and_then(|answer| ExportMetricsServiceResponse::decode(answer).ok());
        let partial = answer.and_then(|answer| answer.partial_success);
        let refused = partial.filter(|partial| partial.rejected_data_points > 0);
        status.error = refused.map(|partial| {
            let points = partial.rejected_data_points;
            status.rejected_points += points.unsigned_abs();
            shortened(&format!("{points} points refused: {}", partial.error_message))
        });
    }

    fn failed(&self, error: &str) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.failed += 1;
        status.error = Some(shortened(error));
    }
}

/// What others wrote, harmless and not too long.
fn shortened(text: &str) -> String {
    harmless(text).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_path_of_the_protocol() {
        for (url, whole) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/metrics"),
            ("http://collector/push", "http://collector/push"),
        ] {
            assert_eq!(endpoint(url).expect("an address").to_string(), whole);
        }
        for url in ["https://collector", "collector:4318", "", "ftp://x", "http://", "http://a b"] {
            let error = endpoint(url).expect_err("no address").to_string();
            assert!(error.contains("write http://HOST:4318"), "{error}");
        }
    }
}
