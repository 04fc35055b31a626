//! Schema: the tables and columns that every file lists in its header. A reader finds columns by
//! name, so a file may have more or fewer than it knows.

use crate::bounds::CPUS;
use exactop_model::{Counter, ErrorKind};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// Unsigned integer.
    Uint,
    /// Signed integer, as two's complement.
    Int,
    /// Bits of an IEEE 754 64-bit float.
    Float,
    /// 0 or 1.
    Bool,
    /// Number of a text, from 0 after each keyframe.
    Text,
    /// Type of a later version.
    #[serde(other)]
    Other,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the table.
    pub table: String,
    /// Meaning of the key that identifies a row.
    pub key: String,
    /// Names and types of columns, in the order of their numbers.
    pub columns: Vec<(String, Type)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub(crate) enum TableId {
    Machine,
    Cpu,
    CpuTicks,
    Task,
    Gone,
    Exit,
    TaskDetail,
    ProcessDetail,
    GroupMove,
    GroupName,
    Waits,
    Wait,
    WaitSleep,
    WaitLength,
    WaitOther,
    GroupFile,
    Party,
    PartyWait,
    Blame,
    PartySize,
    WaitSize,
    LeaderName,
    UserName,
}

impl TableId {
    pub const ALL: &[TableId] = <TableId as strum::VariantArray>::VARIANTS;

    /// Most rows in a frame.
    pub const fn most(self) -> usize {
        match self {
            TableId::Machine | TableId::Waits => 1,
            TableId::Cpu | TableId::CpuTicks => CPUS,
            _ => usize::MAX,
        }
    }

    /// Name, key and columns of the table.
    pub fn table(self) -> &'static Table {
        &tables()[self as usize]
    }
}

/// The kernel's tick counters, in the order of [`exactop_model::ledger::system::StatTicks`].
pub(crate) const TICKS: [&str; 8] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
/// Ancestors of an exited group that are recorded.
pub(crate) const ANCESTORS: usize = 8;

/// All tables of this version.
pub fn tables() -> &'static [Table] {
    static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
        vec![
            table("machine", "nothing", machine()),
            table("cpu", "cpu", cpu()),
            table("cpu_ticks", "cpu", TICKS.map(|t| (t.into(), Type::Uint)).into()),
            table("task", "account", task()),
            table("gone", "account", Vec::new()),
            table("exit", "account", exit()),
            table("task_detail", "account", detail()),
            table("process_detail", "account", detail()),
            table("group_move", "place", group_move()),
            table("group_name", "cgroup_id", group_name()),
            table("waits", "nothing", waits()),
            table("wait", "place", wait()),
            table("wait_sleep", "place", wait_sleep()),
            table("wait_length", "place", wait_length()),
            table("wait_other", "place", wait_other()),
            table("group_file", "place", group_file()),
            table("party", "place", party()),
            table("party_wait", "party", party_wait()),
            table("blame", "place", blame()),
            table("party_size", "party", party_wait()),
            table("wait_size", "place", wait_size()),
            table("leader_name", "tgid", columns(Type::Text, "comm").collect()),
            table("user_name", "uid", columns(Type::Text, "name").collect()),
        ]
    });
    &TABLES
}

type Columns = Vec<(String, Type)>;

fn table(name: &str, key: &str, columns: Columns) -> Table {
    Table { table: name.into(), key: key.into(), columns }
}

/// Columns of one type, from names separated by blanks.
fn columns(kind: Type, names: &str) -> impl Iterator<Item = (String, Type)> + '_ {
    names.split_whitespace().map(move |name| (name.to_string(), kind))
}

fn counters() -> impl Iterator<Item = (String, Type)> {
    Counter::ALL.iter().map(|c| (c.info().id.to_string(), Type::Uint))
}

fn machine() -> Columns {
    let ticks = TICKS.map(|t| (format!("ticks_{t}"), Type::Uint));
    let errors = ErrorKind::ALL.iter().map(|k| (format!("errors_{}", k.id()), Type::Uint));
    let quality = Counter::ALL.iter().map(|c| (format!("quality_{}", c.info().id), Type::Text));
    columns(Type::Uint, "at_ns")
        .chain(columns(Type::Bool, "complete"))
        .chain(columns(Type::Uint, "watch born repaired_ns repaired_wait_ns"))
        .chain(columns(Type::Uint, "user_ns bpf_ns bpf_events"))
        .chain(columns(Type::Int, "wall_s"))
        .chain(columns(Type::Uint, "local_time_s"))
        .chain(columns(Type::Float, "uptime_s"))
        .chain(columns(Type::Uint, "users"))
        .chain(columns(Type::Float, "load_1 load_5 load_15"))
        .chain(columns(Type::Uint, "memory_total memory_free memory_available memory_cache"))
        .chain(columns(Type::Uint, "swap_total swap_free forks"))
        .chain(ticks)
        .chain(columns(Type::Text, "source reason irq steal unthrottle audit_run audit_lat"))
        .chain(errors)
        .chain(quality)
        .chain(columns(Type::Uint, "outside_ns outside_irq_ns outside_steal_ns"))
        .chain(columns(Type::Text, "degraded"))
        .chain(columns(Type::Bool, "blame irq_again"))
        .collect()
}

fn cpu() -> Columns {
    columns(Type::Bool, "online")
        .chain(columns(Type::Uint, "task_ns unnamed_ns idle_ns irq_ns irq_idle_ns steal_ns"))
        .chain(columns(
            Type::Uint,
            "steal_idle_ns no_name_ns no_name_processes offline_ns switches",
        ))
        .chain(columns(Type::Uint, "missed_switches watched_ns watched_dispatches"))
        .collect()
}

fn task() -> Columns {
    columns(Type::Uint, "tgid tid start_ns ppid")
        .chain(columns(Type::Text, "comm"))
        .chain(columns(Type::Uint, "uid cgroup_id"))
        .chain(columns(Type::Int, "nice prio"))
        .chain(columns(Type::Uint, "policy"))
        .chain(columns(Type::Bool, "kthread"))
        .chain(columns(Type::Text, "state letter"))
        .chain(columns(Type::Uint, "since_ns last_cpu threads"))
        .chain(columns(Type::Bool, "followed"))
        .chain(counters())
        .chain(columns(Type::Int, "audit_run_error_ns audit_run_bias_ns"))
        .chain(columns(Type::Int, "audit_lat_error_ns audit_lat_bias_ns"))
        .chain(columns(Type::Uint, "audit_repairs tree session"))
        .collect()
}

fn exit() -> Columns {
    let ancestors = (0..ANCESTORS)
        .flat_map(|n| [format!("ancestor{n}_tgid"), format!("ancestor{n}_start_ns")])
        .map(|name| (name, Type::Uint));
    columns(Type::Uint, "of_tgid of_start_ns")
        .chain(ancestors)
        .chain(columns(Type::Text, "comm"))
        .chain(columns(Type::Uint, "cgroup_id uid"))
        .chain(columns(Type::Bool, "followed"))
        .chain(columns(Type::Uint, "processes tasks life_ns"))
        .chain(counters())
        .chain(columns(Type::Uint, "audit_run_error_ns audit_run_bias_ns audit_run_worst_ns"))
        .chain(columns(Type::Uint, "audit_lat_error_ns audit_lat_bias_ns audit_lat_worst_ns"))
        .chain(columns(Type::Uint, "audit_repaired tree session"))
        .collect()
}

fn group_move() -> Columns {
    columns(Type::Uint, "from to").chain(counters()).collect()
}

/// Columns that name a control group.
const NAMED: &str = "unit container pod namespace runtime";

fn group_name() -> Columns {
    columns(Type::Text, "path").chain(columns(Type::Text, NAMED)).collect()
}

/// The process whose page was open.
fn waits() -> Columns {
    columns(Type::Uint, "tgid t0_ns t1_ns lost skipped unseen tables_bytes")
        .chain(columns(Type::Text, "why_not"))
        .collect()
}

/// Threads of that process.
fn wait() -> Columns {
    let queued = ["after_wakeup", "after_preemption"]
        .iter()
        .flat_map(|after| ["count", "ns", "max_ns"].map(|what| format!("{after}_{what}")))
        .map(|name| (name, Type::Uint));
    columns(Type::Uint, "tgid tid")
        .chain(columns(Type::Text, "comm process"))
        .chain(columns(Type::Uint, "queued"))
        .chain(queued)
        .collect()
}

/// Sleeps of a thread; `wait` is the index of its row.
fn wait_sleep() -> Columns {
    columns(Type::Uint, "wait")
        .chain(columns(Type::Text, "kind"))
        .chain(columns(Type::Int, "nr"))
        .chain(columns(Type::Uint, "count ns max_ns"))
        .collect()
}

fn wait_length() -> Columns {
    columns(Type::Uint, "wait")
        .chain(columns(Type::Bool, "preempted"))
        .chain(columns(Type::Uint, "bucket waits"))
        .collect()
}

fn wait_other() -> Columns {
    columns(Type::Uint, "wait")
        .chain(columns(Type::Bool, "ran_instead"))
        .chain(columns(Type::Uint, "tgid tid"))
        .chain(columns(Type::Text, "comm process"))
        .chain(columns(Type::Uint, "amount"))
        .collect()
}

/// Values of a control group's files.
fn group_file() -> Columns {
    columns(Type::Text, "name")
        .chain(columns(Type::Uint, "cgroup_id usage_ns user_ns system_ns"))
        .chain(columns(Type::Uint, "nr_periods nr_throttled throttled_ns weight"))
        .chain(columns(Type::Text, "max"))
        .chain(columns(Type::Float, "allowed_cpus"))
        .chain(columns(Type::Text, "cpus"))
        .chain(columns(Type::Uint, "pressure_some_ns pressure_full_ns processes"))
        .collect()
}

/// Parties of the window's blame book; place 0 is no party.
fn party() -> Columns {
    columns(Type::Uint, "cgroup_id uid session")
        .chain(columns(Type::Text, "comm"))
        .chain(columns(Type::Bool, "kthread"))
        .collect()
}

/// Waits of a party; in `party_size` those that its histograms count, in `party_wait` all.
fn party_wait() -> Columns {
    columns(Type::Int, "lat_ns dispatches in_flight_delta_ns").collect()
}

/// Waits that were booked to a pair; `culprit` is a party's place.
fn blame() -> Columns {
    columns(Type::Uint, "victim")
        .chain(columns(Type::Text, "kind"))
        .chain(columns(Type::Uint, "culprit ns times"))
        .collect()
}

/// A bucket of a histogram of waits; `party` is a party's place.
fn wait_size() -> Columns {
    columns(Type::Uint, "party")
        .chain(columns(Type::Bool, "preempted"))
        .chain(columns(Type::Uint, "bucket ns count max_ns"))
        .collect()
}

/// Details of a row, each with the reason if it is missing.
fn detail() -> Columns {
    let figures = [
        ("virt_bytes", Type::Uint),
        ("res_bytes", Type::Uint),
        ("shr_bytes", Type::Uint),
        ("time_ns", Type::Uint),
        ("cmdline", Type::Text),
        ("user", Type::Text),
        ("cgroup", Type::Text),
    ];
    figures
        .into_iter()
        .flat_map(|(name, kind)| [(name.into(), kind), (format!("{name}_why_not"), Type::Text)])
        .chain(columns(Type::Uint, "ppid"))
        .chain(columns(Type::Int, "nice prio"))
        .chain(columns(Type::Uint, "policy"))
        // Names of a process whose control group has no id; other processes get theirs by group.
        .chain(columns(Type::Text, NAMED))
        .collect()
}
