//! `exactop fleet check`: checks the balance of a fleet.

use super::{complain_of, reached, NO_WINDOW};
use crate::commands::export::StoreArgs;
use crate::failure::Failure;
use crate::options::parse;
use crate::options::time::{self, now, shown, when};
use crate::output;
use crate::rights::{self, ExtraAccess, Origin, Role};
use clap::Args;
use exactop_export::clickhouse::Address;
use exactop_fleet::check::{check, json, page, Tolerance};
use exactop_fleet::{Books, Parquet};
use exactop_recording::TimeRange;
use std::path::Path;
use std::time::Duration;

/// Options of `exactop fleet check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Read a directory of Parquet files, or ask a ClickHouse at https://HOST:8443
    #[arg(long, value_name = "DIR|URL")]
    from: String,
    /// Read from this time on: '14:03', 'yesterday 14:00', '2h ago', RFC 3339; with +LENGTH a time
    /// range: '03:05+15m' [default: all of it]
    #[arg(short, long, value_name = "FROM[+LENGTH]")]
    time: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// Report a host as silent if its last window ends this long before the fleet's
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time::stretch)]
    silent: Duration,
    /// Report a clock as ahead if the host's last window ends this long after now
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time::stretch)]
    ahead: Duration,
    /// Print findings of at most N hosts
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = parse::count, default_value = "20", allow_hyphen_values = true)]
    rows: u64,
    /// Print one JSON object with all hosts
    #[arg(long)]
    json: bool,
}

impl CheckArgs {
    /// Opens the books, and gives up the right to read anything else.
    fn open(&self) -> Result<Box<dyn Books>, Failure> {
        if !self.from.contains("://") {
            self.store.nothing()?;
            let path = Path::new(&self.from);
            rights::reduce(Role::Text, Origin::None, &[path]);
            let books = Parquet::open_what_is_readable(path).map_err(Failure::failed)?;
            complain_of(&books);
            return Ok(Box::new(books));
        }
        let address = Address::read(&self.from).map_err(Failure::usage)?;
        let port = address.port();
        let client = self.store.asking(address)?;
        let beside = ExtraAccess { connects: &[port], ..ExtraAccess::default() };
        rights::reduce_beside(Role::Text, Origin::None, &beside);
        Ok(Box::new(reached(client)?))
    }
}

/// Checks.
///
/// # Errors
/// The books cannot be read, or they do not balance.
pub fn run(typed: &CheckArgs) -> Result<(), Failure> {
    let now = now();
    let when = match typed.time.as_deref() {
        Some(text) => when(text, &now, None).map_err(Failure::usage)?,
        None => TimeRange::default(),
    };
    let books = typed.open()?;
    let tolerance = Tolerance { clock: typed.ahead, silent: typed.silent };
    let now_ns = now.timestamp().as_nanosecond();
    let balance = check(&*books, when, &tolerance, now_ns).map_err(Failure::failed)?;
    if balance.present_hosts().next().is_none() && balance.unread.is_empty() {
        return Err(Failure::failed(NO_WINDOW));
    }
    let rows = usize::try_from(typed.rows).unwrap_or(usize::MAX);
    output::print(match typed.json {
        true => json(&balance),
        false => page(&balance, rows, &|ns| shown(ns, &now)).text(),
    })?;
    match balance.holds() {
        true => Ok(()),
        false => Err(Failure::Found),
    }
}
