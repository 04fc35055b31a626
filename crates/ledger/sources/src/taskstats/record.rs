//! Parses `struct taskstats` (include/uapi/linux/taskstats.h), the kernel's record of one task, by
//! version and length.
//!
//! New versions add fields at the end. Version 15 is an exception: it put the largest and the
//! smallest delay behind each delay's total. Version 16 moved them to the end.

use exactop_model::Comm;

/// The version with another layout.
const BROKEN: u16 = 15;
/// Length of version 14; version 15 inserted fields into it.
const LEN_14: usize = 432;

/// Offsets of fields in all versions but 15.
mod at {
    pub const VERSION: usize = 0;
    pub const EXITCODE: usize = 4;
    pub const FLAG: usize = 8;
    pub const NICE: usize = 9;
    pub const CPU_COUNT: usize = 16;
    pub const CPU_DELAY: usize = 24;
    pub const BLKIO_DELAY: usize = 40;
    pub const SWAPIN_DELAY: usize = 56;
    pub const CPU_RUN_VIRTUAL: usize = 72;
    pub const COMM: usize = 80;
    pub const SCHED: usize = 112;
    pub const UID: usize = 120;
    pub const PID: usize = 128;
    pub const PPID: usize = 132;
    pub const ETIME: usize = 144;
    pub const UTIME: usize = 152;
    pub const STIME: usize = 160;
    pub const MINFLT: usize = 168;
    pub const MAJFLT: usize = 176;
    pub const HIWATER_RSS: usize = 200;
    pub const NVCSW: usize = 272;
    pub const NIVCSW: usize = 280;
    pub const FREEPAGES_DELAY: usize = 320;
    pub const THRASHING_DELAY: usize = 336;
    pub const COMPACT_DELAY: usize = 360;
    pub const TGID: usize = 368;
    pub const WPCOPY_DELAY: usize = 408;
    pub const IRQ_DELAY: usize = 424;
    /// The totals behind which version 15 inserted fields.
    pub const TOTALS: [usize; 8] = [
        CPU_DELAY,
        BLKIO_DELAY,
        SWAPIN_DELAY,
        FREEPAGES_DELAY,
        THRASHING_DELAY,
        COMPACT_DELAY,
        WPCOPY_DELAY,
        IRQ_DELAY,
    ];
}

/// Flag of a process's last thread (AGROUP of include/uapi/linux/acct.h), since version 12.
const AGROUP: u8 = 0x20;

/// Times that a task waited, ns since its birth. The kernel counts them only while the sysctl
/// kernel.task_delayacct is on, except the first and the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Delays {
    /// Wait for a CPU while runnable; always counted.
    pub cpu_ns: u64,
    pub blkio_ns: u64,
    pub swapin_ns: u64,
    /// Wait for memory reclaim (version 8).
    pub reclaim_ns: Option<u64>,
    /// Wait for pages that were evicted a moment ago (version 9).
    pub thrashing_ns: Option<u64>,
    /// Wait for memory compaction (version 11).
    pub compact_ns: Option<u64>,
    /// Wait for copy on write (version 13).
    pub wpcopy_ns: Option<u64>,
    /// Time taken by interrupts (version 14); with CONFIG_IRQ_TIME_ACCOUNTING.
    pub irq_ns: Option<u64>,
}

/// One task, or the sum over a process's threads; the sum has no identity and no page faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Record {
    pub version: u16,
    /// Exit code as in wait(2), after the exit.
    pub exit_code: u32,
    /// True for the last thread of its process, if the kernel says so.
    pub last: Option<bool>,
    pub nice: i8,
    pub policy: u8,
    pub dispatches: u64,
    /// CPU time, ns: sum_exec_runtime.
    pub run_ns: u64,
    /// User time by the kernel's accounting, ns; counted in microseconds.
    pub user_ns: u64,
    /// System time by the kernel's accounting, ns; counted in microseconds.
    pub system_ns: u64,
    /// Time since its birth, ns; counted in microseconds.
    pub elapsed_ns: u64,
    pub comm: Comm,
    /// Real user.
    pub uid: u32,
    /// Thread id.
    pub pid: u32,
    pub ppid: u32,
    /// Process number (version 12).
    pub tgid: Option<u32>,
    /// Page faults without and with I/O.
    pub faults: (u64, u64),
    /// Largest resident set since its last exec, KiB (version 3).
    pub resident_kib: Option<u64>,
    /// Voluntary and involuntary context switches (version 3).
    pub switches: Option<(u64, u64)>,
    pub delays: Delays,
}

/// A structure that is too short for version 1, or that claims version 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse a taskstats record of version {version} and {length} bytes")]
pub struct Malformed {
    /// The version field.
    pub version: u16,
    /// Length of the structure, bytes.
    pub length: usize,
}

struct Layout<'a> {
    bytes: &'a [u8],
    version: u16,
    /// Bytes that version 15 inserted behind each total.
    inserted: usize,
}

impl<'a> Layout<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Layout<'a>, Malformed> {
        let version = bytes.get(at::VERSION..2).map_or(0, |v| u16::from_ne_bytes([v[0], v[1]]));
        let inserted = match version {
            BROKEN => bytes.len().saturating_sub(LEN_14) / at::TOTALS.len(),
            _ => 0,
        };
        // Basic accounting came with version 2: everything up to hiwater_vm.
        match version >= 2 && bytes.len() >= at::MAJFLT + 8 {
            true => Ok(Layout { bytes, version, inserted }),
            false => Err(Malformed { version, length: bytes.len() }),
        }
    }

    fn place(&self, at: usize) -> usize {
        at + self.inserted * at::TOTALS.iter().filter(|&&total| total < at).count()
    }

    fn u64(&self, at: usize) -> u64 {
        let at = self.place(at);
        let bytes = self.bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    }

    fn u32(&self, at: usize) -> u32 {
        let at = self.place(at);
        let bytes = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(self.place(at)).copied().unwrap_or(0)
    }

    /// A field that exists since a version.
    fn since(&self, version: u16, at: usize) -> Option<u64> {
        let there = self.version >= version && self.bytes.len() >= self.place(at) + 8;
        there.then(|| self.u64(at))
    }

    fn comm(&self) -> Comm {
        let at = self.place(at::COMM);
        let name = self.bytes.get(at..at + 16).unwrap_or_default();
        Comm::new(name)
    }
}

impl Record {
    /// Parses the structure.
    pub fn parse(bytes: &[u8]) -> Result<Record, Malformed> {
        const US: u64 = 1000;
        let layout = Layout::parse(bytes)?;
        let us = |at| layout.u64(at).saturating_mul(US);
        Ok(Record {
            version: layout.version,
            exit_code: layout.u32(at::EXITCODE),
            last: (layout.version >= 12).then(|| layout.byte(at::FLAG) & AGROUP != 0),
            nice: layout.byte(at::NICE) as i8,
            policy: layout.byte(at::SCHED),
            dispatches: layout.u64(at::CPU_COUNT),
            run_ns: layout.u64(at::CPU_RUN_VIRTUAL),
            user_ns: us(at::UTIME),
            system_ns: us(at::STIME),
            elapsed_ns: us(at::ETIME),
            comm: layout.comm(),
            uid: layout.u32(at::UID),
            pid: layout.u32(at::PID),
            ppid: layout.u32(at::PPID),
            tgid: layout.since(12, at::TGID).map(|_| layout.u32(at::TGID)),
            faults: (layout.u64(at::MINFLT), layout.u64(at::MAJFLT)),
            resident_kib: layout.since(3, at::HIWATER_RSS).filter(|&kib| kib > 0),
            switches: layout.since(3, at::NVCSW).zip(layout.since(3, at::NIVCSW)),
            delays: Delays {
                cpu_ns: layout.u64(at::CPU_DELAY),
                blkio_ns: layout.u64(at::BLKIO_DELAY),
                swapin_ns: layout.u64(at::SWAPIN_DELAY),
                reclaim_ns: layout.since(8, at::FREEPAGES_DELAY),
                thrashing_ns: layout.since(9, at::THRASHING_DELAY),
                compact_ns: layout.since(11, at::COMPACT_DELAY),
                wpcopy_ns: layout.since(13, at::WPCOPY_DELAY),
                irq_ns: layout.since(14, at::IRQ_DELAY),
            },
        })
    }
}
