//! The column registry: the only place that defines a column.
//!
//! Screen, text, JSON keys, CSV, sort and filter names, the man page and the columns reference are
//! derived from [`COLUMNS`]. To add a derived column, add one entry here.

mod definition;
pub mod filter;
mod lookup;
pub mod sort;
pub mod unit;
mod values;

use crate::feed::needs::Needs;
use crate::frame::value::{Datum, Missing, Value};
use crate::frame::{Row, RowKind};
use crate::ledger::counters::Counter;
use crate::owner::Grouping;
pub use definition::{Column, ColumnKind, Context, Rounding};
pub use lookup::{by_ids, find, needs, UnknownColumn};
use serde::{Deserialize, Serialize};
pub use unit::Unit;
pub use values::{command, policy};
use values::{
    counter, cpu_part, disk_rate, exited, known, living, named, of_children, own_share, priority,
    state, text,
};

/// Columns of the live view.
pub const TOP: &[ColumnId] = {
    use ColumnId::*;
    &[
        Pid, User, Pr, Ni, Virt, Res, Shr, S, CpuPct, CpuPlusPct, UsrPct, SysPct, StlPct, LatPct,
        MemPct, Time, Command,
    ]
};

/// Columns of `ptop`, the precise top: CPU time by kind, of the process and of its children.
pub const PTOP: &[ColumnId] = {
    use ColumnId::*;
    &[Pid, UsrPct, SysPct, StlPct, CusrPct, CsysPct, CstlPct, TotalPct, Elapsed, Command]
};

/// Columns of the microstates view: those of prstat and the states that only Linux has.
pub const MICROSTATES: &[ColumnId] = {
    use ColumnId::*;
    &[
        Pid, MsUsr, MsSys, MsDfl, MsLck, MsSlp, MsBlk, MsLat, MsThr, MsStp, MsStl, MsIrq, Vcx, Icx,
        Syscalls, Signals, Command,
    ]
};

/// Columns of the threads on a process's page.
pub const THREADS: &[ColumnId] = {
    use ColumnId::*;
    &[
        Pid, S, CpuPct, UsrPct, SysPct, StlPct, LatPct, SlpPct, BlkPct, Vcx, Icx, Migrations,
        LastCpu, Command,
    ]
};

const TICKS: &str = "ledger: run_ns x the kernel's tick-sampled user:system ratio (~) / procfs: \
                     utime and stime of /proc/PID/stat (ticks)";
const IRQS: &str = "ledger: tracepoints of irq and irq_vectors, while attached (--irq) / procfs: -";
const CHILDREN: &str = "ledger: exited groups / taskstats: exit records / snapshot, procfs: \
                        signal_struct.cutime and cstime";
const DELAYS: &str = "taskstats, while the sysctl kernel.task_delayacct is 1 / others: -";
const STAT: &str = "/proc/PID/stat";
const DISK: &str = "read_bytes and write_bytes of /proc/PID/io; live view and batch mode";
const STATES: &str = "ledger: switches, wake-ups, pt_regs.orig_ax, system calls / procfs: -";
const EVENTS: &str = "ledger: switches and wake-ups / procfs: -";

/// Default values; an entry of the registry sets only what differs.
const PLAIN: Column = Column {
    id: ColumnId::Pid,
    name: "",
    title: "",
    unit: Unit::Text,
    kind: ColumnKind::Identity,
    needs: Needs::NONE,
    help: "",
    source: "",
    value: |_, _| Value::Missing(Missing::Source),
    rank: 160,
    text_width: 10,
    right_aligned: false,
    never_scrolls: false,
    silent_if_exited: false,
    rounding: Rounding::Alone,
    of_branch: false,
};

macro_rules! column {
    ($name:literal, $title:literal, $unit:ident, $kind:ident,
     $($field:ident: $value:expr),+ $(,)?) => {
        Column {
            name: $name,
            title: $title,
            unit: Unit::$unit,
            kind: ColumnKind::$kind,
            $($field: $value,)+
            ..PLAIN
        }
    };
}

macro_rules! counter_column {
    ($name:literal, $title:literal, $unit:ident, $kind:ident, $counter:ident, $needs:ident,
     $source:expr $(, $field:ident: $value:expr)*) => {
        column!(
            $name, $title, $unit, $kind,
            needs: Needs::$needs,
            help: Counter::$counter.info().meaning,
            source: $source,
            value: |row, _| counter(row, Counter::$counter),
            $($field: $value),*
        )
    };
}

/// A text column that names what the row's control group belongs to.
macro_rules! named_column {
    ($name:literal, $title:literal, $by:expr, $help:literal) => {
        column!(
            $name, $title, Text, Identity,
            needs: Needs::NAMES,
            help: $help,
            source: "cgroups and files of runtimes (docs/how-to/containers.md)",
            value: |row, _| named(row, $by),
            text_width: 20,
        )
    };
}

macro_rules! share_column {
    ($name:literal, $title:literal, $kind:ident, $needs:ident, $part:expr, $help:expr) => {
        column!(
            $name, $title, Pct, $kind,
            needs: Needs::$needs,
            help: $help,
            source: STATES,
            value: |row, _| {
                let part: fn(&Row) -> Result<u64, Missing> = $part;
                own_share(row, part(row))
            },
            rounding: Rounding::States,
        )
    };
}

macro_rules! columns {
    ($($id:ident = $column:expr;)+) => {
        /// All columns. The list has each column's id and its definition together, so that they
        /// cannot disagree.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "&'static str")]
        #[allow(missing_docs)] // The registry explains each.
        pub enum ColumnId {
            $($id,)+
        }

        /// All columns, in the order of the reference.
        pub const COLUMNS: &[Column] = &[$(Column { id: ColumnId::$id, ..$column }),+];
    };
}

columns! {
    Pid = column!(
        "pid", "PID", Id, Identity,
        help: "Process id (thread group id); the thread's own id in the threads view.",
        source: "task_struct.pid / proc_pid_stat(5) field 1",
        value: |row, _| match row.kind {
            RowKind::Exited => Value::Missing(Missing::NotApplicable),
            RowKind::Task => Value::Known(Datum::Count(row.key.tid.into())),
            RowKind::Process => Value::Known(Datum::Count(row.key.tgid.into())),
        },
        rank: 254, never_scrolls: true,
    );
    Tgid = column!(
        "tgid", "TGID", Id, Identity,
        help: "Thread group id: the process a thread belongs to.",
        source: "task_struct.tgid",
        value: |row, _| living(row, || Value::Known(Datum::Count(row.key.tgid.into()))),
        silent_if_exited: true,
    );
    Ppid = column!(
        "ppid", "PPID", Id, Identity,
        help: "Parent process; for exited groups the nearest ancestor that still lives.",
        source: "task_struct.real_parent / proc_pid_stat(5) field 4",
        value: |row, _| match row.kind {
            RowKind::Exited if row.ident.ppid == 0 => Value::Missing(Missing::Vanished),
            _ => Value::Known(Datum::Count(row.ident.ppid.into())),
        },
        silent_if_exited: true,
    );
    User = column!(
        "user", "USER", Text, Identity,
        needs: Needs::USER,
        help: "Effective user, by name where it has one.",
        source: "cred.euid / owner of /proc/PID; names from /etc/passwd",
        value: |row, _| text(&row.detail.user),
        rank: 210, silent_if_exited: true, text_width: 8,
    );
    Uid = column!(
        "uid", "UID", Id, Identity,
        help: "Effective user id.",
        source: "cred.euid / owner of /proc/PID",
        value: |row, _| match row.uid() {
            Some(uid) => Value::Known(Datum::Count(uid.into())),
            None => Value::Missing(Missing::NotApplicable),
        },
        silent_if_exited: true,
    );
    Pr = column!(
        "pr", "PR", Text, Identity,
        help: "Kernel priority as top shows it: 20 + nice, or rt for real-time.",
        source: "task_struct.prio / proc_pid_stat(5) field 18",
        value: |row, _| living(row, || Value::Known(Datum::Text(priority(&row.ident)))),
        rank: 50, silent_if_exited: true, text_width: 3, right_aligned: true,
    );
    Ni = column!(
        "ni", "NI", Int, Identity,
        help: "Nice value, -20 (most CPU) to 19 (least).",
        source: "task_struct.static_prio / proc_pid_stat(5) field 19",
        value: |row, _| living(row, || Value::Known(Datum::Int(row.ident.nice.into()))),
        rank: 60, silent_if_exited: true,
    );
    Policy = column!(
        "policy", "POL", Text, Identity,
        help: "Scheduling policy: other, fifo, rr, batch, idle, deadline, ext (sched(7)).",
        source: "task_struct.policy / proc_pid_stat(5) field 41",
        value: |row, _| living(row, || Value::Known(Datum::Text(policy(row.ident.policy).into()))),
        silent_if_exited: true, text_width: 8,
    );
    Virt = column!(
        "virt", "VIRT", Bytes, Memory,
        needs: Needs::STAT,
        help: "Virtual size.",
        source: STAT,
        value: |row, _| known(row.detail.virt, Datum::Bytes),
        rank: 40, silent_if_exited: true,
    );
    Res = column!(
        "res", "RES", Bytes, Memory,
        needs: Needs::STATM,
        help: "Resident memory.",
        source: "/proc/PID/statm",
        value: |row, _| known(row.detail.res, Datum::Bytes),
        rank: 180, silent_if_exited: true,
    );
    Shr = column!(
        "shr", "SHR", Bytes, Memory,
        needs: Needs::STATM,
        help: "Resident memory that may be shared with others.",
        source: "/proc/PID/statm",
        value: |row, _| known(row.detail.shr, Datum::Bytes),
        rank: 30, silent_if_exited: true,
    );
    S = column!(
        "s", "S", Text, Identity,
        help: "State at the window's end: R running or runnable, S asleep, D uninterruptible, T \
               stopped, t traced, Z zombie, I idle kernel thread; X exited group.",
        source: "ledger: its own events / procfs: proc_pid_stat(5) field 3",
        value: |row, _| Value::Known(Datum::Text(row.letter.to_string())),
        rank: 230, silent_if_exited: true, text_width: 1,
    );
    CpuPct = column!(
        "cpu_pct", "%CPU", Pct, Cpu,
        help: "CPU time in the window, per cent of one CPU (key I: of the machine). It excludes \
               steal, and interrupts where they are measured (--irq).",
        source: "ledger: sched_switch, exact / procfs: utime + stime of /proc/PID/stat (ticks)",
        value: |row, ctx| ctx.cpu_share(row.delta.get(Counter::RunNs)),
        rank: 240, rounding: Rounding::Own, of_branch: true,
    );
    CpuPlusPct = column!(
        "cpu_plus_pct", "CPU+", Pct, Cpu,
        help: "%CPU plus that of descendants that exited in the window, if this row is their \
               nearest living ancestor.",
        source: "ledger: exited groups / procfs: -",
        value: |row, ctx| living(row, || {
            let own = row.delta.get(Counter::RunNs);
            ctx.cpu_share(own.zip(of_children(row, Counter::RunNs)).map(|(a, b)| a + b))
        }),
        rank: 220, rounding: Rounding::WithExited,
    );
    UsrPct = column!(
        "usr_pct", "%USR", Pct, User,
        help: "User mode, per cent of one CPU. Measured at system calls within the cost budget; \
               else ~: %CPU split by the kernel's tick-sampled ratio.",
        source: TICKS,
        value: |row, ctx| cpu_part(row.split_ns(), ctx, |(user, _)| user),
        rank: 175, rounding: Rounding::User,
    );
    SysPct = column!(
        "sys_pct", "%SYS", Pct, System,
        help: "Kernel mode, per cent of one CPU; measured or sampled as %USR. Kernel threads are \
               always in kernel mode.",
        source: TICKS,
        value: |row, ctx| cpu_part(row.split_ns(), ctx, |(_, system)| system),
        rank: 175, rounding: Rounding::System,
    );
    StlPct = column!(
        "stl_pct", "%STL", Pct, Steal,
        help: "Time that the hypervisor took from this task, per cent of one CPU.",
        source: "ledger: rq.prev_steal_time_rq where the kernel has it / procfs: -",
        value: |row, ctx| ctx.cpu_share(row.delta.get(Counter::StealNs)),
        rank: 80,
    );
    CusrPct = column!(
        "cusr_pct", "CUSR", Pct, User,
        help: "User time of children, per cent of one CPU. Ledger and taskstats: in the window, \
               by descendants that exited in it. Snapshot and procfs: the whole lives of children \
               waited for in the window, so it can exceed 100.",
        source: CHILDREN,
        value: |row, ctx| {
            living(row, || cpu_part(row.children_split_ns(), ctx, |(user, _)| user))
        },
    );
    CsysPct = column!(
        "csys_pct", "CSYS", Pct, System,
        help: "System time of children, per cent of one CPU; see cusr_pct.",
        source: CHILDREN,
        value: |row, ctx| {
            living(row, || cpu_part(row.children_split_ns(), ctx, |(_, system)| system))
        },
    );
    CstlPct = column!(
        "cstl_pct", "CSTL", Pct, Steal,
        help: "Time that the hypervisor took from descendants that exited in the window, per cent \
               of one CPU.",
        source: "ledger: exited groups / others: -",
        value: |row, ctx| living(row, || ctx.cpu_share(of_children(row, Counter::StealNs))),
    );
    TotalPct = column!(
        "total_pct", "TOTAL", Pct, Cpu,
        help: "%CPU, %STL and the same of children, per cent of one CPU: all time that the row \
               took from the CPUs.",
        source: "the sum of the others, as far as they are known",
        value: |row, ctx| ctx.cpu_share(row.taken_ns()),
    );
    Elapsed = column!(
        "elapsed", "ELAP+", Time, Identity,
        help: "Time since the start, minutes:seconds.hundredths.",
        source: "task_struct.start_boottime and the window's end",
        value: |row, ctx| living(row, || {
            let elapsed = ctx.boottime_ns.map(|now| now.saturating_sub(row.key.start_ns));
            Value::ns(elapsed, Missing::Source)
        }),
    );
    LatPct = column!(
        "lat_pct", "LAT%", Pct, RunQueue,
        needs: Needs::SCHEDSTAT,
        help: "Run-queue latency: runnable, waiting for a CPU; per cent of the task's own time \
               (average over a process's threads).",
        source: "ledger: sched_waking to sched_switch, exact / procfs: /proc/PID/schedstat of \
                 the leader",
        value: |row, _| own_share(row, state(row, Counter::LatNs)),
        rank: 200,
    );
    SlpPct = column!(
        "slp_pct", "SLP%", Pct, Sleep,
        help: "Asleep interruptibly, per cent of the task's own time.",
        source: EVENTS,
        value: |row, _| own_share(row, state(row, Counter::SleepNs)),
    );
    BlkPct = column!(
        "blk_pct", "BLK%", Pct, Block,
        help: "Asleep uninterruptibly (disk and other D), per cent of the task's own time.",
        source: EVENTS,
        value: |row, _| own_share(row, state(row, Counter::BlockNs)),
    );
    StpPct = column!(
        "stp_pct", "STP%", Pct, Stop,
        help: "Stopped or traced, per cent of the task's own time.",
        source: EVENTS,
        value: |row, _| own_share(row, state(row, Counter::StopNs)),
    );
    MemPct = column!(
        "mem_pct", "%MEM", Pct, Memory,
        needs: Needs::STATM.with(Needs::MACHINE),
        help: "Resident memory, per cent of physical memory.",
        source: "/proc/PID/statm and MemTotal of /proc/meminfo",
        value: |row, ctx| match (&row.detail.res, ctx.memory_total) {
            (Ok(res), Some(total)) => Value::share(Some(*res), total, Missing::Source),
            (Err(missing), _) => Value::Missing(*missing),
            (_, None) => Value::Missing(Missing::Source),
        },
        rank: 170,
    );
    ReadRate = column!(
        "read_rate", "RD/s", Bytes, Events,
        needs: Needs::DISK,
        help: "Bytes per second read from disks, without the page cache. Sampled once a window, \
               so unknown in the first. Other users' processes need root.",
        source: DISK,
        value: |row, _| disk_rate(row, |rate| rate.read),
        rank: 192, silent_if_exited: true,
    );
    WriteRate = column!(
        "write_rate", "WR/s", Bytes, Events,
        needs: Needs::DISK,
        help: "Bytes per second given to disks to write, perhaps later. See read_rate.",
        source: DISK,
        value: |row, _| disk_rate(row, |rate| rate.written),
        rank: 191, silent_if_exited: true,
    );
    Time = column!(
        "time", "TIME+", Time, Life,
        needs: Needs::STAT,
        help: "CPU time since the start, minutes:seconds.hundredths; for exited groups that of \
               the window.",
        source: "utime + stime of /proc/PID/stat",
        value: |row, _| match row.kind {
            RowKind::Exited => counter(row, Counter::RunNs),
            _ => known(row.detail.time_ns, Datum::Ns),
        },
        rank: 190,
    );
    Threads = column!(
        "threads", "nTH", Count, Identity,
        help: "Threads alive at the window's end.",
        source: "counted / proc_pid_stat(5) field 20",
        value: |row, _| living(row, || Value::count(row.threads.map(u64::from), Missing::Source)),
        silent_if_exited: true,
    );
    LastCpu = column!(
        "last_cpu", "P", Int, Identity,
        help: "The CPU on which the task runs or last ran.",
        source: "sched_switch / proc_pid_stat(5) field 39",
        value: |row, _| match row.last_cpu {
            Some(cpu) => Value::Known(Datum::Int(cpu.into())),
            None => Value::Missing(Missing::NotApplicable),
        },
        silent_if_exited: true,
    );
    MsUsr = share_column!(
        "ms_usr", "USR", User, SPLIT,
        |row| row.split_ns().map(|(user, _)| user),
        "User mode, per cent of the thread's own time; ~ where not measured at system calls."
    );
    MsSys = share_column!(
        "ms_sys", "SYS", System, SPLIT,
        |row| row.split_ns().map(|(_, system)| system),
        "Kernel mode, per cent of the thread's own time; ~ where not measured at system calls."
    );
    MsTrp = share_column!(
        "ms_trp", "TRP", System, NONE,
        |_| Err(Missing::Source),
        "In a trap other than a page fault. Linux does not show it: part of USR or SYS."
    );
    MsIrq = share_column!(
        "ms_irq", "IRQ", Interrupt, INTERRUPTS,
        |row| state(row, Counter::IrqNs),
        "Interrupts on its CPU, per cent of the thread's own time; - where not measured."
    );
    MsStl = share_column!(
        "ms_stl", "STL", Steal, NONE,
        |row| state(row, Counter::StealNs),
        "Steal, per cent of the thread's own time."
    );
    MsTfl = share_column!(
        "ms_tfl", "TFL", Fault, NONE,
        |row| state(row, Counter::TextFaultNs),
        "Asleep in a page fault on an instruction, per cent of the thread's own time."
    );
    MsDfl = share_column!(
        "ms_dfl", "DFL", Fault, NONE,
        |row| state(row, Counter::DataFaultNs),
        "Asleep in another page fault, per cent of the thread's own time."
    );
    MsLck = share_column!(
        "ms_lck", "LCK", Lock, NONE,
        |row| state(row, Counter::LockNs),
        "Asleep on a user-level lock (futex), per cent of the thread's own time."
    );
    MsSlp = share_column!(
        "ms_slp", "SLP", Sleep, NONE,
        |row| state(row, Counter::SleepNs),
        "Any other interruptible sleep, per cent of the thread's own time."
    );
    MsBlk = share_column!(
        "ms_blk", "BLK", Block, NONE,
        |row| state(row, Counter::BlockNs),
        "Asleep uninterruptibly (disk and other D), per cent of the thread's own time."
    );
    MsLat = share_column!(
        "ms_lat", "LAT", RunQueue, NONE,
        |row| state(row, Counter::LatNs),
        "Runnable, waiting for a CPU, per cent of the thread's own time."
    );
    MsThr = share_column!(
        "ms_thr", "THR", Throttle, NONE,
        |row| state(row, Counter::ThrottleNs),
        "Runnable, but the cgroup's CPU quota is used up, per cent of the thread's own time."
    );
    MsStp = share_column!(
        "ms_stp", "STP", Stop, NONE,
        |row| state(row, Counter::StopNs),
        "Stopped or traced, per cent of the thread's own time."
    );
    Syscalls = counter_column!(
        "syscalls", "SCL", Count, Events, Syscalls, SPLIT,
        "ledger: sys_enter, while the split is measured / procfs: -"
    );
    Signals = counter_column!(
        "signals", "SIG", Count, Events, Signals, NONE,
        "ledger: signal_deliver / procfs: -"
    );
    WakeupsGiven = counter_column!(
        "wakeups_given", "GIVE", Count, Events, WakeupsGiven, NONE,
        "ledger: sched_waking / procfs: -"
    );
    MinorFaults = counter_column!(
        "minor_faults", "MINFL", Count, Memory, MinorFaults, NONE,
        "ledger: task_struct.min_flt / procfs: -"
    );
    MajorFaults = counter_column!(
        "major_faults", "MAJFL", Count, Memory, MajorFaults, NONE,
        "ledger: task_struct.maj_flt / procfs: -"
    );
    Vcx = counter_column!("vcx", "VCX", Count, Events, Vcx, STATUS, EVENTS);
    Icx = counter_column!("icx", "ICX", Count, Events, Icx, STATUS, EVENTS);
    Wakeups = counter_column!("wakeups", "WAKE", Count, Events, Wakeups, NONE, EVENTS);
    Dispatches = counter_column!("dispatches", "DISP", Count, Events, Dispatches, NONE, EVENTS);
    Migrations = counter_column!("migrations", "MIGR", Count, Events, Migrations, NONE, EVENTS);
    MissedSwitches = counter_column!(
        "missed_switches", "MISS", Count, Events, MissedSwitches, NONE,
        "ledger: task_struct.nvcsw + nivcsw, less the switches that were shown / procfs: -"
    );
    Repairs = column!(
        "repairs", "REPR", Count, Events,
        help: "Repairs after events that the kernel did not show; an exited task counts once.",
        source: "ledger: sum_exec_runtime, last_queued and last_arrival at a repair / others: -",
        value: |row, _| Value::count(row.repairs, Missing::Source),
    );
    Exited = column!(
        "exited", "EXIT", Count, Events,
        help: "Processes that exited in the window.",
        source: "ledger: the last sched_switch of a dead task / procfs: -",
        value: |row, _| exited(row, row.exited_processes),
    );
    ExitedTasks = column!(
        "exited_tasks", "EXITT", Count, Events,
        help: "Tasks that exited in the window, threads of a living process included.",
        source: "ledger: the last sched_switch of a dead task / procfs: -",
        value: |row, _| exited(row, row.exited_tasks),
    );
    CgroupId = column!(
        "cgroup_id", "CGID", Id, Identity,
        help: "Inode number of the cgroup's directory (v2, else v1's cpu hierarchy).",
        source: "kernfs_node.id",
        value: |row, _| Value::count(row.ident.cgroup_id, Missing::Source),
    );
    Cgroup = column!(
        "cgroup", "CGROUP", Text, Identity,
        needs: Needs::CGROUP,
        help: "Path of the cgroup.",
        source: "/proc/PID/cgroup",
        value: |row, _| text(&row.detail.cgroup),
        text_width: 20,
    );
    Container = named_column!(
        "container", "CONTAINER", Grouping::Container,
        "Container by name, in a pod NAMESPACE/POD/CONTAINER; else the first digits of its id."
    );
    Pod = named_column!(
        "pod", "POD", Grouping::Pod, "Pod, as NAMESPACE/POD; else the pod's UID."
    );
    Namespace = named_column!(
        "namespace", "NAMESPACE", Grouping::Namespace, "Kubernetes namespace of the pod."
    );
    SystemdUnit = named_column!(
        "unit", "UNIT", Grouping::Unit,
        "systemd unit, the outermost of the path; else the innermost slice."
    );
    StartNs = column!(
        "start_ns", "START", Ns, Identity,
        help: "Start time since boot.",
        source: "task_struct.start_boottime / proc_pid_stat(5) field 22 (ticks)",
        value: |row, _| living(row, || Value::Known(Datum::Count(row.key.start_ns))),
    );
    LifeNs = column!(
        "life_ns", "LIFE", Ns, Identity,
        help: "Life inside the window, summed over threads.",
        source: "the window and the task's birth and death",
        value: |row, _| Value::Known(Datum::Ns(row.life_ns)),
    );
    RunNs = counter_column!("run_ns", "RUN_NS", Ns, Cpu, RunNs, NONE, EVENTS, of_branch: true);
    StealNs = counter_column!("steal_ns", "STEAL_NS", Ns, Steal, StealNs, NONE, EVENTS);
    IrqNs = counter_column!("irq_ns", "IRQ_NS", Ns, Interrupt, IrqNs, INTERRUPTS, IRQS);
    LatNs = counter_column!("lat_ns", "LAT_NS", Ns, RunQueue, LatNs, SCHEDSTAT, EVENTS);
    LatPreemptNs = counter_column!(
        "lat_preempt_ns", "LATP_NS", Ns, RunQueue, LatPreemptNs, NONE, EVENTS
    );
    ThrottleNs = counter_column!(
        "throttle_ns", "THR_NS", Ns, Throttle, ThrottleNs, NONE,
        "ledger: task_struct.throttled (6.18) or cfs_rq.throttle_count, and sched_info / procfs: -"
    );
    LockNs = counter_column!("lock_ns", "LCK_NS", Ns, Lock, LockNs, NONE, STATES);
    TextFaultNs = counter_column!("text_fault_ns", "TFL_NS", Ns, Fault, TextFaultNs, NONE, STATES);
    DataFaultNs = counter_column!("data_fault_ns", "DFL_NS", Ns, Fault, DataFaultNs, NONE, STATES);
    SleepNs = counter_column!("sleep_ns", "SLEEP_NS", Ns, Sleep, SleepNs, NONE, EVENTS);
    BlockNs = counter_column!("block_ns", "BLOCK_NS", Ns, Block, BlockNs, NONE, EVENTS);
    StopNs = counter_column!("stop_ns", "STOP_NS", Ns, Stop, StopNs, NONE, EVENTS);
    BlkioDelayNs = counter_column!(
        "blkio_delay_ns", "DLY_BLK", Ns, Block, BlkioDelayNs, NONE, DELAYS
    );
    SwapinDelayNs = counter_column!(
        "swapin_delay_ns", "DLY_SWAP", Ns, Fault, SwapinDelayNs, NONE, DELAYS
    );
    ReclaimDelayNs = counter_column!(
        "reclaim_delay_ns", "DLY_RECL", Ns, Memory, ReclaimDelayNs, NONE, DELAYS
    );
    ThrashingDelayNs = counter_column!(
        "thrashing_delay_ns", "DLY_THRA", Ns, Memory, ThrashingDelayNs, NONE, DELAYS
    );
    CompactDelayNs = counter_column!(
        "compact_delay_ns", "DLY_COMP", Ns, Memory, CompactDelayNs, NONE, DELAYS
    );
    WpcopyDelayNs = counter_column!(
        "wpcopy_delay_ns", "DLY_WPC", Ns, Memory, WpcopyDelayNs, NONE, DELAYS
    );
    IrqDelayNs = counter_column!("irq_delay_ns", "DLY_IRQ", Ns, System, IrqDelayNs, NONE, DELAYS);
    UserNs = column!(
        "user_ns", "USER_NS", Ns, User,
        help: "~ User mode in the window.",
        source: TICKS,
        value: |row, _| known(row.split_ns().map(|(user, _)| user), Datum::Ns),
    );
    SystemNs = column!(
        "system_ns", "SYSTEM_NS", Ns, System,
        help: "~ Kernel mode in the window.",
        source: TICKS,
        value: |row, _| known(row.split_ns().map(|(_, system)| system), Datum::Ns),
    );
    ChildrenNs = column!(
        "children_ns", "CHILD_NS", Ns, Cpu,
        help: "CPU time of descendants that exited in the window (the difference of CPU+ and \
               %CPU).",
        source: "ledger: exited groups / procfs: -",
        value: |row, _| {
            living(row, || Value::ns(of_children(row, Counter::RunNs), Missing::Source))
        },
    );
    Comm = column!(
        "comm", "COMM", Text, Identity,
        help: "Command name, up to 15 bytes.",
        source: "task_struct.comm / proc_pid_stat(5) field 2",
        value: |row, _| Value::text(row.ident.comm.bytes()),
    );
    Command = column!(
        "command", "COMMAND", Text, Identity,
        help: "Command name, or (key c) the command line; kernel threads in brackets.",
        source: "task_struct.comm, /proc/PID/cmdline",
        value: |row, ctx| Value::Known(Datum::Text(command(row, ctx.command_line))),
        rank: 255, text_width: 20, never_scrolls: true,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_and_titles_are_unique_and_explained() {
        let (mut ids, mut titles) = (HashSet::new(), HashSet::new());
        for c in COLUMNS {
            assert!(ids.insert(c.name) && titles.insert(c.title), "{} twice", c.name);
            assert!(c.help.ends_with('.'), "{}: a help text is whole sentences", c.name);
            assert!(!c.source.is_empty(), "{}: say where it comes from", c.name);
            assert_eq!(c.id.column(), c);
        }
    }

    #[test]
    fn every_counter_in_ns_has_a_column() {
        for c in Counter::ALL.iter().filter(|c| !c.info().id.contains("_tick_")) {
            assert!(find(c.info().id).is_ok(), "no column for {}", c.info().id);
        }
    }

    #[test]
    fn find_accepts_names_and_titles_and_suggests_for_typos() {
        assert_eq!(find("%cpu").map(|c| c.id), Ok(ColumnId::CpuPct));
        assert_eq!(find("PID").map(|c| c.id), Ok(ColumnId::Pid));
        let why = |name| find(name).expect_err("no such column").to_string();
        assert_eq!(why("comand"), "no column 'comand': did you mean 'command'?");
        assert_eq!(why("qqqqqqqq"), "no column 'qqqqqqqq': run 'exactop columns' to list them");
    }

    #[test]
    fn a_life_long_figure_is_not_activity() {
        let activity = [ColumnId::CpuPct, ColumnId::MsIrq, ColumnId::Vcx];
        let none = [ColumnId::Time, ColumnId::LatPct, ColumnId::ThrottleNs, ColumnId::Res];
        assert!(activity.iter().all(|id| id.column().is_activity()));
        assert!(!none.iter().any(|id| id.column().is_activity()));
    }
}
