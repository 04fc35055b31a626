//! The cause of a task's move to another CPU, from the kernel functions on the stack.

use serde::{Deserialize, Serialize};

/// Why the kernel moved a task to another CPU.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // `meaning` says it.
pub enum Cause {
    Wakeup,
    NewIdle,
    Periodic,
    Active,
    Exec,
    Fork,
    Affinity,
    Numa,
    Hotplug,
    Core,
    RtPush,
    RtPull,
    DlPush,
    DlPull,
    Ext,
    Unknown,
}

impl Cause {
    /// All causes, in the order of the manual.
    pub const ALL: &[Cause] = <Cause as strum::VariantArray>::VARIANTS;

    /// Word in tables, JSON and CSV.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Meaning in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Cause::Wakeup => "it was woken, and the kernel chose another CPU for it",
            Cause::NewIdle => "a CPU that was about to be idle pulled it",
            Cause::Periodic => "periodic or idle balancing pulled it",
            Cause::Active => "it ran, and was pushed away to a CPU that balancing left idle",
            Cause::Exec => "it called exec, and the kernel chose another CPU for it",
            Cause::Fork => "it was born on another CPU than its parent's",
            Cause::Affinity => "it may no longer run on its CPU: sched_setaffinity, cpusets",
            Cause::Numa => "NUMA balancing moved it to its memory",
            Cause::Hotplug => "the CPU where it was is switched off",
            Cause::Core => "core scheduling took it to a CPU whose sibling it may run beside",
            Cause::RtPush => "a realtime task gave way to a higher one",
            Cause::RtPull => "a CPU that gave up its realtime task pulled another",
            Cause::DlPush => "a deadline task gave way to an earlier one",
            Cause::DlPull => "a CPU that gave up its deadline task pulled another",
            Cause::Ext => "a scheduler in BPF (sched_ext) moved it",
            Cause::Unknown => "the cause cannot be determined",
        }
    }

    /// True if the kernel counts it as a migration. It counts no fork: a new task is only placed.
    pub fn is_counted(self) -> bool {
        self != Cause::Fork
    }

    /// True if the task could have stayed, so that a reader may ask whether the move paid off.
    pub fn could_stay(self) -> bool {
        !matches!(self, Cause::Affinity | Cause::Hotplug)
    }
}

/// Facts about a move other than the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// A wake-up chose the CPU.
    pub waking: bool,
    /// A fork chose the CPU.
    pub born: bool,
    /// The CPU that the task left is going offline.
    pub was_offline: bool,
    /// The task may no longer run on the CPU that it left.
    pub not_allowed: bool,
}

/// What a function in the stack means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackHint {
    /// The function determines the cause.
    Is(Cause),
    /// Load balancing; its callers determine the kind.
    Balance,
    /// The migration thread of a CPU moves one task on request of a task in another stack.
    Stopper,
}

use StackHint::{Balance, Is, Stopper};

/// Function names of all kernels from 5.15 to 7.3; 6.10 renamed those of load balancing. Functions
/// that several causes share are left out (`detach_tasks`, `move_queued_task`).
const FUNCTIONS: &[(&str, StackHint)] = &[
    ("try_to_wake_up", Is(Cause::Wakeup)),
    ("load_balance", Balance),
    ("sched_balance_rq", Balance),
    ("newidle_balance", Is(Cause::NewIdle)),
    ("sched_balance_newidle", Is(Cause::NewIdle)),
    ("balance_fair", Is(Cause::NewIdle)),
    ("pick_next_task_fair", Is(Cause::NewIdle)),
    // In 7.x the compiler inlines the balancing function here.
    ("pick_task_fair", Is(Cause::NewIdle)),
    ("rebalance_domains", Is(Cause::Periodic)),
    ("sched_balance_domains", Is(Cause::Periodic)),
    ("run_rebalance_domains", Is(Cause::Periodic)),
    ("sched_balance_softirq", Is(Cause::Periodic)),
    ("nohz_idle_balance", Is(Cause::Periodic)),
    ("_nohz_idle_balance", Is(Cause::Periodic)),
    ("nohz_run_idle_balance", Is(Cause::Periodic)),
    ("active_load_balance_cpu_stop", Is(Cause::Active)),
    ("migration_cpu_stop", Stopper),
    ("sched_exec", Is(Cause::Exec)),
    ("__set_cpus_allowed_ptr_locked", Is(Cause::Affinity)),
    ("__set_cpus_allowed_ptr", Is(Cause::Affinity)),
    ("set_cpus_allowed_ptr", Is(Cause::Affinity)),
    ("set_cpus_allowed_force", Is(Cause::Affinity)),
    ("affine_move_task", Is(Cause::Affinity)),
    ("__sched_setaffinity", Is(Cause::Affinity)),
    ("sched_setaffinity", Is(Cause::Affinity)),
    ("migrate_swap_stop", Is(Cause::Numa)),
    ("migrate_task_to", Is(Cause::Numa)),
    ("task_numa_migrate", Is(Cause::Numa)),
    ("__balance_push_cpu_stop", Is(Cause::Hotplug)),
    ("migrate_tasks", Is(Cause::Hotplug)),
    ("sched_cpu_deactivate", Is(Cause::Hotplug)),
    ("sched_cpu_dying", Is(Cause::Hotplug)),
    ("dl_task_offline_migration", Is(Cause::Hotplug)),
    ("try_steal_cookie", Is(Cause::Core)),
    ("steal_cookie_task", Is(Cause::Core)),
    ("sched_core_balance", Is(Cause::Core)),
    ("push_rt_task", Is(Cause::RtPush)),
    ("push_rt_tasks", Is(Cause::RtPush)),
    ("rto_push_irq_work_func", Is(Cause::RtPush)),
    ("push_cpu_stop", Is(Cause::RtPush)),
    ("task_woken_rt", Is(Cause::RtPush)),
    ("pull_rt_task", Is(Cause::RtPull)),
    ("balance_rt", Is(Cause::RtPull)),
    ("push_dl_task", Is(Cause::DlPush)),
    ("push_dl_tasks", Is(Cause::DlPush)),
    ("task_woken_dl", Is(Cause::DlPush)),
    ("pull_dl_task", Is(Cause::DlPull)),
    ("balance_dl", Is(Cause::DlPull)),
    ("move_remote_task_to_local_dsq", Is(Cause::Ext)),
    ("dispatch_to_local_dsq", Is(Cause::Ext)),
    ("consume_remote_task", Is(Cause::Ext)),
    ("consume_dispatch_q", Is(Cause::Ext)),
];

/// The cause of a move. `stack` holds the kernel's functions, innermost first, without compiler
/// suffixes. `own` holds the functions of the moved task itself, if a migration thread moves it.
/// The stack of an interrupt continues with the interrupted task, so the innermost function with a
/// meaning decides.
pub fn cause(facts: Facts, stack: &[&str], own: &[&str]) -> Cause {
    if facts.born {
        return Cause::Fork;
    }
    if facts.waking {
        return bound(facts).unwrap_or(Cause::Wakeup);
    }
    let hint =
        |name: &&str| FUNCTIONS.iter().find(|(known, _)| known == name).map(|(_, hint)| *hint);
    let balanced = stack.iter().find_map(hint) == Some(Balance);
    match stack.iter().filter_map(hint).find(|&hint| hint != Balance) {
        Some(Is(cause @ (Cause::NewIdle | Cause::Periodic))) => cause,
        // The kind of balancing is not on the stack: the functions that follow belong to the
        // interrupted task.
        _ if balanced => Cause::Unknown,
        Some(Is(Cause::Wakeup)) => bound(facts).unwrap_or(Cause::Wakeup),
        Some(Is(cause)) => cause,
        Some(Stopper) => asked_for(facts, own),
        Some(Balance) | None => bound(facts).unwrap_or(Cause::Unknown),
    }
}

/// The cause if the task could not stay.
fn bound(facts: Facts) -> Option<Cause> {
    match (facts.was_offline, facts.not_allowed) {
        (true, _) => Some(Cause::Hotplug),
        (false, true) => Some(Cause::Affinity),
        (false, false) => None,
    }
}

/// The cause if a migration thread moves one task. The task that asked for the move sleeps
/// meanwhile; it may be the moved task.
fn asked_for(facts: Facts, own: &[&str]) -> Cause {
    let is_in = |function| own.contains(&function);
    match bound(facts) {
        Some(cause) => cause,
        None if is_in("sched_exec") => Cause::Exec,
        None if is_in("migrate_task_to") => Cause::Numa,
        None => Cause::Unknown,
    }
}
