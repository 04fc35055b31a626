//! Client of a store, with retries.

use super::address::{shortened, Address, Login, StoreError};
use crate::wire::{after, agent, failed, may_pass, Failed, Patience};
use std::path::Path;
use std::time::Duration;
use ureq::Agent;

/// Longest time for the answer to the first request, once connected: it costs a store nothing.
const FIRST: Duration = Duration::from_secs(10);
/// Longest time for the store to accept a batch.
const REQUEST: Duration = Duration::from_secs(120);
/// Most bytes read of an answer.
const ANSWER: u64 = 16 << 20;
/// Error codes of ClickHouse after which a retry may succeed: it is overloaded, or lacks a resource
/// for now (memory, disk, connections, a keeper, other replicas).
const LATER: [u32; 17] =
    [159, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 285, 286, 319, 425, 439, 999];
/// Settings that make ClickHouse accept a batch as a whole, once, with all sums, and keep nulls.
const SETTINGS: [(&str, &str); 10] = [
    ("async_insert", "0"),
    ("insert_deduplicate", "1"),
    // Also deduplicate the materialized views when a batch comes again.
    ("deduplicate_blocks_in_dependent_materialized_views", "1"),
    ("max_insert_threads", "1"),
    ("max_insert_block_size", "1048576"),
    ("min_insert_block_size_rows", "1048576"),
    ("min_insert_block_size_bytes", "1073741824"),
    ("input_format_null_as_default", "0"),
    ("input_format_parquet_allow_missing_columns", "0"),
    // The answer reports the result of the whole query.
    ("wait_end_of_query", "1"),
];

/// Client of a store.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    address: Address,
    database: String,
    login: Option<Login>,
    patience: Patience,
    at_first: Patience,
    /// Longest time to resolve and connect, per attempt; `None` for the default of all clients.
    connect: Option<Duration>,
}

impl Client {
    /// Creates a client; sends nothing yet. `believed` is a file of trusted certificates, else the
    /// system's.
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
        let agent = agent(&address, believed, REQUEST)?;
        let (database, at_first) = (database.into(), patience);
        Ok(Client { agent, address, database, login, patience, at_first, connect: None })
    }

    /// Limits the time to resolve and connect, per attempt.
    pub fn connects_within(self, limit: Duration) -> Client {
        Client { connect: Some(limit), ..self }
    }

    /// Sets the patience for the first request, for example when a user waits for it.
    pub fn asks_first(self, at_first: Patience) -> Client {
        Client { at_first, ..self }
    }

    /// The address of the store, without a login.
    pub fn url(&self) -> String {
        self.address.uri().to_string()
    }

    /// Address and database in one line, without a login.
    pub(crate) fn display_name(&self) -> String {
        format!("{} {}", self.address.uri(), self.database)
    }

    /// Result of a query; `given` are the values of its `{name:Type}` parameters.
    pub fn select(&self, sql: &str, given: &[(&str, &str)]) -> Result<String, StoreError> {
        let given = given.iter().map(|(name, value)| (format!("param_{name}"), tab_escaped(value)));
        let given: Vec<_> = given.chain([("wait_end_of_query".into(), "1".into())]).collect();
        let answer = self.patience.carry(|| self.post(&given, sql.as_bytes(), None));
        answer.map_err(|error| self.unanswered(error))
    }

    /// Result of a first query, which a working store answers at once.
    pub fn first(&self, sql: &str) -> Result<String, StoreError> {
        let limit = FIRST + self.connect.unwrap_or_default();
        let answer = self.at_first.carry(|| self.post(&[], sql.as_bytes(), Some(limit)));
        answer.map_err(|error| self.unanswered(error))
    }

    /// Rewords an error of a batch as an error of a query.
    fn unanswered(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Away { attempts, seconds, last } => {
                StoreError::Silent { url: self.url(), attempts, seconds, last }
            }
            error => error,
        }
    }

    /// Inserts Parquet rows, unless the store has already accepted this token.
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
        self.patience.carry(|| self.post(&given, rows, None)).map(drop)
    }

    /// Sends a request once; `limit` replaces a batch's longest time.
    fn post(
        &self,
        given: &[(String, String)],
        body: &[u8],
        limit: Option<Duration>,
    ) -> Result<String, Failed> {
        let mut config = self.agent.post(self.address.uri()).config();
        if let Some(connect) = self.connect {
            config = config.timeout_resolve(Some(connect)).timeout_connect(Some(connect));
        }
        if let Some(limit) = limit {
            config = config.timeout_global(Some(limit));
        }
        let mut request = config.build().query("database", &self.database);
        if let Some(Login { name, password }) = &self.login {
            request =
                request.header("X-ClickHouse-User", name).header("X-ClickHouse-Key", password);
        }
        let given = given.iter().map(|(name, value)| (&**name, &**value));
        let mut answer = request.query_pairs(given).send(body).map_err(|error| failed(&error))?;
        let status = answer.status();
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let code = header("x-clickhouse-exception-code").and_then(|code| code.parse().ok());
        let after = after(&answer);
        let text = answer.body_mut().with_config().limit(ANSWER).read_to_string();
        let text = text.map_err(|error| failed(&error))?;
        if status.is_success() && code.is_none() {
            return Ok(text);
        }
        let said = format!("{status}: {}", shortened(&text));
        let may_pass = match code {
            Some(code) => LATER.contains(&code),
            None => may_pass(status),
        };
        match may_pass {
            true => Err(Failed::Later { why: said, after }),
            false => Err(Failed::Refused(StoreError::Refused { text: said, hint: hint(code) })),
        }
    }
}

/// Advice for an error code of ClickHouse.
fn hint(code: Option<u32>) -> &'static str {
    match code {
        Some(60 | 81) => " (crates/fleet/schema.sql makes the tables)",
        Some(16 | 47 | 53 | 349) => {
            " (the tables are of another version: see docs/how-to/fleet.md)"
        }
        Some(192..=194 | 497 | 516) => " (pass name and password with --login FILE)",
        _ => "",
    }
}

/// Escapes a query parameter for ClickHouse.
fn tab_escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}
