//! `exactop fleet check`: the balance of a fleet.

use super::{complain_of, reached};
use crate::commands::export::StoreArgs;
use crate::failure::Failure;
use crate::options::parse;
use crate::options::time::{self, now, shown, when};
use crate::output;
use crate::rights::{self, Beside, Origin, Role};
use clap::Args;
use exactop_export::clickhouse::Address;
use exactop_fleet::check::{check, json, page, Tolerance};
use exactop_fleet::{Books, Parquet};
use exactop_recording::When;
use std::path::Path;
use std::time::Duration;

/// What to check.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A directory of Parquet files, or the address of a ClickHouse: https://HOST:8443
    #[arg(long, value_name = "DIR|URL")]
    from: String,
    /// From this time on: '14:03', 'yesterday 14:00', '2h ago', RFC 3339; with +LENGTH a stretch: '03:05+15m'
    /// [default: all of it]
    #[arg(short, long, value_name = "FROM[+LENGTH]")]
    time: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// A host is silent whose last window ends so long before the fleet's
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time::stretch)]
    silent: Duration,
    /// A clock is ahead whose last window ends so long after now
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time::stretch)]
    ahead: Duration,
    /// Hosts whose findings are shown
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = parse::count, default_value = "20", allow_hyphen_values = true)]
    rows: u64,
    /// One JSON object: all hosts, well or not
    #[arg(long)]
    json: bool,
}

impl CheckArgs {
    /// Where the books are; from here on nothing else is read.
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
        let beside = Beside { connects: &[port], ..Beside::default() };
        rights::reduce_beside(Role::Text, Origin::None, &beside);
        Ok(Box::new(reached(client)?))
    }
}

/// Checks.
///
/// # Errors
/// What cannot be read, and a balance that does not hold.
pub fn run(typed: &CheckArgs) -> Result<(), Failure> {
    let now = now();
    let when = match typed.time.as_deref() {
        Some(text) => when(text, &now, None).map_err(Failure::usage)?,
        None => When::default(),
    };
    let books = typed.open()?;
    let tolerance = Tolerance { clock: typed.ahead, silent: typed.silent };
    let now_ns = now.timestamp().as_nanosecond();
    let balance = check(&*books, when, &tolerance, now_ns).map_err(Failure::failed)?;
    if balance.there().next().is_none() && balance.unread.is_empty() {
        return Err(Failure::failed("no window ends in that time, of no host"));
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
