//! CPU time, to the nanosecond where the kernel has it.

use anyhow::{anyhow, Result};
use exactop_workloads::procs::stat_field;
use std::io;

/// CPU time of a process since its start, ns: all its threads, and children that it waited for.
///
/// # Errors
/// The process is gone.
pub fn of_process(pid: u32) -> Result<u64> {
    // clock_getcpuclockid(3) makes a clock of a PID in this way: CPUCLOCK_SCHED in the low bits.
    let clock = (!(pid as i32) << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the struct.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(anyhow!("process {pid} is gone: {}", io::Error::last_os_error()));
    }
    let own = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    let ticks = stat_field(pid, 16).unwrap_or(0) + stat_field(pid, 17).unwrap_or(0);
    Ok(own + ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second()))
}

/// CPU time, ns, of all children that this process has waited for; to the microsecond.
pub fn of_children() -> u64 {
    // SAFETY: all zeros is a valid value of this struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: fills the struct.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// CPU time of all CPUs since boot in ticks (/proc/stat).
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Executing, including interrupts.
    pub busy: u64,
    /// Stolen by the hypervisor.
    pub steal: u64,
    /// All time.
    pub total: u64,
}

/// Reads the machine's time.
///
/// # Errors
/// /proc/stat cannot be parsed.
pub fn of_machine() -> Result<Machine> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().and_then(|line| line.strip_prefix("cpu "));
    let ticks: Vec<u64> =
        line.unwrap_or("").split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
        return Err(anyhow!("/proc/stat has no line of the machine"));
    };
    let busy = user + nice + system + irq + softirq;
    Ok(Machine { busy, steal, total: busy + idle + iowait + steal })
}
