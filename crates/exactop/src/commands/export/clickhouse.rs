//! `exactop export clickhouse`: inserts windows into a ClickHouse store over HTTP.

use super::complain_of;
use crate::failure::{complain, Failure};
use crate::options::of_recording::{self, PlaceArgs, TimeArgs};
use crate::options::parse;
use crate::options::time::{self, now};
use crate::output;
use crate::rights::{self, ExtraAccess, Origin, Role};
use clap::Args;
use exactop_export::clickhouse::{insert, Address, Client, Login, Patience, Sending, SentCounts};
use exactop_export::GROUPS;
use exactop_recording::Recording;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `exactop export clickhouse`.
#[derive(Debug, Args)]
pub struct ClickhouseArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    part: TimeArgs,
    /// Send to the store at this address: https://HOST:8443 or http://HOST:8123
    #[arg(long, value_name = "URL")]
    to: String,
    #[command(flatten)]
    store: StoreArgs,
    /// Give at most N groups of a window a row of their own; ~other holds the rest
    #[arg(long, value_name = "N", default_value_t = GROUPS, value_parser = parse::groups)]
    groups: usize,
}

/// Connection to a store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// Use this database [default: exactop]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Read NAME:PASSWORD from this file, which no other user may be able to read
    #[arg(long, value_name = "FILE")]
    login: Option<PathBuf>,
    /// Trust the certificates (PEM) in this file [default: the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Retry an unreachable store for this time [default: 5m; for a query 0 if it was never
    /// reached]
    #[arg(long, value_name = "TIME", value_parser = time::stretch)]
    patience: Option<Duration>,
    /// Give up a connection attempt after this time [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = time::stretch)]
    connect_timeout: Option<Duration>,
}

/// The default database.
const DATABASE: &str = "exactop";
/// Default time of retrying.
const ASKED_AGAIN: Duration = Duration::from_secs(300);
/// Default connection timeout.
const CONNECTS: Duration = Duration::from_secs(3);

impl StoreArgs {
    /// Checks that no store option was given without a store.
    ///
    /// # Errors
    /// Such an option was given.
    pub fn nothing(&self) -> Result<(), Failure> {
        let of_store = [
            ("--database", self.database.is_some()),
            ("--login", self.login.is_some()),
            ("--ca", self.ca.is_some()),
            ("--patience", self.patience.is_some()),
            ("--connect-timeout", self.connect_timeout.is_some()),
        ];
        match of_store.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(format!(
                "{option} needs a store: write https://HOST:8443, or leave {option} out"
            ))),
        }
    }

    /// A client for the store at this address.
    ///
    /// # Errors
    /// A file cannot be read, or a password would be sent unencrypted.
    pub fn client(&self, address: Address) -> Result<Client, Failure> {
        let login = self.login.as_deref().map(Login::read).transpose().map_err(Failure::failed)?;
        let usual = Patience::default();
        let patience = Patience { all: self.patience.unwrap_or(ASKED_AGAIN), ..usual };
        let database = self.database.as_deref().unwrap_or(DATABASE);
        let client = Client::new(address, database, login, self.ca.as_deref(), patience);
        Ok(client.map_err(Failure::failed)?.connects_within(self.connects_within()))
    }

    /// A client for queries: an unreachable store is an error at once, because the user waits.
    ///
    /// # Errors
    /// A file cannot be read, or a password would be sent unencrypted.
    pub fn asking(&self, address: Address) -> Result<Client, Failure> {
        let client = self.client(address)?;
        Ok(match self.patience {
            Some(_) => client,
            None => client.asks_first(Patience::ONCE),
        })
    }

    fn connects_within(&self) -> Duration {
        self.connect_timeout.unwrap_or(CONNECTS)
    }
}

/// Exports.
///
/// # Errors
/// Windows cannot be read or sent, or the time range holds none.
pub fn run(typed: &ClickhouseArgs) -> Result<(), Failure> {
    let (path, time) = (typed.place.path()?, typed.part.time.as_deref());
    let now = now();
    of_recording::check(time)?;
    let address = Address::read(&typed.to).map_err(Failure::usage)?;
    let port = address.port();
    let client = typed.store.client(address)?;
    let beside = ExtraAccess { readable: &[&path], connects: &[port], ..ExtraAccess::default() };
    rights::reduce_beside(Role::Export, Origin::None, &beside);
    let recording = Recording::open(&path).map_err(Failure::failed)?;
    let (recording, when) = of_recording::part(time, &now, recording)?;
    complain_of(&recording);
    let now_ns = now.timestamp().as_nanosecond();
    let sending = Sending { client: &client, groups: typed.groups, now_ns };
    let mut sent = SentCounts::default();
    let done = insert(recording, when, &sending, &mut sent);
    if let Err(error) = done {
        if sent != SentCounts::default() {
            complain(&format!(
                "{sent}; the next export of the same time sends the missing windows"
            ));
        }
        return Err(Failure::failed(error));
    }
    if sent == SentCounts::default() {
        return Err(of_recording::no_window(time));
    }
    output::print(format!("{sent}\n"))
}
