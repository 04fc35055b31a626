//! The fleet that is asked for: hosts, time, and what happens to them.

use jiff::Timestamp;
use std::path::PathBuf;

/// What is delivered together: 10 minutes, as by the export.
pub const BATCH_S: u64 = 600;

/// Write the books of a fleet that does not exist, as Parquet (docs/how-to/fleet.md)
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Hosts
    #[arg(long, default_value_t = 100)]
    pub hosts: u32,
    /// How long
    #[arg(long, default_value_t = 1.0)]
    pub hours: f64,
    /// Length of a window
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub window: u64,
    /// Same seed, same figures
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where to: a directory that is empty or not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// When it begins, RFC 3339 [default: the last midnight, UTC, since which all of it and an hour went by]
    #[arg(long, value_name = "TIME")]
    pub begin: Option<Timestamp>,
    /// Per cent of batches (10 minutes of a host) that come twice
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub doubled: f64,
    /// Per cent that come after all others
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub late: f64,
    /// Per cent that never come
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub lost: f64,
    /// Hosts whose wall clock is minutes off
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skewed: u32,
    /// Hosts that end in the second half
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub dead: u32,
    /// Hosts that are started anew
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub restarted: u32,
    /// Per cent of hosts (named *-next) on which, from half of the time on, agent.service uses so many per cent more
    #[arg(long, value_name = "PCT_HOSTS,PCT_SLOWER", value_parser = regression)]
    pub regression: Option<(f64, f64)>,
    /// Hosts run what this recording says ran (again for more of them), instead of mixes that are made up
    #[arg(long, value_name = "RECORDING")]
    pub mix_from: Vec<PathBuf>,
}

/// When it begins: of late, since a store keeps windows of the last days only, and not in hours to come, where a host
/// whose clock is ahead would be alone. A midnight, since some questions are about whole hours.
pub fn begins(args: &Args) -> Timestamp {
    const DAY_S: i64 = 86_400;
    let ended = Timestamp::now().as_second() - ((args.hours + 1.0) * 3600.0) as i64;
    let midnight = Timestamp::from_second(ended.div_euclid(DAY_S) * DAY_S);
    args.begin.or(midnight.ok()).unwrap_or_default()
}

/// `PCT_HOSTS,PCT_SLOWER`.
pub fn regression(text: &str) -> Result<(f64, f64), String> {
    let wrong = || "write per cent of hosts and per cent slower: 5,20".to_string();
    let (hosts, slower) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| (0.0..=100.0).contains(n));
    number(hosts).zip(number(slower)).ok_or_else(wrong)
}
