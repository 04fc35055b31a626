//! HTTP to a store that may be away: whom to believe, how long to wait, and what another attempt would change.

use crate::clickhouse::address::{roots, shortened, Address, StoreError};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::Agent;

/// How long a store that is away is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// After the first failure; doubled after each that follows.
    pub first: Duration,
    /// No pause is longer.
    pub longest: Duration,
    /// For one request, all in all.
    pub all: Duration,
}

impl Patience {
    /// It is asked once: whoever asks again comes back later.
    pub const ONCE: Patience = Patience {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(1),
        all: Duration::ZERO,
    };

    /// Asks until there is an answer.
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
                let seconds = begun.elapsed().as_secs();
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

/// What became of an attempt.
pub(crate) enum Failed {
    /// Another one may do better.
    Later { why: String, after: Option<Duration> },
    /// None will.
    Refused(StoreError),
}

/// Longest time for the name and the connection of one attempt.
const CONNECTS: Duration = Duration::from_secs(10);

/// Who speaks to that address, each time no longer than `longest`. `believed` is a file of certificates, else the system's are.
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
        // Those of WebDAV are none of HTTP's own.
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

/// There was no answer, or not all of it.
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

/// Whether another attempt would fail for the same reason: nobody believes the store's certificate.
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

/// What an answer's head says of when to ask again.
pub(crate) fn after(answer: &ureq::http::Response<ureq::Body>) -> Option<Duration> {
    let text = answer.headers().get("retry-after")?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}

/// Whether a status says that the same may be taken later.
pub(crate) fn may_pass(status: ureq::http::StatusCode) -> bool {
    status.is_server_error() || [408, 429].contains(&status.as_u16())
}
