//! Limits of a control group: weights and CPU quotas, parsed from text.

use std::fmt;
use std::str::FromStr;

/// Smallest cpu.weight.
pub const MIN_WEIGHT: u64 = 1;
/// Largest cpu.weight.
pub const MAX_WEIGHT: u64 = 10_000;

/// Quota periods that the kernel accepts, us (max_cfs_quota_period and its minimum in
/// kernel/sched/core.c).
const PERIODS_US: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
/// Smallest quota that the kernel accepts, us.
const LEAST_QUOTA_US: u64 = 1_000;
/// Largest cpu.shares of cgroup v1 (MAX_SHARES of kernel/sched/sched.h).
const MAX_SHARES: u64 = 262_144;
/// The kernel's default quota period, us.
const PERIOD_US: u64 = 100_000;

/// Converts a cpu.weight to cpu.shares of cgroup v1, as systemd does: weight 100 is 1024 shares.
/// The result is 2 to 262144.
pub fn shares_of_weight(weight: u64) -> u64 {
    (weight.min(MAX_WEIGHT) * 1024 / 100).clamp(2, MAX_SHARES)
}

/// Converts cpu.shares of cgroup v1 to the nearest cpu.weight.
pub fn weight_of_shares(shares: u64) -> u64 {
    ((shares.min(MAX_SHARES) * 100 + 512) / 1024).clamp(MIN_WEIGHT, MAX_WEIGHT)
}

/// A CPU quota: CPU time in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Max {
    /// CPU time in each period, us; `None`: no limit.
    pub quota_us: Option<u64>,
    pub period_us: u64,
}

/// Why a quota is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaxError {
    /// The text does not parse.
    Text,
    /// The period is out of range, us.
    Period(u64),
    /// The quota is too small, us.
    Quota(u64),
}

impl fmt::Display for MaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaxError::Text => f.write_str(
                "write per cent of a CPU (40%), microseconds (40000 or 400000/1000000), or max",
            ),
            MaxError::Period(us) => {
                write!(f, "a period of {us} us: write 1000 to 1000000 us")
            }
            MaxError::Quota(us) => write!(
                f,
                "a quota of {us} us: write 1000 us or more; a longer period allows smaller shares"
            ),
        }
    }
}

impl std::error::Error for MaxError {}

/// Parses a cpu.weight.
///
/// # Errors
/// The text is no number in [`MIN_WEIGHT`] to [`MAX_WEIGHT`]; the message states the range.
pub fn weight(text: &str) -> Result<u64, String> {
    match text.trim().parse() {
        Ok(weight) if (MIN_WEIGHT..=MAX_WEIGHT).contains(&weight) => Ok(weight),
        _ => Err(format!("write a weight of {MIN_WEIGHT} to {MAX_WEIGHT}, usually 100")),
    }
}

impl Max {
    /// No limit.
    pub const NONE: Max = Max { quota_us: None, period_us: PERIOD_US };

    /// Number of CPUs that the quota allows; `None`: no limit.
    pub fn cpus(&self) -> Option<f64> {
        self.quota_us.map(|us| us as f64 / self.period_us as f64)
    }

    /// Parses the content of cpu.max: `40000 100000` or `max 100000`.
    pub fn from_file(text: &str) -> Option<Max> {
        let (quota, period) = text.trim().split_once(' ')?;
        let quota_us = match quota {
            "max" => None,
            us => Some(us.parse().ok()?),
        };
        // A period of 0 gives no share.
        let period_us = period.parse().ok().filter(|&us| us > 0)?;
        Some(Max { quota_us, period_us })
    }
}

impl FromStr for Max {
    type Err = MaxError;

    fn from_str(text: &str) -> Result<Max, MaxError> {
        let (quota, period) = match text.split_once('/') {
            Some((quota, period)) => (quota, period.parse().map_err(|_| MaxError::Text)?),
            None => (text, PERIOD_US),
        };
        if !PERIODS_US.contains(&period) {
            return Err(MaxError::Period(period));
        }
        let quota_us = match quota.strip_suffix('%') {
            None if quota == "max" => return Ok(Max { quota_us: None, period_us: period }),
            None => quota.parse().map_err(|_| MaxError::Text)?,
            Some(percent) => {
                let percent: f64 = percent.trim().parse().map_err(|_| MaxError::Text)?;
                if !(percent > 0.0 && percent <= 1e6) {
                    return Err(MaxError::Text);
                }
                (period as f64 * percent / 100.0).round() as u64
            }
        };
        match quota_us {
            us if us < LEAST_QUOTA_US => Err(MaxError::Quota(us)),
            us => Ok(Max { quota_us: Some(us), period_us: period }),
        }
    }
}

impl fmt::Display for Max {
    /// Writes the format of cpu.max.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quota_us {
            Some(us) => write!(f, "{us} {}", self.period_us),
            None => write!(f, "max {}", self.period_us),
        }
    }
}
