//! HTTP to a store that may be away: certificates, timeouts and retries.

use crate::clickhouse::address::{roots, shortened, Address, StoreError};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::Agent;

/// Retries of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Pause after the first failure; doubled after each further failure.
    pub first: Duration,
    /// Longest pause.
    pub longest: Duration,
    /// Longest time for one request with all its attempts.
    pub all: Duration,
}

impl Patience {
    /// One attempt, for a caller that retries by itself.
    pub const ONCE: Patience = Patience {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(1),
        all: Duration::ZERO,
    };

    /// Repeats a request until it has an answer.
    pub(crate) fn carry<T>(
        &self,
        mut ask: impl FnMut() -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let mut pause = self.first;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (why, after) = match ask() {
                Ok(answer) => return Ok(answer),
                Err(Failed::Refused(error)) => return Err(error),
                Err(Failed::Later { why, after }) => (why, after),
            };
            let wait = after.unwrap_or(pause).min(self.longest);
            if begun.elapsed() + wait > self.all {
                // The client rounds its limit down: 4 s end after 3.999 s.
                let seconds = begun.elapsed().as_secs_f64().round() as u64;
                return Err(StoreError::Away { attempts, seconds, last: why });
            }
            sleep(wait);
            pause = (pause * 2).min(self.longest);
        }
    }
}

impl Default for Patience {
    fn default() -> Patience {
        let [first, longest, all] = [1, 30, 300].map(Duration::from_secs);
        Patience { first, longest, all }
    }
}

pub(crate) enum Failed {
    /// A retry may succeed, after this pause if the server gave one.
    Later { why: String, after: Option<Duration> },
    /// A retry would fail, too.
    Refused(StoreError),
}

/// Longest time to resolve and connect, per attempt.
const CONNECTS: Duration = Duration::from_secs(10);

/// HTTP client for that address; a request takes at most `longest`. `believed` is a file of trusted
/// certificates, else the system's.
pub(crate) fn agent(
    address: &Address,
    believed: Option<&Path>,
    longest: Duration,
) -> Result<Agent, StoreError> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(longest))
        .timeout_resolve(Some(CONNECTS))
        .timeout_connect(Some(CONNECTS))
        .http_status_as_error(false)
        .max_redirects(0)
        // WebDAV has its own methods.
        .allow_non_standard_methods(true)
        .proxy(None)
        .user_agent(concat!("exactop/", env!("CARGO_PKG_VERSION")));
    if address.is_secure() {
        let roots = RootCerts::new_with_certs(&roots(believed)?);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder().root_certs(roots);
        config = config.tls_config(tls.unversioned_rustls_crypto_provider(provider).build());
    }
    Ok(config.build().new_agent())
}

/// There was no answer, or only a part of it.
pub(crate) fn failed(error: &ureq::Error) -> Failed {
    let text = shortened(&error.to_string());
    match is_for_good(error) {
        true => Failed::Refused(StoreError::Refused {
            text,
            hint: " (is --ca the file with the certificate that signed the store's?)",
        }),
        false => Failed::Later { why: text, after: None },
    }
}

/// True if a retry would fail for the same reason: the certificate is not trusted.
fn is_for_good(error: &ureq::Error) -> bool {
    let certificate = |error: &rustls::Error| matches!(error, rustls::Error::InvalidCertificate(_));
    match error {
        ureq::Error::Rustls(error) => certificate(error),
        ureq::Error::Io(error) => {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            inner.is_some_and(certificate)
        }
        _ => false,
    }
}

/// The Retry-After header of an answer.
pub(crate) fn after(answer: &ureq::http::Response<ureq::Body>) -> Option<Duration> {
    let text = answer.headers().get("retry-after")?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}

/// True if the status allows a retry.
pub(crate) fn may_pass(status: ureq::http::StatusCode) -> bool {
    status.is_server_error() || [408, 429].contains(&status.as_u16())
}
