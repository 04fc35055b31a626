//! Values of the machine that the header shows: load, memory, the kernel's tick counts.

/// CPU time as /proc/stat counts it, in ticks of `USER_HZ` (proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct StatTicks {
    /// User mode with nice 0 or below.
    pub user: u64,
    /// User mode with positive nice.
    pub nice: u64,
    /// Kernel mode.
    pub system: u64,
    pub idle: u64,
    /// Idle with I/O outstanding.
    pub iowait: u64,
    /// Hard interrupts.
    pub irq: u64,
    /// Soft interrupts.
    pub softirq: u64,
    /// Stolen by the hypervisor.
    pub steal: u64,
}

impl StatTicks {
    /// From the fields in the order of /proc/stat.
    pub fn from_fields(fields: [u64; 8]) -> StatTicks {
        let [user, nice, system, idle, iowait, irq, softirq, steal] = fields;
        StatTicks { user, nice, system, idle, iowait, irq, softirq, steal }
    }

    /// The fields in the order of /proc/stat.
    pub fn fields(&self) -> [u64; 8] {
        let StatTicks { user, nice, system, idle, iowait, irq, softirq, steal } = *self;
        [user, nice, system, idle, iowait, irq, softirq, steal]
    }

    /// The fields in top's order: us sy ni id wa hi si st.
    pub fn in_top_order(&self) -> [u64; 8] {
        let StatTicks { user, nice, system, idle, iowait, irq, softirq, steal } = *self;
        [user, system, nice, idle, iowait, irq, softirq, steal]
    }

    /// All ticks.
    pub fn total(&self) -> u64 {
        self.in_top_order().iter().sum()
    }

    /// `self - earlier`, field by field. idle and iowait of /proc/stat may run backwards
    /// (proc_stat(5)); that counts as no change.
    pub fn since(&self, earlier: &StatTicks) -> StatTicks {
        self.with(earlier, u64::saturating_sub)
    }

    /// `of` each field of this and of `other`.
    pub(crate) fn with(&self, other: &StatTicks, of: impl Fn(u64, u64) -> u64) -> StatTicks {
        let (ours, theirs) = (self.fields(), other.fields());
        StatTicks::from_fields(std::array::from_fn(|n| of(ours[n], theirs[n])))
    }

    /// Per cent in top's order (us sy ni id wa hi si st); `None` before the first tick.
    pub fn percent(&self) -> Option<[f64; 8]> {
        let total = self.total();
        (total > 0).then(|| self.in_top_order().map(|t| t as f64 * 100.0 / total as f64))
    }
}

/// Memory in bytes, from /proc/meminfo (proc_meminfo(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Memory {
    /// MemTotal.
    pub total: u64,
    /// MemFree.
    pub free: u64,
    /// MemAvailable.
    pub available: u64,
    /// Buffers + Cached + SReclaimable, as top's buff/cache.
    pub cache: u64,
    pub swap_total: u64,
    pub swap_free: u64,
}

impl Memory {
    /// Used memory as top computes it: total - available, bytes.
    pub fn used(&self) -> u64 {
        self.total.saturating_sub(self.available)
    }
}

/// Pressure: per cent of the last ten seconds in which some task waited for the resource (PSI,
/// /proc/pressure).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct Pressure {
    pub cpu: Option<f64>,
    pub io: Option<f64>,
    pub memory: Option<f64>,
}

/// Reads from and writes to all block devices, bytes a second since the reading before.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[allow(missing_docs)] // Their names say it.
pub struct DiskRate {
    pub read: f64,
    pub written: f64,
}

/// The machine at one instant. A field is `None` if it could not be read.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct System {
    /// Wall clock, seconds since the epoch.
    pub wall_s: Option<i64>,
    /// Local time of day as text, `HH:MM:SS`.
    pub local_time: Option<String>,
    /// Seconds since boot.
    pub uptime_s: Option<f64>,
    /// Logged-in users.
    pub users: Option<u32>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Memory and swap.
    pub memory: Option<Memory>,
    /// The `cpu` line of /proc/stat.
    pub ticks: Option<StatTicks>,
    /// The `cpuN` lines of /proc/stat, with N.
    pub cpu_ticks: Vec<(u32, StatTicks)>,
    /// Pressure, if a view shows it.
    pub pressure: Option<Pressure>,
    /// Disk I/O, if a view shows it.
    pub disk: Option<DiskRate>,
    /// Forks since boot (`processes` in /proc/stat); counts threads too.
    pub forks: Option<u64>,
}

impl System {
    /// The instant on the clock of start times (CLOCK_BOOTTIME), ns.
    pub fn boottime_ns(&self) -> Option<u64> {
        self.uptime_s.map(|seconds| (seconds * 1e9) as u64)
    }
}
