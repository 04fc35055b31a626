//! The column registry: the only place that knows a column.
//!
//! Screen, text, JSON keys, CSV, sort and filter names, the man page and the columns reference
//! are derived from [`COLUMNS`]. To add a derived column, add one entry here.

use crate::counters::Counter;
use crate::escape;
use crate::frame::{Row, RowKind};
use crate::key::Ident;
use crate::needs::Needs;
use crate::value::{Datum, Missing, Value};

/// What a column's figures are; the width on screen and the JSON type follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per cent; of one CPU or of the row's own time, as the help says.
    Pct,
    /// Nanoseconds.
    Ns,
    /// CPU time as minutes:seconds.hundredths.
    Time,
    /// Events or things.
    Count,
    /// Bytes.
    Bytes,
    /// A signed number.
    Int,
    /// An identifier: pid, user id, CPU.
    Id,
    /// Text.
    Text,
}

/// What a column is about; its colour follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who it is.
    Identity,
    /// CPU time of any kind.
    Cpu,
    /// User time.
    User,
    /// System time.
    System,
    /// Steal.
    Steal,
    /// Run-queue wait.
    RunQueue,
    /// Sleep, blocked, stopped.
    Sleep,
    /// Memory.
    Memory,
    /// Counts of events.
    Events,
}

/// What the values depend on beside the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Context {
    /// The window's length.
    pub window_ns: u64,
    /// CPUs online.
    pub cpus: u32,
    /// Per cent of the whole machine instead of one CPU (top's Solaris mode).
    pub of_machine: bool,
    /// Show the command line instead of the command name.
    pub command_line: bool,
    /// Physical memory in bytes, for %MEM.
    pub memory_total: Option<u64>,
    /// The window's end on the clock of start times, ns since boot.
    pub boottime_ns: Option<u64>,
}

impl Context {
    /// `part` of the window as per cent of one CPU, or of the machine.
    fn cpu_share(&self, part: Option<u64>) -> Value {
        let cpus = if self.of_machine { u64::from(self.cpus) } else { 1 };
        Value::share(part, self.window_ns * cpus, Missing::Source)
    }
}

/// A column.
#[derive(Clone, Copy)]
pub struct Column {
    /// The name in options, filters, CSV and JSON.
    pub id: &'static str,
    /// The heading on screen.
    pub title: &'static str,
    /// What its figures are.
    pub unit: Unit,
    /// What it is about.
    pub kind: Kind,
    /// What must be read for it.
    pub needs: Needs,
    /// What it means, in a sentence or two.
    pub help: &'static str,
    /// Where the figure comes from: ledger / procfs.
    pub source: &'static str,
    /// Its value for a row.
    pub value: fn(&Row, &Context) -> Value,
}

impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column({})", self.id)
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        self.id == other.id
    }
}

impl Column {
    /// Whether the text is aligned to the left.
    pub fn left_aligned(&self) -> bool {
        self.unit == Unit::Text && self.id != "pr"
    }

    /// The width on screen; the last column of a table takes what is left.
    pub fn width(&self) -> usize {
        let by_unit = match self.unit {
            Unit::Pct => 6,
            Unit::Ns => 14,
            Unit::Time => 9,
            Unit::Count => 6,
            Unit::Bytes => 6,
            Unit::Int => 3,
            Unit::Id => 7,
            Unit::Text => match self.id {
                "s" => 1,
                "pr" => 3,
                "user" | "policy" => 8,
                "command" | "cgroup" => 20,
                _ => 10,
            },
        };
        by_unit.max(self.title.len())
    }

    /// Whether larger comes first when a view sorts by it for the first time.
    pub fn descending(&self) -> bool {
        !matches!(self.unit, Unit::Text | Unit::Id | Unit::Int)
    }
}

/// The column of this name: an id, or a title in any case (`%CPU`, `command`).
pub fn find(name: &str) -> Option<&'static Column> {
    COLUMNS
        .iter()
        .find(|c| c.id.eq_ignore_ascii_case(name))
        .or_else(|| COLUMNS.iter().find(|c| c.title.eq_ignore_ascii_case(name)))
}

/// What must be read for these columns.
pub fn needs<'a>(columns: impl IntoIterator<Item = &'a Column>) -> Needs {
    columns.into_iter().fold(Needs::NONE, |needs, c| needs | c.needs)
}

/// The live view's columns.
pub const TOP: &[&str] = &[
    "pid",
    "user",
    "pr",
    "ni",
    "virt",
    "res",
    "shr",
    "s",
    "cpu_pct",
    "cpu_plus_pct",
    "usr_pct",
    "sys_pct",
    "stl_pct",
    "lat_pct",
    "mem_pct",
    "time",
    "command",
];

/// The precise top's columns (ptop): CPU time by kind, its own and its children's.
pub const PTOP: &[&str] = &[
    "pid",
    "usr_pct",
    "sys_pct",
    "stl_pct",
    "cusr_pct",
    "csys_pct",
    "cstl_pct",
    "total_pct",
    "elapsed",
    "command",
];

/// The microstates view's columns: prstat's, with the states Linux has beside.
pub const MICROSTATES: &[&str] = &[
    "pid", "ms_usr", "ms_sys", "ms_dfl", "ms_lck", "ms_slp", "ms_blk", "ms_lat", "ms_thr",
    "ms_stp", "ms_stl", "ms_irq", "vcx", "icx", "syscalls", "signals", "command",
];

const TICKS: &str = "ledger: run_ns x the kernel's tick-sampled user:system ratio (~) / procfs: \
                     utime and stime of /proc/PID/stat (ticks)";
const IRQS: &str = "ledger: tracepoints of irq and irq_vectors, while attached (--irq) / procfs: -";
const CHILDREN: &str = "ledger: exited groups / taskstats: exit records / snapshot, procfs: \
                        signal_struct.cutime and cstime";
const DELAYS: &str = "taskstats, while the sysctl kernel.task_delayacct is 1 / others: -";
const STAT: &str = "/proc/PID/stat";
const STATES: &str =
    "ledger: sched_switch, sched_wakeup, pt_regs.orig_ax, sys_enter and sys_exit / \
                      procfs: -";
const EVENTS: &str = "ledger: sched_switch and sched_wakeup, exact / procfs: -";

macro_rules! counter_column {
    ($id:literal, $title:literal, $unit:ident, $kind:ident, $counter:ident, $needs:ident, $source:expr) => {
        Column {
            id: $id,
            title: $title,
            unit: Unit::$unit,
            kind: Kind::$kind,
            needs: Needs::$needs,
            help: Counter::$counter.info().meaning,
            source: $source,
            value: |row, _| counter(row, Counter::$counter),
        }
    };
}

/// A state's share of the row's own time: the lives of its threads inside the window.
macro_rules! share_column {
    ($id:literal, $title:literal, $kind:ident, $needs:ident, $part:expr, $help:expr) => {
        Column {
            id: $id,
            title: $title,
            unit: Unit::Pct,
            kind: Kind::$kind,
            needs: Needs::$needs,
            help: $help,
            source: STATES,
            value: |row, _| {
                let part: fn(&Row) -> Result<u64, Missing> = $part;
                match part(row) {
                    Ok(ns) => Value::share(Some(ns), row.life_ns, Missing::Source),
                    Err(missing) => Value::Missing(missing),
                }
            },
        }
    };
}

/// Every column, in the order of the reference.
pub const COLUMNS: &[Column] = &[
    Column {
        id: "pid",
        title: "PID",
        unit: Unit::Id,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Process id (thread group id); the thread's own id in the threads view.",
        source: "task_struct.pid / proc_pid_stat(5) field 1",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            RowKind::Task => Value::Known(Datum::Count(row.key.tid.into())),
            RowKind::Process => Value::Known(Datum::Count(row.key.tgid.into())),
        },
    },
    Column {
        id: "tgid",
        title: "TGID",
        unit: Unit::Id,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Thread group id: the process a thread belongs to.",
        source: "task_struct.tgid",
        value: |row, _| living(row, row.key.tgid.into()),
    },
    Column {
        id: "ppid",
        title: "PPID",
        unit: Unit::Id,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Parent process; for exited groups the nearest ancestor that still lives.",
        source: "task_struct.real_parent / proc_pid_stat(5) field 4",
        value: |row, _| match row.kind {
            RowKind::Exited if row.ident.ppid == 0 => Value::Missing(Missing::Vanished),
            _ => Value::Known(Datum::Count(row.ident.ppid.into())),
        },
    },
    Column {
        id: "user",
        title: "USER",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::USER,
        help: "Effective user, by name where it has one.",
        source: "cred.euid / owner of /proc/PID; names from /etc/passwd",
        value: |row, _| detail_text(&row.detail.user),
    },
    Column {
        id: "uid",
        title: "UID",
        unit: Unit::Id,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Effective user id.",
        source: "cred.euid / owner of /proc/PID",
        value: |row, _| living(row, row.ident.uid.into()),
    },
    Column {
        id: "pr",
        title: "PR",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Kernel priority as top shows it: 20 + nice, or rt for real-time.",
        source: "task_struct.prio / proc_pid_stat(5) field 18",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            _ => Value::Known(Datum::Text(priority(&row.ident))),
        },
    },
    Column {
        id: "ni",
        title: "NI",
        unit: Unit::Int,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Nice value, -20 (most CPU) to 19 (least).",
        source: "task_struct.static_prio / proc_pid_stat(5) field 19",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            _ => Value::Known(Datum::Int(row.ident.nice.into())),
        },
    },
    Column {
        id: "policy",
        title: "POL",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Scheduling policy: other, fifo, rr, batch, idle, deadline, ext (sched(7)).",
        source: "task_struct.policy / proc_pid_stat(5) field 41",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            _ => Value::Known(Datum::Text(policy(row.ident.policy).into())),
        },
    },
    Column {
        id: "virt",
        title: "VIRT",
        unit: Unit::Bytes,
        kind: Kind::Memory,
        needs: Needs::STAT,
        help: "Virtual size.",
        source: STAT,
        value: |row, _| detail_bytes(&row.detail.virt),
    },
    Column {
        id: "res",
        title: "RES",
        unit: Unit::Bytes,
        kind: Kind::Memory,
        needs: Needs::STATM,
        help: "Resident memory.",
        source: "/proc/PID/statm",
        value: |row, _| detail_bytes(&row.detail.res),
    },
    Column {
        id: "shr",
        title: "SHR",
        unit: Unit::Bytes,
        kind: Kind::Memory,
        needs: Needs::STATM,
        help: "Resident memory that may be shared with others.",
        source: "/proc/PID/statm",
        value: |row, _| detail_bytes(&row.detail.shr),
    },
    Column {
        id: "s",
        title: "S",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "State at the window's end: R running or runnable, S asleep, D uninterruptible, T \
               stopped, t traced, Z zombie, I idle kernel thread; X exited group.",
        source: "ledger: its own events / procfs: proc_pid_stat(5) field 3",
        value: |row, _| Value::Known(Datum::Text(row.letter.to_string())),
    },
    Column {
        id: "cpu_pct",
        title: "%CPU",
        unit: Unit::Pct,
        kind: Kind::Cpu,
        needs: Needs::NONE,
        help: "CPU time executed in the window, per cent of one CPU (key I: of the machine). \
               Steal is set apart; interrupt time is part of the task it hit.",
        source: "ledger: sched_switch, exact / procfs: utime + stime of /proc/PID/stat (ticks)",
        value: |row, ctx| ctx.cpu_share(row.delta.get(Counter::RunNs)),
    },
    Column {
        id: "cpu_plus_pct",
        title: "CPU+",
        unit: Unit::Pct,
        kind: Kind::Cpu,
        needs: Needs::NONE,
        help: "%CPU plus that of descendants that exited in the window and whose nearest living \
               ancestor this is, whether or not anyone waited for them.",
        source: "ledger: exited groups / procfs: -",
        value: |row, ctx| match (row.kind, &row.children) {
            (RowKind::Exited, _) => Value::Missing(Missing::NotApplicable),
            (_, None) => Value::Missing(Missing::Source),
            (_, Some(children)) => {
                let own = row.delta.get(Counter::RunNs);
                ctx.cpu_share(own.zip(children.get(Counter::RunNs)).map(|(a, b)| a + b))
            }
        },
    },
    Column {
        id: "usr_pct",
        title: "%USR",
        unit: Unit::Pct,
        kind: Kind::User,
        needs: Needs::NONE,
        help:
            "User mode, per cent of one CPU; measured at system calls while that is cheap, else ~ \
               %CPU split by the kernel's tick-sampled ratio.",
        source: TICKS,
        value: |row, ctx| split(row, ctx, |(user, _)| user),
    },
    Column {
        id: "sys_pct",
        title: "%SYS",
        unit: Unit::Pct,
        kind: Kind::System,
        needs: Needs::NONE,
        help:
            "Kernel mode, per cent of one CPU; measured at system calls while that is cheap, else \
               ~ %CPU split by the kernel's tick-sampled ratio. Kernel threads are always in \
               kernel mode.",
        source: TICKS,
        value: |row, ctx| split(row, ctx, |(_, system)| system),
    },
    Column {
        id: "stl_pct",
        title: "%STL",
        unit: Unit::Pct,
        kind: Kind::Steal,
        needs: Needs::NONE,
        help: "Time the hypervisor took while this task was on its virtual CPU, per cent of one \
               CPU.",
        source: "ledger: rq.prev_steal_time_rq where the kernel has it / procfs: -",
        value: |row, ctx| ctx.cpu_share(row.delta.get(Counter::StealNs)),
    },
    Column {
        id: "cusr_pct",
        title: "CUSR",
        unit: Unit::Pct,
        kind: Kind::User,
        needs: Needs::NONE,
        help: "User time of children, per cent of one CPU. Ledger and taskstats: of descendants \
               that exited in the window, what they took in it. Snapshot and procfs: of children \
               waited for in the window, the kernel's count of their whole lives, so it may be far \
               above 100.",
        source: CHILDREN,
        value: |row, ctx| children(row, ctx, |(user, _)| user),
    },
    Column {
        id: "csys_pct",
        title: "CSYS",
        unit: Unit::Pct,
        kind: Kind::System,
        needs: Needs::NONE,
        help: "System time of children, per cent of one CPU; see cusr_pct.",
        source: CHILDREN,
        value: |row, ctx| children(row, ctx, |(_, system)| system),
    },
    Column {
        id: "cstl_pct",
        title: "CSTL",
        unit: Unit::Pct,
        kind: Kind::Steal,
        needs: Needs::NONE,
        help: "Time the hypervisor took from descendants that exited in the window, per cent of \
               one CPU.",
        source: "ledger: exited groups / others: -",
        value: |row, ctx| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            _ => ctx.cpu_share(row.children.and_then(|c| c.get(Counter::StealNs))),
        },
    },
    Column {
        id: "total_pct",
        title: "TOTAL",
        unit: Unit::Pct,
        kind: Kind::Cpu,
        needs: Needs::NONE,
        help: "%CPU, %STL and both of the children, per cent of one CPU: what the row took from \
               the CPUs in the window.",
        source: "the sum of the others, as far as they are known",
        value: |row, ctx| ctx.cpu_share(row.taken_ns()),
    },
    Column {
        id: "elapsed",
        title: "ELAP+",
        unit: Unit::Time,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Time since it was started, minutes:seconds.hundredths.",
        source: "task_struct.start_boottime and the window's end",
        value: |row, ctx| match (row.kind, ctx.boottime_ns) {
            (RowKind::Exited, _) => Value::Missing(Missing::NotApplicable),
            (_, boottime_ns) => Value::ns(
                boottime_ns.map(|now| now.saturating_sub(row.key.start_ns)),
                Missing::Source,
            ),
        },
    },
    Column {
        id: "lat_pct",
        title: "LAT%",
        unit: Unit::Pct,
        kind: Kind::RunQueue,
        needs: Needs::SCHEDSTAT,
        help: "Run-queue latency: runnable, waiting for a CPU; per cent of the task's own time \
               (average over a process's threads).",
        source: "ledger: sched_wakeup to sched_switch, exact / procfs: /proc/PID/schedstat of \
                 the leader",
        value: |row, _| Value::share(row.delta.get(Counter::LatNs), row.life_ns, Missing::Source),
    },
    Column {
        id: "slp_pct",
        title: "SLP%",
        unit: Unit::Pct,
        kind: Kind::Sleep,
        needs: Needs::NONE,
        help: "Asleep interruptibly, per cent of the task's own time.",
        source: EVENTS,
        value: |row, _| Value::share(row.delta.get(Counter::SleepNs), row.life_ns, Missing::Source),
    },
    Column {
        id: "blk_pct",
        title: "BLK%",
        unit: Unit::Pct,
        kind: Kind::Sleep,
        needs: Needs::NONE,
        help: "Asleep uninterruptibly (disk and other D), per cent of the task's own time.",
        source: EVENTS,
        value: |row, _| Value::share(row.delta.get(Counter::BlockNs), row.life_ns, Missing::Source),
    },
    Column {
        id: "stp_pct",
        title: "STP%",
        unit: Unit::Pct,
        kind: Kind::Sleep,
        needs: Needs::NONE,
        help: "Stopped or traced, per cent of the task's own time.",
        source: EVENTS,
        value: |row, _| Value::share(row.delta.get(Counter::StopNs), row.life_ns, Missing::Source),
    },
    Column {
        id: "mem_pct",
        title: "%MEM",
        unit: Unit::Pct,
        kind: Kind::Memory,
        needs: Needs::STATM.with(Needs::MACHINE),
        help: "Resident memory, per cent of physical memory.",
        source: "/proc/PID/statm and MemTotal of /proc/meminfo",
        value: |row, ctx| match (&row.detail.res, ctx.memory_total) {
            (Ok(res), Some(total)) => Value::share(Some(*res), total, Missing::Source),
            (Err(missing), _) => Value::Missing(*missing),
            (_, None) => Value::Missing(Missing::Source),
        },
    },
    Column {
        id: "time",
        title: "TIME+",
        unit: Unit::Time,
        kind: Kind::Cpu,
        needs: Needs::STAT,
        help: "CPU time of the whole life, minutes:seconds.hundredths; for exited groups that of \
               the window.",
        source: "utime + stime of /proc/PID/stat",
        value: |row, _| match (row.kind, &row.detail.time_ns) {
            (RowKind::Exited, _) => counter(row, Counter::RunNs),
            (_, Ok(ns)) => Value::Known(Datum::Ns(*ns)),
            (_, Err(missing)) => Value::Missing(*missing),
        },
    },
    Column {
        id: "threads",
        title: "nTH",
        unit: Unit::Count,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Threads alive at the window's end.",
        source: "counted / proc_pid_stat(5) field 20",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            _ => Value::count(row.threads.map(u64::from), Missing::Source),
        },
    },
    Column {
        id: "last_cpu",
        title: "P",
        unit: Unit::Int,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "The CPU it is on or last was on.",
        source: "sched_switch / proc_pid_stat(5) field 39",
        value: |row, _| match row.last_cpu {
            Some(cpu) => Value::Known(Datum::Int(cpu.into())),
            None => Value::Missing(Missing::NotApplicable),
        },
    },
    share_column!(
        "ms_usr",
        "USR",
        User,
        SPLIT,
        |row| row.split_ns().map(|(user, _)| user),
        "User mode, per cent of the thread's own time; ~ where not measured at system calls."
    ),
    share_column!(
        "ms_sys",
        "SYS",
        System,
        SPLIT,
        |row| row.split_ns().map(|(_, system)| system),
        "In the kernel on its behalf, per cent of the thread's own time; ~ where not measured at \
         system calls."
    ),
    share_column!(
        "ms_trp",
        "TRP",
        System,
        NONE,
        |_| Err(Missing::Source),
        "In a trap other than a page fault. Linux does not show it: part of USR or SYS."
    ),
    share_column!(
        "ms_irq",
        "IRQ",
        System,
        INTERRUPTS,
        |row| state(row, Counter::IrqNs),
        "Its CPU was taken by an interrupt, per cent of the thread's own time; - where not measured."
    ),
    share_column!(
        "ms_stl",
        "STL",
        Steal,
        NONE,
        |row| state(row, Counter::StealNs),
        "Its virtual CPU was stolen, per cent of the thread's own time."
    ),
    share_column!(
        "ms_tfl",
        "TFL",
        Sleep,
        NONE,
        |row| state(row, Counter::TextFaultNs),
        "Asleep in a page fault on an instruction, per cent of the thread's own time."
    ),
    share_column!(
        "ms_dfl",
        "DFL",
        Sleep,
        NONE,
        |row| state(row, Counter::DataFaultNs),
        "Asleep in another page fault, per cent of the thread's own time."
    ),
    share_column!(
        "ms_lck",
        "LCK",
        Sleep,
        NONE,
        |row| state(row, Counter::LockNs),
        "Asleep on a user-level lock (futex), per cent of the thread's own time."
    ),
    share_column!(
        "ms_slp",
        "SLP",
        Sleep,
        NONE,
        |row| state(row, Counter::SleepNs),
        "Any other interruptible sleep, per cent of the thread's own time."
    ),
    share_column!(
        "ms_blk",
        "BLK",
        Sleep,
        NONE,
        |row| state(row, Counter::BlockNs),
        "Asleep uninterruptibly (disk and other D), per cent of the thread's own time."
    ),
    share_column!(
        "ms_lat",
        "LAT",
        RunQueue,
        NONE,
        |row| state(row, Counter::LatNs),
        "Runnable, waiting for a CPU, per cent of the thread's own time."
    ),
    share_column!(
        "ms_thr",
        "THR",
        RunQueue,
        NONE,
        |row| state(row, Counter::ThrottleNs),
        "Runnable, but the cgroup's CPU quota is used up, per cent of the thread's own time."
    ),
    share_column!(
        "ms_stp",
        "STP",
        Sleep,
        NONE,
        |row| state(row, Counter::StopNs),
        "Stopped or traced, per cent of the thread's own time."
    ),
    counter_column!(
        "syscalls",
        "SCL",
        Count,
        Events,
        Syscalls,
        SPLIT,
        "ledger: sys_enter, while the split is measured / procfs: -"
    ),
    counter_column!(
        "signals",
        "SIG",
        Count,
        Events,
        Signals,
        NONE,
        "ledger: signal_deliver / procfs: -"
    ),
    counter_column!(
        "wakeups_given",
        "GIVE",
        Count,
        Events,
        WakeupsGiven,
        NONE,
        "ledger: sched_waking / procfs: -"
    ),
    counter_column!(
        "minor_faults",
        "MINFL",
        Count,
        Memory,
        MinorFaults,
        NONE,
        "ledger: task_struct.min_flt / procfs: -"
    ),
    counter_column!(
        "major_faults",
        "MAJFL",
        Count,
        Memory,
        MajorFaults,
        NONE,
        "ledger: task_struct.maj_flt / procfs: -"
    ),
    counter_column!("vcx", "VCX", Count, Events, Vcx, STATUS, EVENTS),
    counter_column!("icx", "ICX", Count, Events, Icx, STATUS, EVENTS),
    counter_column!("wakeups", "WAKE", Count, Events, Wakeups, NONE, EVENTS),
    counter_column!("dispatches", "DISP", Count, Events, Dispatches, NONE, EVENTS),
    counter_column!("migrations", "MIGR", Count, Events, Migrations, NONE, EVENTS),
    Column {
        id: "exited",
        title: "EXIT",
        unit: Unit::Count,
        kind: Kind::Events,
        needs: Needs::NONE,
        help: "Exited in the window: processes of an exited group, threads of a living process.",
        source: "ledger: the last sched_switch of a dead task / procfs: -",
        value: |row, _| match row.kind {
            RowKind::Exited => {
                Value::Known(Datum::Count(row.exited_processes.max(if row.exited_processes == 0 {
                    row.exited_tasks
                } else {
                    0
                })))
            }
            _ if row.children.is_none() => Value::Missing(Missing::Source),
            _ => Value::Known(Datum::Count(row.exited_tasks)),
        },
    },
    Column {
        id: "cgroup_id",
        title: "CGID",
        unit: Unit::Id,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Inode number of the cgroup's directory (v2, else v1's cpu hierarchy).",
        source: "kernfs_node.id",
        value: |row, _| Value::count(row.ident.cgroup_id, Missing::Source),
    },
    Column {
        id: "cgroup",
        title: "CGROUP",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::CGROUP,
        help: "Path of the cgroup.",
        source: "/proc/PID/cgroup",
        value: |row, _| match &row.detail.cgroup {
            Ok(path) => Value::text(path),
            Err(missing) => Value::Missing(*missing),
        },
    },
    Column {
        id: "start_ns",
        title: "START",
        unit: Unit::Ns,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Start time since boot.",
        source: "task_struct.start_boottime / proc_pid_stat(5) field 22 (ticks)",
        value: |row, _| living(row, row.key.start_ns),
    },
    Column {
        id: "life_ns",
        title: "LIFE",
        unit: Unit::Ns,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "The part of its life inside the window, summed over threads.",
        source: "the window and the task's birth and death",
        value: |row, _| Value::Known(Datum::Ns(row.life_ns)),
    },
    counter_column!("run_ns", "RUN_NS", Ns, Cpu, RunNs, NONE, EVENTS),
    counter_column!("steal_ns", "STEAL_NS", Ns, Steal, StealNs, NONE, EVENTS),
    counter_column!("irq_ns", "IRQ_NS", Ns, System, IrqNs, INTERRUPTS, IRQS),
    counter_column!("lat_ns", "LAT_NS", Ns, RunQueue, LatNs, SCHEDSTAT, EVENTS),
    counter_column!("lat_preempt_ns", "LATP_NS", Ns, RunQueue, LatPreemptNs, NONE, EVENTS),
    counter_column!(
        "throttle_ns",
        "THR_NS",
        Ns,
        RunQueue,
        ThrottleNs,
        NONE,
        "ledger: task_struct.throttled (6.18) or cfs_rq.throttle_count, and sched_info / procfs: -"
    ),
    counter_column!("lock_ns", "LCK_NS", Ns, Sleep, LockNs, NONE, STATES),
    counter_column!("text_fault_ns", "TFL_NS", Ns, Sleep, TextFaultNs, NONE, STATES),
    counter_column!("data_fault_ns", "DFL_NS", Ns, Sleep, DataFaultNs, NONE, STATES),
    counter_column!("sleep_ns", "SLEEP_NS", Ns, Sleep, SleepNs, NONE, EVENTS),
    counter_column!("block_ns", "BLOCK_NS", Ns, Sleep, BlockNs, NONE, EVENTS),
    counter_column!("stop_ns", "STOP_NS", Ns, Sleep, StopNs, NONE, EVENTS),
    counter_column!("blkio_delay_ns", "DLY_BLK", Ns, Sleep, BlkioDelayNs, NONE, DELAYS),
    counter_column!("swapin_delay_ns", "DLY_SWAP", Ns, Sleep, SwapinDelayNs, NONE, DELAYS),
    counter_column!("reclaim_delay_ns", "DLY_RECL", Ns, Memory, ReclaimDelayNs, NONE, DELAYS),
    counter_column!("thrashing_delay_ns", "DLY_THRA", Ns, Memory, ThrashingDelayNs, NONE, DELAYS),
    counter_column!("compact_delay_ns", "DLY_COMP", Ns, Memory, CompactDelayNs, NONE, DELAYS),
    counter_column!("wpcopy_delay_ns", "DLY_WPC", Ns, Memory, WpcopyDelayNs, NONE, DELAYS),
    counter_column!("irq_delay_ns", "DLY_IRQ", Ns, System, IrqDelayNs, NONE, DELAYS),
    Column {
        id: "user_ns",
        title: "USER_NS",
        unit: Unit::Ns,
        kind: Kind::User,
        needs: Needs::NONE,
        help: "~ User mode in the window.",
        source: TICKS,
        value: |row, _| split_ns(row, |(user, _)| user),
    },
    Column {
        id: "system_ns",
        title: "SYSTEM_NS",
        unit: Unit::Ns,
        kind: Kind::System,
        needs: Needs::NONE,
        help: "~ Kernel mode in the window.",
        source: TICKS,
        value: |row, _| split_ns(row, |(_, system)| system),
    },
    Column {
        id: "children_ns",
        title: "CHILD_NS",
        unit: Unit::Ns,
        kind: Kind::Cpu,
        needs: Needs::NONE,
        help: "CPU time of descendants that exited in the window (the difference of CPU+ and \
               %CPU).",
        source: "ledger: exited groups / procfs: -",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            _ => Value::ns(row.children.and_then(|c| c.get(Counter::RunNs)), Missing::Source),
        },
    },
    Column {
        id: "comm",
        title: "COMM",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Command name, up to 15 bytes.",
        source: "task_struct.comm / proc_pid_stat(5) field 2",
        value: |row, _| Value::text(row.ident.comm.bytes()),
    },
    Column {
        id: "command",
        title: "COMMAND",
        unit: Unit::Text,
        kind: Kind::Identity,
        needs: Needs::NONE,
        help: "Command name, or (key c) the command line; kernel threads in brackets.",
        source: "task_struct.comm, /proc/PID/cmdline",
        value: |row, ctx| Value::Known(Datum::Text(command(row, ctx.command_line))),
    },
];

fn state(row: &Row, counter: Counter) -> Result<u64, Missing> {
    row.delta.get(counter).ok_or(Missing::Source)
}

fn counter(row: &Row, counter: Counter) -> Value {
    Value::ns(row.delta.get(counter), Missing::Source).into_unit(counter)
}

impl Value {
    /// A counter's number is nanoseconds or a count, as the counter table says.
    fn into_unit(self, counter: Counter) -> Value {
        match (self, counter.info().unit) {
            (Value::Known(Datum::Ns(n)), crate::counters::CounterUnit::Count) => {
                Value::Known(Datum::Count(n))
            }
            (value, _) => value,
        }
    }
}

fn living(row: &Row, id: u64) -> Value {
    match row.kind {
        RowKind::Exited => Value::Missing(Missing::NotApplicable),
        _ => Value::Known(Datum::Count(id)),
    }
}

fn detail_bytes(bytes: &Result<u64, Missing>) -> Value {
    match bytes {
        Ok(bytes) => Value::Known(Datum::Bytes(*bytes)),
        Err(missing) => Value::Missing(*missing),
    }
}

fn detail_text(text: &Result<String, Missing>) -> Value {
    match text {
        Ok(text) => Value::text(text),
        Err(missing) => Value::Missing(*missing),
    }
}

fn split(row: &Row, ctx: &Context, part: fn((u64, u64)) -> u64) -> Value {
    match row.split_ns() {
        Ok(both) => ctx.cpu_share(Some(part(both))),
        Err(missing) => Value::Missing(missing),
    }
}

fn children(row: &Row, ctx: &Context, part: fn((u64, u64)) -> u64) -> Value {
    match (row.kind, row.children_split_ns()) {
        (RowKind::Exited, _) => Value::Missing(Missing::NotApplicable),
        (_, Ok(both)) => ctx.cpu_share(Some(part(both))),
        (_, Err(missing)) => Value::Missing(missing),
    }
}

fn split_ns(row: &Row, part: fn((u64, u64)) -> u64) -> Value {
    match row.split_ns() {
        Ok(both) => Value::Known(Datum::Ns(part(both))),
        Err(missing) => Value::Missing(missing),
    }
}

fn priority(ident: &Ident) -> String {
    ident.pr().map_or("rt".into(), |pr| pr.to_string())
}

/// The name of a `SCHED_*` number (include/uapi/linux/sched.h).
pub fn policy(policy: u32) -> &'static str {
    match policy {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => "?",
    }
}

/// What stands in the COMMAND column, harmless to show.
pub fn command(row: &Row, command_line: bool) -> String {
    if row.kind == RowKind::Exited {
        let (n, what) = match row.exited_processes {
            0 => (row.exited_tasks, " (threads)"),
            n => (n, ""),
        };
        return format!("{} x{n}{what}", row.ident.comm);
    }
    match &row.detail.cmdline {
        Ok(line) if command_line && !line.is_empty() => escape::escape(line),
        _ if command_line && row.ident.kthread => format!("[{}]", row.ident.comm),
        _ => row.ident.comm.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_and_titles_are_unique_and_explained() {
        let (mut ids, mut titles) = (HashSet::new(), HashSet::new());
        for c in COLUMNS {
            assert!(ids.insert(c.id) && titles.insert(c.title), "{} twice", c.id);
            assert!(c.help.ends_with('.'), "{}: a help is sentences", c.id);
            assert!(!c.source.is_empty(), "{}: say where it comes from", c.id);
        }
    }

    #[test]
    fn every_counter_in_ns_has_a_column() {
        for c in Counter::ALL.iter().filter(|c| !c.info().id.contains("_tick_")) {
            assert!(find(c.info().id).is_some(), "no column for {}", c.info().id);
        }
    }

    #[test]
    fn the_live_view_names_columns_that_exist() {
        for id in TOP.iter().chain(MICROSTATES) {
            assert!(find(id).is_some(), "{id}");
        }
        assert_eq!(find("%cpu").map(|c| c.id), Some("cpu_pct"));
        assert!(find("nonsense").is_none());
    }
}
