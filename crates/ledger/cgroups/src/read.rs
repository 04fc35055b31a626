//! Reads the files of a group.

use crate::{Hierarchy, Version};
use exactop_model::cgroups::limits::{weight_of_shares, Max};
use exactop_model::run::CpuStat;
use std::fs;
use std::path::Path;

/// Ticks per second in cpuacct.stat (USER_HZ of include/asm-generic/param.h).
const USER_HZ: u64 = 100;

impl Hierarchy {
    /// Use of a group.
    pub fn cpu_stat(&self, directory: &Path) -> CpuStat {
        let text = |dir: &Path, file: &str| fs::read_to_string(dir.join(file)).unwrap_or_default();
        let stat = text(directory, "cpu.stat");
        let periods = CpuStat {
            nr_periods: figure(&stat, "nr_periods"),
            nr_throttled: figure(&stat, "nr_throttled"),
            ..CpuStat::default()
        };
        if self.version == Version::V2 {
            let us = |name| figure(&stat, name).and_then(|us| us.checked_mul(1000));
            return CpuStat {
                usage_ns: us("usage_usec"),
                user_ns: us("user_usec"),
                system_ns: us("system_usec"),
                throttled_ns: us("throttled_usec"),
                ..periods
            };
        }
        let Some(accounting) = self.accounting_of(directory) else {
            return CpuStat { throttled_ns: figure(&stat, "throttled_time"), ..periods };
        };
        let ticks = text(&accounting, "cpuacct.stat");
        let ns = |name| figure(&ticks, name).and_then(|n| n.checked_mul(1_000_000_000 / USER_HZ));
        CpuStat {
            usage_ns: text(&accounting, "cpuacct.usage").trim().parse().ok(),
            user_ns: ns("user"),
            system_ns: ns("system"),
            throttled_ns: figure(&stat, "throttled_time"),
            ..periods
        }
    }

    /// Weight, 1 to 10000, 100 by default; on v1 converted from cpu.shares. `None` at the root.
    pub fn weight(&self, directory: &Path) -> Option<u64> {
        let read = |file| fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok();
        match self.version {
            Version::V2 => read("cpu.weight"),
            Version::V1 => read("cpu.shares").map(weight_of_shares),
        }
    }

    /// Quota. `None` at the root.
    pub fn max(&self, directory: &Path) -> Option<Max> {
        let read = |file| fs::read_to_string(directory.join(file)).ok();
        match self.version {
            Version::V2 => Max::from_file(&read("cpu.max")?),
            Version::V1 => {
                let number = |text: String| text.trim().parse::<i64>().ok();
                let quota = number(read("cpu.cfs_quota_us")?)?;
                let period_us = u64::try_from(number(read("cpu.cfs_period_us")?)?).ok()?;
                Some(Max { quota_us: u64::try_from(quota).ok(), period_us })
            }
        }
    }

    /// PIDs of the processes in a group, without those in groups below.
    pub fn processes(directory: &Path) -> Vec<u32> {
        let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

/// The number of a line `name number`.
fn figure(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}
