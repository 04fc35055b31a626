//! Cost of BPF programs by the kernel's run-time statistics.

use anyhow::{Context, Result};
use libbpf_rs::libbpf_sys;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};

/// Runs and time of programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Number of runs while measured.
    pub count: u64,
    pub time_ns: u64,
}

impl Runs {
    /// The difference to an earlier value.
    pub fn since(self, then: Runs) -> Runs {
        Runs { count: self.count - then.count, time_ns: self.time_ns - then.time_ns }
    }

    /// Mean time of a run; `None`: no runs.
    pub fn ns_each(self) -> Option<f64> {
        (self.count > 0).then(|| self.time_ns as f64 / self.count as f64)
    }
}

/// The kernel's statistics, on while this value lives.
pub struct Measured {
    _statistics: OwnedFd,
}

impl Measured {
    /// Turns the statistics on (bpf(2), BPF_ENABLE_STATS).
    ///
    /// # Errors
    /// The kernel does not permit it.
    pub fn on() -> Result<Measured> {
        // SAFETY: the call takes a number and returns a descriptor or an error.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        if fd < 0 {
            let refusal = std::io::Error::from_raw_os_error(-fd);
            return Err(refusal).context("turning on the run-time statistics of BPF programs");
        }
        // SAFETY: the kernel just opened this descriptor for us.
        Ok(Measured { _statistics: unsafe { OwnedFd::from_raw_fd(fd) } })
    }
}

/// Sum over the programs that a process holds open; `None`: it holds none.
pub fn of_process(pid: u32) -> Option<Runs> {
    let mut programs = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).ok()?.flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let field = |name| {
            let line = text.lines().find_map(|line: &str| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        if let (Some(id), Some(count), Some(time_ns)) =
            (field("prog_id:"), field("run_cnt:"), field("run_time_ns:"))
        {
            programs.insert(id, Runs { count, time_ns });
        }
    }
    let sum = |a: Runs, b: &Runs| Runs { count: a.count + b.count, time_ns: a.time_ns + b.time_ns };
    (!programs.is_empty()).then(|| programs.values().fold(Runs::default(), sum))
}

/// True if a process keeps the kernel's statistics on, as exactop does while it calibrates.
pub fn is_measuring(pid: u32) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|link| link.to_string_lossy().contains("bpf-stats"))
}

/// Number of programs of all processes that are attached to a raw tracepoint. Programs of others
/// make every measurement of that event more expensive, also the one with nothing attached.
pub fn attached_to(tracepoint: &str) -> usize {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let files = processes.filter_map(|p| fs::read_dir(p.path().join("fdinfo")).ok()).flatten();
    let is_there = |text: &str| {
        let names = text.lines().filter_map(|line| line.strip_prefix("tp_name:"));
        names.into_iter().any(|name| name.trim() == tracepoint)
    };
    let texts = files.flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.filter(|text| is_there(text)).count()
}
