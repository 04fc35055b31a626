//! Resource use of the daemon's own process, for the metrics `process_*`.

use exactop_metrics::Process;
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::sync::OnceLock;

/// Start of this process on CLOCK_MONOTONIC, ns.
static BEGUN_NS: OnceLock<Option<u64>> = OnceLock::new();

/// Reads this process's resource use.
pub fn read() -> Process {
    Process {
        begun_ns: *BEGUN_NS.get_or_init(begun_ns),
        cpu_ns: ns(clock_gettime(ClockId::ProcessCPUTime)),
        resident_bytes: resident_bytes(),
        open_files: open_files(),
    }
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// /proc/self/stat gives the start in ticks of CLOCK_BOOTTIME. Read soon after the start, both
/// clocks have advanced equally since then.
fn begun_ns() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name, which may hold any byte.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let since_boot_ns = ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second());
    let age_ns = ns(clock_gettime(ClockId::Boottime)).checked_sub(since_boot_ns)?;
    ns(clock_gettime(ClockId::Monotonic)).checked_sub(age_ns)
}

/// Resident memory of this process in bytes (proc_pid_statm(5)); `None`: /proc cannot be read.
pub fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Open files, without the one that lists them.
fn open_files() -> Option<u64> {
    let files = std::fs::read_dir("/proc/self/fd").ok()?;
    u64::try_from(files.count()).ok()?.checked_sub(1)
}
