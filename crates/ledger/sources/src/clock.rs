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

/// Offsets of this time namespace's clocks (time_namespaces(7)). The file exists since Linux 5.6,
/// as do time namespaces.
#[cfg(feature = "bpf")]
const OFFSETS: &str = "/proc/self/timens_offsets";

/// Checks that this process reads the machine's clock, as the BPF programs do. In a time namespace
/// the two may differ: a window's end would then never come, or be long past.
///
/// # Errors
/// [`SourceError::Unavailable`] with the difference (time_namespaces(7)), or with the reason why it
/// cannot be read.
#[cfg(feature = "bpf")]
pub fn is_the_machines() -> Result<(), SourceError> {
    judge(std::fs::read_to_string(OFFSETS))
}

/// Checks the content of the file of offsets.
#[cfg(feature = "bpf")]
fn judge(offsets: std::io::Result<String>) -> Result<(), SourceError> {
    let offsets = match offsets {
        Ok(offsets) => offsets,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unchecked(&format!("cannot read {OFFSETS}: {error}"))),
    };
    match monotonic_offset(&offsets) {
        None => Err(unchecked(&format!("cannot find the clock 'monotonic' in {OFFSETS}"))),
        Some(("0", "0")) => Ok(()),
        Some((seconds, ns)) => Err(SourceError::Unavailable {
            what: format!(
                "the clock of this time namespace (CLOCK_MONOTONIC) is off the machine's by \
                 {seconds} s {ns} ns"
            ),
            advice: "run exactop outside of it, with nsenter -t 1 -T".into(),
        }),
    }
}

/// The error of a clock that could not be checked.
#[cfg(feature = "bpf")]
fn unchecked(why: &str) -> SourceError {
    SourceError::Unavailable {
        what: format!("cannot compare this process's clock with the machine's ({why})"),
        advice: "run exactop where /proc is mounted and readable".into(),
    }
}

/// The offset of the monotonic clock: seconds and ns.
#[cfg(feature = "bpf")]
fn monotonic_offset(offsets: &str) -> Option<(&str, &str)> {
    let line = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?;
    let (seconds, ns) = line.trim().split_once(' ')?;
    Some((seconds.trim(), ns.trim()))
}

/// Returns at `at_ns` or later.
#[cfg(feature = "bpf")]
pub fn sleep_until(at_ns: u64) {
    let at =
        Timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as _ };
    while now_ns() < at_ns {
        // A signal may interrupt the sleep; the loop looks at the clock again.
        let _ = clock_nanosleep_absolute(SleepClock::Monotonic, &at);
    }
}

#[cfg(all(test, feature = "bpf"))]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn an_offset_of_the_clock_is_read_as_the_kernel_writes_it() {
        let offsets = "monotonic           0         0\nboottime            7         0\n";
        assert!(judge(Ok(offsets.into())).is_ok());
        let offsets = "monotonic          -5         1\nboottime            0         0\n";
        assert_eq!(monotonic_offset(offsets), Some(("-5", "1")));
        let told = judge(Ok(offsets.into())).expect_err("another clock").to_string();
        assert!(told.contains("by -5 s 1 ns"), "{told}");
    }

    #[test]
    fn only_a_kernel_without_such_namespaces_needs_no_check_of_the_clock() {
        let failed = |kind: ErrorKind| judge(Err(kind.into()));
        assert!(failed(ErrorKind::NotFound).is_ok());
        for kind in [ErrorKind::PermissionDenied, ErrorKind::InvalidData] {
            let told = failed(kind).expect_err("an unchecked clock is an error").to_string();
            assert!(told.contains(OFFSETS), "{told}");
        }
        assert!(judge(Ok("boottime 0 0\n".into())).is_err());
    }
}
