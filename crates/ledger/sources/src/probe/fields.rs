//! The table of kernel fields that not all kernels have: what the BPF programs do without each, and
//! what is lost. All other fields of bpf/kernel.h exist in every kernel from 6.1 to the newest
//! tested one. If one of those is missing or does not fit, the kernel refuses the program, and
//! doctor names both.

use super::machine::Machine;
use super::Status::{Available, Degraded};
use super::{Capability, Status};
use crate::btf::Members;

pub(super) struct Field {
    /// Its structure.
    pub of: &'static str,
    pub name: &'static str,
    /// The kernels that have it, or how it differs between kernels.
    pub kernels: &'static str,
    /// What the programs do without it.
    pub instead: &'static str,
    /// What exactop cannot show without it; `None`: nothing.
    pub loses: Option<&'static str>,
}

pub(super) const FIELDS: [Field; 26] = [
    Field {
        of: "task_struct",
        name: "on_cpu",
        kernels: "an int in 6.x, a byte in 7.3: read by its size",
        instead: "no task counts as being on a CPU",
        loses: Some(
            "the source snapshot lacks the running tasks' time since the kernel's last count",
        ),
    },
    Field {
        of: "task_struct",
        name: "on_rq",
        kernels: "all: signed, so read by its size",
        instead: "every woken task counts as still in its run queue",
        loses: Some("LAT between the begin and the end of the wake-up"),
    },
    Field {
        of: "task_struct",
        name: "in_user_fault",
        kernels: "with CONFIG_MEMCG, from 6.11 on CONFIG_MEMCG_V1",
        instead: "a task that sleeps in the kernel outside of a system call counts as in a page fault",
        loses: None,
    },
    Field {
        of: "task_struct",
        name: "throttled",
        kernels: "6.18, with CONFIG_CFS_BANDWIDTH",
        instead: "cfs_rq.throttle_count",
        loses: None,
    },
    Field {
        of: "cfs_rq",
        name: "throttle_count",
        kernels: "with CONFIG_CFS_BANDWIDTH",
        instead: "no task is throttled, because there are no quotas",
        loses: Some("THR: waits for a new quota count as LAT"),
    },
    Field {
        of: "cfs_rq",
        name: "throttled_clock_pelt_time",
        kernels: "with CONFIG_CFS_BANDWIDTH; from 6.18 on not needed",
        instead: "a task whose quota is used up while it is queued counts as waiting",
        loses: None,
    },
    Field {
        of: "cpuset",
        name: "effective_cpus",
        kernels: "with CONFIG_CPUSETS",
        instead: "no cpuset keeps a task from an idle CPU",
        loses: None,
    },
    Field {
        of: "sched_entity",
        name: "cfs_rq",
        kernels: "with CONFIG_FAIR_GROUP_SCHED",
        instead: "no run queue is read",
        loses: Some(
            "THR, steal per task, the CPU in the source snapshot, the witness of switches, and the audit \
             of run times and of LAT",
        ),
    },
    Field {
        of: "rq",
        name: "prev_steal_time_rq",
        kernels: "with CONFIG_PARAVIRT_TIME_ACCOUNTING",
        instead: "no steal per task; see the line on steal",
        loses: None,
    },
    Field {
        of: "rq",
        name: "nr_switches",
        kernels: "all",
        instead: "no CPU's switches are compared with the kernel's count",
        loses: Some("the check that no switch was missed: missed_switches is unknown"),
    },
    Field {
        of: "rq",
        name: "online",
        kernels: "all: signed, so read by its size",
        instead: "no CPU counts as going offline",
        loses: Some("the cause hotplug for moves of sleeping tasks"),
    },
    Field {
        of: "rq",
        name: "curr",
        kernels: "all",
        instead: "no CPU counts as idle after a task left it",
        loses: Some("moves that did not pay because the old CPU was idle"),
    },
    Field {
        of: "rq",
        name: "fair_server",
        kernels: "6.12",
        instead: "exec_start is the time of the kernel's last count for a task that goes to sleep",
        loses: None,
    },
    Field {
        of: "sched_info",
        name: "run_delay",
        kernels: "with CONFIG_SCHED_INFO",
        instead: "a task with an unseen wake-up counts as asleep until it ran",
        loses: Some("LAT after wake-ups and switches that the kernel did not show, and its audit"),
    },
    Field {
        of: "sched_entity",
        name: "sched_delayed",
        kernels: "6.12",
        instead: "a task that sleeps is in no run queue",
        loses: None,
    },
    Field {
        of: "task_struct",
        name: "softirq_disable_cnt",
        kernels: "with CONFIG_PREEMPT_RT",
        instead: "a switch in an interrupt means that the interrupt's end was not seen",
        loses: None,
    },
    Field {
        of: "sched_info",
        name: "last_queued",
        kernels: "with CONFIG_SCHED_INFO",
        instead: "an unseen wake-up gets the time at which the task ran",
        loses: Some("LAT after wake-ups that the kernel did not show, and the audit of LAT"),
    },
    Field {
        of: "sched_info",
        name: "last_arrival",
        kernels: "with CONFIG_SCHED_INFO",
        instead: "an unseen switch gets the time of the next event",
        loses: Some("the time of context switches that the kernel did not show"),
    },
    Field {
        of: "thread_info",
        name: "status",
        kernels: "x86",
        instead: "every system call counts as a 64-bit one",
        loses: None,
    },
    Field {
        of: "thread_info",
        name: "cpu",
        kernels: "5.16",
        instead: "task_struct.cpu",
        loses: None,
    },
    Field {
        of: "bpf_local_storage_map",
        name: "storage_ma",
        kernels: "6.4 to 6.18; later ones have one of the next two",
        instead: "a task with an unseen birth stays unnamed",
        loses: Some("names of tasks that the kernel did not show when they were born"),
    },
    Field {
        of: "bpf_local_storage_map",
        name: "use_kmalloc_nolock",
        kernels: "6.19",
        instead: "bpf_local_storage_map.storage_ma",
        loses: None,
    },
    Field {
        of: "bpf_local_storage",
        name: "mem_charge",
        kernels: "7.x",
        instead: "bpf_local_storage_map.storage_ma",
        loses: None,
    },
    Field {
        of: "task_struct",
        name: "static_prio",
        kernels: "all: signed, so read by its size",
        instead: "nothing: the kernel refuses the program",
        loses: None,
    },
    Field {
        of: "sched_dl_entity",
        name: "dl_throttled",
        kernels: "all: a bit among others, so read by its size",
        instead: "nothing: the kernel refuses the program",
        loses: None,
    },
    Field {
        of: "task_struct",
        name: "prio",
        kernels: "all: signed, so read by its size",
        instead: "nothing: the kernel refuses the program",
        loses: None,
    },
];

/// Fields that replace each other in different kernels: one of them is enough.
const AS_GOOD: [(&str, &[(&str, &str)]); 1] = [(
    "storage_ma",
    &[("bpf_local_storage_map", "use_kmalloc_nolock"), ("bpf_local_storage", "mem_charge")],
)];

/// The capability of the fields that this kernel has, by its type information.
pub(super) fn capability(machine: &Machine) -> Capability {
    let (status, found, lost) = match &machine.members {
        Ok(members) => look(members),
        Err(why) => (Degraded, why.clone(), vec!["unknown".into()]),
    };
    let there = status == Available;
    Capability {
        id: "fields",
        what: "the kernel's fields that differ between kernels",
        status,
        vital: false,
        found,
        loses: lost.join("; "),
        remedy: if there { String::new() } else { "use a kernel that has them".into() },
    }
}

fn look(members: &Members) -> (Status, String, Vec<String>) {
    let telling = || FIELDS.iter().filter(|field| field.loses.is_some());
    let found = |field: &Field| {
        let other = AS_GOOD.iter().filter(|(name, _)| *name == field.name).flat_map(|(_, by)| *by);
        let mut all = std::iter::once((field.of, field.name)).chain(other.copied());
        all.find(|(of, name)| members.has(of, name)).map(|(_, name)| name)
    };
    let absent: Vec<&Field> = telling().filter(|field| found(field).is_none()).collect();
    if absent.is_empty() {
        let names: Vec<&str> = telling().filter_map(found).collect();
        return (Available, names.join(", "), Vec::new());
    }
    let told = |field: &&Field| {
        format!("no {}.{} ({}): {}", field.of, field.name, field.kernels, field.instead)
    };
    let lost = absent.iter().filter_map(|field| field.loses).map(String::from).collect();
    (Degraded, absent.iter().map(told).collect::<Vec<_>>().join("; "), lost)
}

/// The fields of the kernel's count of switches on a CPU.
const OF_THE_WITNESS: [(&str, &str); 2] = [("sched_entity", "cfs_rq"), ("rq", "nr_switches")];

/// Checks that the kernel's count of switches can be compared with the seen switches.
pub(super) fn witness(machine: &Machine) -> (Status, String) {
    let members = match &machine.members {
        Ok(members) => members,
        Err(why) => return (Degraded, why.clone()),
    };
    let told = |(of, name): &(&str, &str)| format!("{of}.{name}");
    let absent = OF_THE_WITNESS.iter().filter(|(of, name)| !members.has(of, name));
    let absent: Vec<String> = absent.map(told).collect();
    match absent.is_empty() {
        true => (Available, OF_THE_WITNESS.iter().map(told).collect::<Vec<_>>().join(", ")),
        false => (Degraded, format!("not in the kernel's types: {}", absent.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::FIELDS;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn files(dir: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// The last name in a macro's argument, up to a closing parenthesis or a comma.
    fn field_of(text: &str) -> &str {
        let end = text.find([')', ',']).unwrap_or(text.len());
        let (path, rest) = text.split_at(end);
        // `((struct rq *)0)->field)`: the field follows the parentheses.
        match rest.split_once("->").filter(|_| path.starts_with("((struct")) {
            Some((_, field)) => last_of(field.split(')').next().unwrap_or_default()),
            None => last_of(path),
        }
    }

    fn last_of(path: &str) -> &str {
        path.rsplit(['.', '>']).next().unwrap_or_default()
    }

    #[test]
    fn every_field_that_a_program_does_without_is_in_the_table() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../bpf");
        let mut read = BTreeSet::new();
        for path in files(&dir) {
            // The definitions of the macros name no field.
            let text = fs::read_to_string(&path).unwrap();
            let text = text.lines().filter(|line| !line.contains("(structure")).collect::<String>();
            for known in text.split("bpf_core_field_exists(").skip(1) {
                read.insert(field_of(known).to_string());
            }
            // Signed fields, whose size may shrink.
            let or = text.split("field_or(").skip(1);
            for by_size in or.chain(text.split("field_by_size(").skip(1)) {
                let field = by_size.split([',', ')']).nth(1).unwrap_or_default();
                read.insert(field.trim().to_string());
            }
        }
        let table: BTreeSet<String> = FIELDS.iter().map(|field| field.name.to_string()).collect();
        assert_eq!(read, table, "in bpf/ and in probe/fields.rs");
    }
}
