//! Options of the simulated fleet: hosts, time, and errors.

use jiff::Timestamp;
use std::path::PathBuf;

/// Length of a batch, s: as in the export.
pub const BATCH_S: u64 = 600;

/// Write the books of a simulated fleet as Parquet (docs/how-to/fleet.md)
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Number of hosts
    #[arg(long, default_value_t = 100)]
    pub hosts: u32,
    /// Length of the simulation, hours
    #[arg(long, default_value_t = 1.0)]
    pub hours: f64,
    /// Length of a window, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub window: u64,
    /// Seed of all random values; the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Output directory; must be empty or missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Begin at this time, RFC 3339 [default: the last midnight, UTC, that lies at least --hours
    /// and an hour back]
    #[arg(long, value_name = "TIME")]
    pub begin: Option<Timestamp>,
    /// Duplicate this per cent of batches (10 minutes of a host)
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub doubled: f64,
    /// Deliver this per cent of batches after all others
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub late: f64,
    /// Lose this per cent of batches
    #[arg(long, value_name = "PCT", default_value_t = 0.0)]
    pub lost: f64,
    /// Number of hosts whose wall clock is minutes off
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skewed: u32,
    /// Number of hosts that end in the second half
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub dead: u32,
    /// Number of hosts that reboot
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub restarted: u32,
    /// On this per cent of hosts (named *-next), agent.service uses PCT_SLOWER per cent more in the
    /// second half
    #[arg(long, value_name = "PCT_HOSTS,PCT_SLOWER", value_parser = regression)]
    pub regression: Option<(f64, f64)>,
    /// Run the services of this recording instead of made-up ones (repeat for more recordings)
    #[arg(long, value_name = "RECORDING")]
    pub mix_from: Vec<PathBuf>,
}

impl Args {
    /// A fleet without errors.
    pub fn sound(hosts: u32, hours: f64, window: u64, seed: u64, output: PathBuf) -> Args {
        Args {
            hosts,
            hours,
            window,
            seed,
            output,
            begin: None,
            doubled: 0.0,
            late: 0.0,
            lost: 0.0,
            skewed: 0,
            dead: 0,
            restarted: 0,
            regression: None,
            mix_from: Vec::new(),
        }
    }
}

/// Default beginning: recent, because a store keeps only the last days; not in the future, where a
/// host whose clock is ahead would stand alone. At midnight, because some queries need whole hours.
pub fn begins(args: &Args) -> Timestamp {
    const DAY_S: i64 = 86_400;
    let ended = Timestamp::now().as_second() - ((args.hours + 1.0) * 3600.0) as i64;
    let midnight = Timestamp::from_second(ended.div_euclid(DAY_S) * DAY_S);
    args.begin.or(midnight.ok()).unwrap_or_default()
}

/// Parses `PCT_HOSTS,PCT_SLOWER`.
pub fn regression(text: &str) -> Result<(f64, f64), String> {
    let wrong = || "write per cent of hosts and per cent slower, as in 5,20".to_string();
    let (hosts, slower) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| (0.0..=100.0).contains(n));
    number(hosts).zip(number(slower)).ok_or_else(wrong)
}
