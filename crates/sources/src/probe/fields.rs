//! The one table of the kernel's fields that are not the same everywhere: how the BPF programs do
//! without, and what is lost then. All other fields of bpf/kernel.h are in every kernel from 6.1 to
//! the newest that was tested; where one of them is gone or does not fit, the kernel refuses the
//! program, and doctor names both.

use super::machine::Machine;
use super::Status::{Available, Degraded};
use super::{Capability, Status};
use crate::btf::Names;

/// A field.
pub(super) struct Field {
    /// The structure it is in.
    pub of: &'static str,
    pub name: &'static str,
    /// Where it is, or how it differs.
    pub kernels: &'static str,
    /// What the programs do without it.
    pub instead: &'static str,
    /// What exactop cannot show then; `None`: nothing.
    pub loses: Option<&'static str>,
    /// Nothing else in the kernel is called so, so that its name alone says that it is there.
    pub rare: bool,
}

/// All of them.
pub(super) const FIELDS: [Field; 14] = [
    Field {
        of: "task_struct",
        name: "on_cpu",
        kernels: "an int in 6.x, a byte in 7.3: read by its size",
        instead: "nobody seems to be on a CPU",
        loses: Some(
            "the source snapshot credits nobody with the time since the kernel's last count",
        ),
        rare: true,
    },
    Field {
        of: "task_struct",
        name: "__state",
        kernels: "5.14",
        instead: "task_struct.state",
        loses: None,
        rare: false,
    },
    Field {
        of: "task_struct",
        name: "throttled",
        kernels: "6.18, with CONFIG_CFS_BANDWIDTH",
        instead: "cfs_rq.throttle_count",
        loses: None,
        rare: false,
    },
    Field {
        of: "cfs_rq",
        name: "throttle_count",
        kernels: "with CONFIG_CFS_BANDWIDTH",
        instead: "nobody is throttled, as there are no quotas",
        loses: Some("THR: waits for a new quota count as LAT"),
        rare: true,
    },
    Field {
        of: "sched_entity",
        name: "cfs_rq",
        kernels: "with CONFIG_FAIR_GROUP_SCHED",
        instead: "no run queue is read",
        loses: Some(
            "THR, steal per task, the CPU in the source snapshot, and the witness of switches",
        ),
        rare: false,
    },
    Field {
        of: "rq",
        name: "prev_steal_time_rq",
        kernels: "with CONFIG_PARAVIRT_TIME_ACCOUNTING",
        instead: "no steal per task; a line of its own tells",
        loses: None,
        rare: true,
    },
    Field {
        of: "rq",
        name: "nr_switches",
        kernels: "all",
        instead: "no CPU's switches are held against the kernel's count",
        loses: Some("the witness that no switch was missed: missed_switches is not known"),
        rare: false,
    },
    Field {
        of: "sched_info",
        name: "run_delay",
        kernels: "with CONFIG_SCHED_INFO",
        instead: "a task that runs and whose wake-up was not shown slept until it ran",
        loses: Some("LAT after wake-ups and switches that the kernel did not show"),
        rare: false,
    },
    Field {
        of: "task_struct",
        name: "softirq_disable_cnt",
        kernels: "with CONFIG_PREEMPT_RT",
        instead: "a switch in an interrupt means that its end was not shown",
        loses: None,
        rare: true,
    },
    Field {
        of: "sched_info",
        name: "last_queued",
        kernels: "with CONFIG_SCHED_INFO",
        instead: "a wake-up that was not shown is put at the instant the task ran",
        loses: Some("LAT after wake-ups that the kernel did not show"),
        rare: true,
    },
    Field {
        of: "sched_info",
        name: "last_arrival",
        kernels: "with CONFIG_SCHED_INFO",
        instead: "a switch that was not shown is put at the next event",
        loses: Some("when a task came onto its CPU by a switch that the kernel did not show"),
        rare: true,
    },
    Field {
        of: "thread_info",
        name: "status",
        kernels: "x86",
        instead: "every system call is taken for one of 64 bits",
        loses: None,
        rare: false,
    },
    Field {
        of: "bpf_local_storage_map",
        name: "storage_ma",
        kernels: "6.4",
        instead: "who was not seen at birth stays unnamed",
        loses: Some("names of tasks that the kernel did not show when they were born"),
        rare: true,
    },
    Field {
        of: "task_struct",
        name: "static_prio",
        kernels: "all: signed, so read by its size",
        instead: "nothing: the kernel refuses the program",
        loses: None,
        rare: false,
    },
];

/// Which of them this kernel has, by its type information.
pub(super) fn capability(machine: &Machine) -> Capability {
    let (status, found, lost) = match &machine.types {
        Ok(types) => look(types),
        Err(why) => (Degraded, why.clone(), vec!["all that the BPF programs tell".into()]),
    };
    let there = status == Available;
    Capability {
        id: "fields",
        what: "the kernel's fields that differ between kernels",
        status,
        vital: false,
        found,
        loses: lost.join("; "),
        remedy: if there { String::new() } else { "a kernel that has them".into() },
    }
}

fn look(types: &Names) -> (Status, String, Vec<String>) {
    let absent: Vec<&Field> = FIELDS
        .iter()
        .filter(|field| field.rare && field.loses.is_some() && !types.has(field.name))
        .collect();
    if absent.is_empty() {
        let rare = FIELDS.iter().filter(|field| field.rare && field.loses.is_some());
        let names: Vec<&str> = rare.map(|field| field.name).collect();
        return (Available, names.join(", "), Vec::new());
    }
    let told = |field: &&Field| {
        format!("no {}.{} ({}): {}", field.of, field.name, field.kernels, field.instead)
    };
    let lost = absent.iter().filter_map(|field| field.loses).map(String::from).collect();
    (Degraded, absent.iter().map(told).collect::<Vec<_>>().join("; "), lost)
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

    /// The last name in what a macro is given, up to a closing parenthesis or a comma.
    fn field_of(text: &str) -> &str {
        let end = text.find([')', ',']).unwrap_or(text.len());
        let (path, rest) = text.split_at(end);
        // `((struct rq *)0)->field)`: the field is behind the parentheses.
        match rest.split_once("->").filter(|_| path.starts_with("((struct")) {
            Some((_, field)) => field.split(')').next().unwrap_or_default(),
            None => path.rsplit(['.', '>']).next().unwrap_or_default(),
        }
    }

    #[test]
    fn every_field_that_a_program_does_without_is_in_the_table() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
        let mut read = BTreeSet::new();
        for path in files(&dir) {
            // The macros themselves name none.
            let text = fs::read_to_string(&path).unwrap();
            let text = text.lines().filter(|line| !line.contains("(structure")).collect::<String>();
            for known in text.split("bpf_core_field_exists(").skip(1) {
                read.insert(field_of(known).to_string());
            }
            for by_size in text.split("field_or(").skip(1) {
                let field = by_size.split(',').nth(1).unwrap_or_default();
                read.insert(field.trim().to_string());
            }
        }
        let table: BTreeSet<String> = FIELDS
            .iter()
            .filter(|field| field.name != "static_prio")
            .map(|field| field.name.to_string())
            .collect();
        assert_eq!(read, table, "in bpf/ and in probe/fields.rs");
    }
}
