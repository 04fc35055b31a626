//! Sends reports from a thread of its own.
//!
//! If a collector is unreachable or busy, the sender retries after a second, then after twice as
//! long each time, up to the interval. Each attempt makes a new report, so that no old figures are
//! kept.

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

/// Longest time for a collector to accept a report.
const REPORT: Duration = Duration::from_secs(10);
/// Pause after the first failure; doubled after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Most bytes of an answer that are read.
const ANSWER: u64 = 65_536;
/// Most characters of an error that are kept.
const LONGEST: usize = 300;

/// Why nothing is sent.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum OtlpError {
    /// The URL is not an HTTP address.
    #[error("'{url}' is not an address to send metrics to ({why}): write http://HOST:4318")]
    Url { url: String, why: String },
    /// The thread cannot be started.
    #[error("cannot start the sender of metrics: {0}: raise the limit of processes")]
    Start(#[source] io::Error),
}

/// State of the sender.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// Reports that the collector accepted.
    pub sent: u64,
    /// Failed attempts.
    pub failed: u64,
    /// Points that the collector rejected in reports that it accepted.
    pub rejected_points: u64,
    /// The last error in one escaped line; `None` once a report was accepted completely.
    pub error: Option<String>,
}

/// Makes a report, each time one is due; `None`: there are no figures yet.
pub type Report = dyn Fn() -> Option<Vec<u8>> + Send;

/// A sender; dropping it ends it, after the report in progress.
#[derive(Debug)]
pub struct Sender {
    status: Arc<Mutex<Status>>,
    /// Takes the last report; dropping it stops the sender without one.
    last: mpsc::Sender<Vec<u8>>,
    /// Closed when the sender's thread has ended.
    ended: mpsc::Receiver<()>,
}

impl Sender {
    /// Sends a report at once, and one each interval. A URL without a path gets `/v1/metrics`, the
    /// path of collectors.
    ///
    /// # Errors
    /// [`OtlpError`]: the URL is invalid, or the thread cannot be started.
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

    /// Sends a last report, and waits at most `most` for it. Returns the final state.
    pub fn finish(self, last: Vec<u8>, most: Duration) -> Status {
        // A thread that has ended takes no report.
        if self.last.send(last).is_ok() {
            let _ = self.ended.recv_timeout(most);
        }
        self.status()
    }

    /// The current state.
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The URL for reports, with the usual path of collectors if it has none.
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
            return Err(wrong("exactop sends metrics without TLS: send them to a collector on this machine, which has it"))
        }
        _ => return Err(wrong("its scheme is not http")),
    }
    if !["", "/"].contains(&uri.path()) {
        return Ok(uri);
    }
    let whole = format!("{}/v1/metrics", url.trim_end_matches('/'));
    whole.parse().map_err(|error: ureq::http::uri::InvalidUri| wrong(&error.to_string()))
}

/// Result of sending a report.
enum Outcome {
    Taken,
    /// Retry later: after this time, if the collector names one.
    Later(Option<Duration>),
    /// The collector will not accept it.
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
                    // Missed reports are not sent later.
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
                    // Status codes that the protocol retries.
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
        // An answer outside of the protocol does not mean that the report was rejected.
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

/// A foreign text, escaped and shortened.
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
