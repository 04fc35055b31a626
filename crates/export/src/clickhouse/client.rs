//! What a store is asked and sent, as often as it takes.

use super::address::{roots, shortened, Address, Login, StoreError};
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::Agent;

/// Time in which a batch has to be taken.
const REQUEST: Duration = Duration::from_secs(120);
/// Bytes of an answer that are read.
const ANSWER: u64 = 16 << 20;
/// Errors of ClickHouse after which the same may be taken later: it has too much to do, or lacks what it has
/// at other times (memory, disk, connections, a keeper, other replicas).
const LATER: [u32; 17] =
    [159, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 285, 286, 319, 425, 439, 999];
/// So that a batch is taken as a whole, once, with all sums, and no null becomes a 0.
const SETTINGS: [(&str, &str); 10] = [
    ("async_insert", "0"),
    ("insert_deduplicate", "1"),
    // What follows from rows that were taken is made up for when they come again.
    ("deduplicate_blocks_in_dependent_materialized_views", "1"),
    ("max_insert_threads", "1"),
    ("max_insert_block_size", "1048576"),
    ("min_insert_block_size_rows", "1048576"),
    ("min_insert_block_size_bytes", "1073741824"),
    ("input_format_null_as_default", "0"),
    ("input_format_parquet_allow_missing_columns", "0"),
    // The answer says what became of all of it.
    ("wait_end_of_query", "1"),
];

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
}

impl Default for Patience {
    fn default() -> Patience {
        let [first, longest, all] = [1, 30, 300].map(Duration::from_secs);
        Patience { first, longest, all }
    }
}

/// Who speaks to a store.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    address: Address,
    database: String,
    login: Option<Login>,
    patience: Patience,
}

/// What became of an attempt.
enum Failed {
    Later { why: String, after: Option<Duration> },
    Refused(StoreError),
}

impl Client {
    /// Reads what is needed; nothing is asked yet. `believed` is a file of certificates, else the system's are.
    ///
    /// # Errors
    /// [`StoreError`]
    pub fn new(
        address: Address,
        database: &str,
        login: Option<Login>,
        believed: Option<&Path>,
        patience: Patience,
    ) -> Result<Client, StoreError> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if database.is_empty() || !database.chars().all(word) {
            return Err(StoreError::Database { name: shortened(database) });
        }
        address.may_have(login.as_ref())?;
        let mut config = Agent::config_builder()
            .timeout_global(Some(REQUEST))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("exactop/", env!("CARGO_PKG_VERSION")));
        if address.is_secure() {
            let roots = RootCerts::new_with_certs(&roots(believed)?);
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let tls = TlsConfig::builder().root_certs(roots);
            config = config.tls_config(tls.unversioned_rustls_crypto_provider(provider).build());
        }
        let agent = config.build().new_agent();
        Ok(Client { agent, address, database: database.into(), login, patience })
    }

    /// Which store that is, in one line without a login.
    pub(super) fn told(&self) -> String {
        format!("{} {}", self.address.uri(), self.database)
    }

    /// What the store answers to a question; `given` are the values of its `{name:Type}`.
    ///
    /// # Errors
    /// [`StoreError`]
    pub fn select(&self, sql: &str, given: &[(&str, &str)]) -> Result<String, StoreError> {
        let given = given.iter().map(|(name, value)| (format!("param_{name}"), tab_escaped(value)));
        let given: Vec<_> = given.chain([("wait_end_of_query".into(), "1".into())]).collect();
        self.carry(&given, sql.as_bytes())
    }

    /// Has the store take rows, Parquet, unless it has taken what came with this token.
    ///
    /// # Errors
    /// [`StoreError`]
    pub(super) fn insert(
        &self,
        table: &str,
        columns: &[&str],
        token: &str,
        rows: &[u8],
    ) -> Result<(), StoreError> {
        let sql = format!("INSERT INTO {table} ({}) FORMAT Parquet", columns.join(", "));
        let given = [("query", &*sql), ("insert_deduplication_token", token)];
        let given = given.into_iter().chain(SETTINGS);
        let given: Vec<_> = given.map(|(name, value)| (name.to_string(), value.into())).collect();
        self.carry(&given, rows).map(drop)
    }

    /// Sends it until there is an answer.
    fn carry(&self, given: &[(String, String)], body: &[u8]) -> Result<String, StoreError> {
        let begun = Instant::now();
        let mut pause = self.patience.first;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (why, after) = match self.post(given, body) {
                Ok(answer) => return Ok(answer),
                Err(Failed::Refused(error)) => return Err(error),
                Err(Failed::Later { why, after }) => (why, after),
            };
            let wait = after.unwrap_or(pause).min(self.patience.longest);
            if begun.elapsed() + wait > self.patience.all {
                let seconds = begun.elapsed().as_secs();
                return Err(StoreError::Away { attempts, seconds, last: why });
            }
            sleep(wait);
            pause = (pause * 2).min(self.patience.longest);
        }
    }

    fn post(&self, given: &[(String, String)], body: &[u8]) -> Result<String, Failed> {
        let mut request = self.agent.post(self.address.uri()).query("database", &self.database);
        if let Some(Login { name, password }) = &self.login {
            request =
                request.header("X-ClickHouse-User", name).header("X-ClickHouse-Key", password);
        }
        let given = given.iter().map(|(name, value)| (&**name, &**value));
        let mut answer = request.query_pairs(given).send(body).map_err(|error| failed(&error))?;
        let status = answer.status();
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let code = header("x-clickhouse-exception-code").and_then(|code| code.parse().ok());
        let after = header("retry-after").and_then(|after| after.parse().ok());
        let text = answer.body_mut().with_config().limit(ANSWER).read_to_string();
        let text = text.map_err(|error| failed(&error))?;
        if status.is_success() && code.is_none() {
            return Ok(text);
        }
        let said = format!("{status}: {}", shortened(&text));
        let may_pass = match code {
            Some(code) => LATER.contains(&code),
            None => status.is_server_error() || [408, 429].contains(&status.as_u16()),
        };
        match may_pass {
            true => Err(Failed::Later { why: said, after: after.map(Duration::from_secs) }),
            false => Err(Failed::Refused(StoreError::Refused { text: said, hint: hint(code) })),
        }
    }
}

/// There was no answer, or not all of it.
fn failed(error: &ureq::Error) -> Failed {
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

/// What to do about an error of ClickHouse.
fn hint(code: Option<u32>) -> &'static str {
    match code {
        Some(60 | 81) => " (fleet/schema.sql makes the tables)",
        Some(16 | 47 | 53) => " (the tables are of another version: see docs/fleet.md)",
        Some(192..=194 | 497 | 516) => " (--login FILE says who asks)",
        _ => "",
    }
}

/// As ClickHouse reads the values of a question.
fn tab_escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}
