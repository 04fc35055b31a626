//! What the daemon's own process takes, as the page of metrics has it (`process_*`).

use exactop_metrics::Process;
use rustix::time::{clock_gettime, ClockId, Timespec};
use std::sync::OnceLock;

/// When this process began, on the monotonic clock, ns.
static BEGUN_NS: OnceLock<Option<u64>> = OnceLock::new();

/// What this process takes now.
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

/// /proc/self/stat has it in ticks of the clock that goes on while the machine sleeps: since then both clocks went alike,
/// where it is asked soon after.
fn begun_ns() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Its second field is a name, which may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let since_boot_ns = ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second());
    let age_ns = ns(clock_gettime(ClockId::Boottime)).checked_sub(since_boot_ns)?;
    ns(clock_gettime(ClockId::Monotonic)).checked_sub(age_ns)
}

/// Memory of this process in RAM (proc_pid_statm(5)); `None`: /proc does not tell.
pub fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Without the one that reads them.
fn open_files() -> Option<u64> {
    let files = std::fs::read_dir("/proc/self/fd").ok()?;
    u64::try_from(files.count()).ok()?.checked_sub(1)
}
