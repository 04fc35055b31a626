//! The clock of the ledger: CLOCK_MONOTONIC, which `bpf_ktime_get_ns` reads too.

#[cfg(feature = "bpf")]
use crate::error::SourceError;
#[cfg(feature = "bpf")]
use rustix::thread::{clock_nanosleep_absolute, ClockId as SleepClock};
use rustix::time::{clock_gettime, ClockId, Timespec};

fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Now, CLOCK_MONOTONIC ns.
pub fn now_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// The programs in the kernel read the machine's clock: in a time namespace ours may be another, and
/// a window's end would never come or be long past.
///
/// # Errors
/// [`SourceError::Unavailable`] with how far apart they are (time_namespaces(7)).
#[cfg(feature = "bpf")]
pub fn is_the_machines() -> Result<(), SourceError> {
    // Not there before 5.6, which has no such namespaces.
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    match monotonic_offset(&offsets) {
        None => Ok(()),
        Some((seconds, ns)) => Err(SourceError::Unavailable {
            what: format!(
                "the clock of this time namespace (CLOCK_MONOTONIC) is off the machine's by \
                 {seconds} s {ns} ns"
            ),
            advice: "run exactop outside of it: nsenter -t 1 -T".into(),
        }),
    }
}

/// Seconds and ns, unless both are 0.
#[cfg(feature = "bpf")]
fn monotonic_offset(offsets: &str) -> Option<(&str, &str)> {
    let line = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?;
    let (seconds, ns) = line.trim().split_once(' ')?;
    let (seconds, ns) = (seconds.trim(), ns.trim());
    ((seconds, ns) != ("0", "0")).then_some((seconds, ns))
}

/// Returns at `at_ns` or later.
#[cfg(feature = "bpf")]
pub fn sleep_until(at_ns: u64) {
    let at =
        Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as _ };
    while now_ns() < at_ns {
        // Interrupted by a signal: the loop looks at the clock again.
        let _ = clock_nanosleep_absolute(SleepClock::Monotonic, &at);
    }
}

#[cfg(all(test, feature = "bpf"))]
mod tests {
    use super::*;

    #[test]
    fn an_offset_of_the_clock_is_read_as_the_kernel_writes_it() {
        let offsets = "monotonic           0         0\nboottime            7         0\n";
        assert_eq!(monotonic_offset(offsets), None);
        let offsets = "monotonic          -5         1\nboottime            0         0\n";
        assert_eq!(monotonic_offset(offsets), Some(("-5", "1")));
        assert_eq!(monotonic_offset(""), None);
    }
}
