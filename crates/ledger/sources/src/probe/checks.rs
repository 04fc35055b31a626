//! The table of checks, one entry for each thing that a kernel may lack.

use super::fields::witness;
use super::machine::Machine;
use super::version::kernel_version;
use super::Status::{self, Available, Degraded, Missing};
use crate::kernel_programs::{
    tracepoints_of_the_ledger, NO_CPU_DEAD, NO_INTERRUPTS, NO_PAGE_FAULTS, NO_UNTHROTTLE,
};

use exactop_cgroups::mountinfo::mounts;
use exactop_cgroups::v1_mount;

pub(super) struct Check {
    pub id: &'static str,
    pub what: &'static str,
    /// True if the ledger cannot run without it.
    pub vital: bool,
    pub loses: &'static str,
    pub remedy: &'static str,
    /// Looks at the machine; returns the status and the value found.
    pub look: fn(&Machine) -> (Status, String),
}

/// Numbers of the initial namespaces (include/linux/proc_ns.h).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;
const INITIAL_USER_NAMESPACE: u64 = 0xEFFF_FFFD;

/// From this version on BPF memory is charged to the cgroup, not to RLIMIT_MEMLOCK.
const NO_MEMLOCK: (u32, u32) = (5, 11);

const NO_LEDGER: &str =
    "the ledger: figures come from another source (see the end), and no other source \
                         closes its books";

/// All checks, the most important first.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "kernel_version",
        what: "a kernel that the ledger supports",
        vital: true,
        loses: "tested correctness of the ledger, or the ledger itself before Linux 5.15",
        remedy: "use a kernel that was tested: Linux 6.1, 6.12, 6.18, 7.2 or 7.3",
        look: kernel_version,
    },
    Check {
        id: "btf",
        what: "the kernel's type information",
        vital: true,
        loses: NO_LEDGER,
        remedy: "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, and /sys mounted",
        look: |m| match &m.types {
            Ok(_) => (Available, "/sys/kernel/btf/vmlinux".into()),
            Err(why) => (Missing, why.clone()),
        },
    },
    Check {
        id: "tracepoints",
        what: "scheduler tracepoints with types",
        vital: true,
        loses: NO_LEDGER,
        remedy: "use a kernel built with CONFIG_TRACEPOINTS and CONFIG_BPF_EVENTS",
        look: |m| has_tracepoints(m, None, Missing),
    },
    Check {
        id: "bpf_permission",
        what: "the right to load BPF programs",
        vital: true,
        loses: NO_LEDGER,
        remedy: "run as root of the host, or give exactop CAP_BPF and CAP_PERFMON: setcap \
                 cap_bpf,cap_perfmon+ep",
        look: bpf_permission,
    },
    Check {
        id: "pid_namespace",
        what: "the host's PIDs",
        vital: true,
        loses: NO_LEDGER,
        remedy: "run exactop on the host, or the container with --pid=host",
        look: |m| namespace(m, "pid", INITIAL_PID_NAMESPACE),
    },
    Check {
        id: "lockdown",
        what: "a kernel that lets BPF read it",
        vital: false,
        loses: "the ledger may be refused: lockdown in confidentiality mode forbids reading the \
                kernel's memory",
        remedy: "boot with lockdown=integrity or without lockdown; to see the present mode, mount \
                 securityfs at /sys/kernel/security",
        look: lockdown,
    },
    Check {
        id: "memlock",
        what: "memory for BPF maps",
        vital: false,
        loses: "the ledger may not get its maps",
        remedy: "raise the limit (ulimit -l unlimited), or use Linux 5.11 or newer, where BPF memory \
                 is not counted against it",
        look: memlock,
    },
    Check {
        id: "steal",
        what: "steal time per task",
        vital: false,
        loses: "%STL: stolen time stays part of the task or idle time that it was taken from; \
                only the ticks per CPU in /proc/stat show it",
        remedy: "use a kernel built with CONFIG_PARAVIRT_TIME_ACCOUNTING=y; of no use outside of \
                 virtual machines",
        look: steal,
    },
    Check {
        id: "witness",
        what: "the kernel's own count of switches (the witness)",
        vital: false,
        loses: "missed_switches (MISS): a missed context switch stays unknown",
        remedy: "use a kernel built with CONFIG_FAIR_GROUP_SCHED",
        look: witness,
    },
    Check {
        id: "cpu_hotplug",
        what: "the tracepoint of CPUs that go offline",
        vital: false,
        loses: NO_CPU_DEAD,
        remedy: "use a kernel built with CONFIG_TRACEPOINTS",
        look: |m| has_tracepoints(m, Some(NO_CPU_DEAD), Degraded),
    },
    Check {
        id: "interrupts",
        what: "tracepoints at both ends of interrupts",
        vital: false,
        loses: NO_INTERRUPTS,
        remedy:
            "use x86 and a kernel built with CONFIG_TRACEPOINTS; elsewhere the kernel shows device \
                 interrupts and softirqs only",
        look: |m| has_tracepoints(m, Some(NO_INTERRUPTS), Degraded),
    },
    Check {
        id: "page_faults",
        what: "the tracepoint of page faults",
        vital: false,
        loses: NO_PAGE_FAULTS,
        remedy: "use an x86 kernel built with CONFIG_TRACEPOINTS",
        look: |m| has_tracepoints(m, Some(NO_PAGE_FAULTS), Degraded),
    },
    Check {
        id: "unthrottle",
        what: "the instant a cgroup's quota is refilled (fentry)",
        vital: false,
        loses: NO_UNTHROTTLE,
        remedy:
            "use a kernel built with CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS and CONFIG_CFS_BANDWIDTH",
        look: unthrottle,
    },
    Check {
        id: "traps",
        what: "time in traps other than page faults",
        vital: false,
        loses: "TRP: it is part of USR or SYS",
        remedy: "nothing: Linux has no tracepoints at their ends",
        look: |_| (Missing, "no such tracepoint in any kernel".into()),
    },
    Check {
        id: "cgroup_cpu",
        what: "the cpu controller of cgroup v2",
        vital: false,
        loses: "limits and throttling of control groups as cgroup v2 has them",
        remedy: "boot with the unified hierarchy: systemd.unified_cgroup_hierarchy=1",
        look: cgroup_cpu,
    },
    Check {
        id: "hidepid",
        what: "all users' processes in /proc",
        vital: false,
        loses: "names, memory and command lines of other users' processes; the source procfs \
                also lacks their time, which is then unnamed",
        remedy: "run as root or in the group named by /proc's mount option gid=, or mount /proc \
                 without hidepid",
        look: hidepid,
    },
    Check {
        id: "schedstat",
        what: "run-queue wait in /proc",
        vital: false,
        loses: "LAT% from /proc; the ledger measures it itself",
        remedy: "use a kernel built with CONFIG_SCHED_INFO (CONFIG_SCHEDSTATS or \
                 CONFIG_TASK_DELAY_ACCT)",
        look: |m| file(m, "self/schedstat"),
    },
    Check {
        id: "schedstats",
        what: "the kernel's scheduler statistics",
        vital: false,
        loses: "nothing: exactop does not need them",
        remedy: "run 'sysctl kernel.sched_schedstats=1', on a kernel built with CONFIG_SCHEDSTATS",
        look: |m| switch(m, "sys/kernel/sched_schedstats"),
    },
    Check {
        id: "delayacct",
        what: "the kernel's delay accounting",
        vital: false,
        loses:
            "the columns of delays (blkio_delay_ns and others) of the source taskstats; nothing of \
                the ledger",
        remedy: "run 'sysctl kernel.task_delayacct=1', on a kernel built with \
                 CONFIG_TASK_DELAY_ACCT",
        look: |m| switch(m, "sys/kernel/task_delayacct"),
    },
    Check {
        id: "psi",
        what: "pressure stall information",
        vital: false,
        loses: "pressure: the live view's line (key b) and PSI% of control groups",
        remedy: "boot a kernel built with CONFIG_PSI with the parameter psi=1",
        look: |m| file(m, "pressure/cpu"),
    },
];

/// `otherwise`, if a tracepoint is missing whose absence loses this.
fn has_tracepoints(m: &Machine, loses: Option<&str>, otherwise: Status) -> (Status, String) {
    let wanted = tracepoints_of_the_ledger(loses);
    let types = match &m.types {
        Ok(types) => types,
        Err(why) => return (otherwise, why.clone()),
    };
    let absent: Vec<_> =
        wanted.iter().filter(|name| !types.has_tracepoint(name)).copied().collect();
    if absent.is_empty() {
        (Available, wanted.join(", "))
    } else {
        (otherwise, format!("not in the kernel's types: {}", absent.join(", ")))
    }
}

/// fentry programs need this function of the kernel, and the function that they are attached to.
fn unthrottle(m: &Machine) -> (Status, String) {
    let symbols = match m.proc("kallsyms") {
        Ok(symbols) => symbols,
        Err(why) => return (Degraded, why),
    };
    let has = |name: &str| symbols.lines().any(|l| l.split_whitespace().nth(2) == Some(name));
    for name in ["register_ftrace_direct", "unthrottle_cfs_rq"] {
        if !has(name) {
            return (Degraded, format!("no {name} in /proc/kallsyms"));
        }
    }
    (Available, "fentry on unthrottle_cfs_rq".into())
}

fn bpf_permission(m: &Machine) -> (Status, String) {
    let mask = match m.effective_capabilities() {
        Ok(mask) => mask,
        Err(why) => return (Missing, why),
    };
    const NAMES: [(u32, &str); 3] = [(21, "CAP_SYS_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];
    let held: Vec<_> =
        NAMES.iter().filter(|(bit, _)| mask & (1 << bit) != 0).map(|(_, name)| *name).collect();
    let mut found = if held.is_empty() { "no capability".into() } else { held.join(", ") };
    if let Ok(level) = m.proc("sys/kernel/unprivileged_bpf_disabled") {
        found += &format!("; kernel.unprivileged_bpf_disabled = {}", level.trim());
    }
    // A capability in another user namespace holds for that namespace, not for the kernel.
    if let Ok(number) = m.namespace("user") {
        if number != INITIAL_USER_NAMESPACE {
            return (Missing, format!("{found}; but in a user namespace of its own ({number})"));
        }
    }
    let enough = held.contains(&"CAP_SYS_ADMIN")
        || (held.contains(&"CAP_BPF") && held.contains(&"CAP_PERFMON"));
    (if enough { Available } else { Missing }, found)
}

fn namespace(m: &Machine, kind: &str, initial: u64) -> (Status, String) {
    match m.namespace(kind) {
        Ok(number) if number == initial => (Available, "the initial namespace".into()),
        Ok(number) => (Missing, format!("namespace {number}, not the initial one ({initial})")),
        Err(why) => (Missing, why),
    }
}

/// The present mode stands in brackets (Documentation/ABI, kernel_lockdown(7)).
fn lockdown(m: &Machine) -> (Status, String) {
    const SECURITYFS: &str = "kernel/security";
    match m.sys("kernel/security/lockdown") {
        Ok(modes) if modes.contains("[confidentiality]") => (Degraded, modes.trim().into()),
        Ok(modes) => (Available, modes.trim().into()),
        Err(why) if m.sys_is_empty(SECURITYFS) => {
            (Degraded, format!("{why}: unknown, because securityfs is not mounted there"))
        }
        Err(why) => (Available, format!("{why}: no lockdown in this kernel")),
    }
}

fn memlock(m: &Machine) -> (Status, String) {
    let limit = m.proc("self/limits").ok().and_then(|limits| {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
        line.split_whitespace().next().map(String::from)
    });
    let is_unlimited = limit.as_deref() == Some("unlimited");
    let found = match limit {
        Some(limit) if is_unlimited => limit,
        Some(limit) => format!("{limit} bytes"),
        None => "limit unknown".into(),
    };
    match m.version() {
        Ok((version, _)) if version >= NO_MEMLOCK => {
            (Available, format!("{found}; not counted for BPF in this kernel"))
        }
        _ if is_unlimited => (Available, found),
        _ => (Degraded, found),
    }
}

fn steal(m: &Machine) -> (Status, String) {
    match &m.types {
        Ok(types) if types.has("prev_steal_time_rq") => (Available, "rq.prev_steal_time_rq".into()),
        Ok(_) => (Degraded, "no rq.prev_steal_time_rq in the kernel's types".into()),
        Err(why) => (Degraded, why.clone()),
    }
}

fn cgroup_cpu(m: &Machine) -> (Status, String) {
    let v2 = m.sys("fs/cgroup/cgroup.controllers");
    if v2.is_ok_and(|controllers| controllers.split_whitespace().any(|c| c == "cpu")) {
        return (Available, "cgroup v2 at /sys/fs/cgroup".into());
    }
    let mountinfo = match m.mountinfo() {
        Ok(mountinfo) => mountinfo,
        Err(why) => return (Missing, why),
    };
    match v1_mount(&mountinfo, "cpu") {
        Some(mount) => (Degraded, format!("cgroup v1 at {}", mount.point)),
        None => (Missing, "no hierarchy with the cpu controller".into()),
    }
}

/// Checks if /proc hides other users' processes from this process (proc(5), hidepid).
fn hidepid(m: &Machine) -> (Status, String) {
    const CAP_SYS_PTRACE: u64 = 1 << 19;
    let mountinfo = match m.mountinfo() {
        Ok(mountinfo) => mountinfo,
        Err(why) => return (Missing, why),
    };
    match hiding(&mountinfo) {
        None => (Available, "nothing hidden".into()),
        Some(option) if m.effective_capabilities().is_ok_and(|c| c & CAP_SYS_PTRACE != 0) => {
            (Available, format!("{option}, but CAP_SYS_PTRACE sees everyone"))
        }
        Some(option) => (Degraded, option.into()),
    }
}

/// The mount option by which /proc hides processes, if it has one.
pub(super) fn hiding(mountinfo: &str) -> Option<&str> {
    let mount = mounts(mountinfo).filter(|m| m.kind == "proc" && m.point == "/proc").last()?;
    let option = mount.options.split(',').find(|option| option.starts_with("hidepid="))?;
    (!matches!(option, "hidepid=0" | "hidepid=off")).then_some(option)
}

/// Checks that a file exists and can be read; some files exist and refuse (PSI switched off).
fn file(m: &Machine, path: &str) -> (Status, String) {
    match m.proc(path) {
        Ok(_) => (Available, format!("/proc/{path}")),
        Err(why) => (Missing, why),
    }
}

/// Checks that a sysctl is not 0.
fn switch(m: &Machine, path: &str) -> (Status, String) {
    match m.proc(path) {
        Ok(value) if value.trim() == "0" => (Degraded, "switched off".into()),
        Ok(value) => (Available, format!("switched on ({})", value.trim())),
        Err(why) => (Missing, why),
    }
}
