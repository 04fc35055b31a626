//! The checks on made-up machines.

use super::*;
use crate::{btf, kernel_programs};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

/// BTF with all names that the checks look for, except those that contain this text.
fn types_without(absent: &str) -> Vec<u8> {
    types_without_any(&[absent])
}

fn types_without_any(absent: &[&str]) -> Vec<u8> {
    let is_there = |name: &str| !absent.iter().any(|a| !a.is_empty() && name.contains(a));
    let tracepoints =
        kernel_programs::by_object("ledger").filter_map(|program| program.tracepoint());
    let mut names: Vec<String> = tracepoints.map(|name| format!("btf_trace_{name}")).collect();
    let mut members = fields::FIELDS.map(|field| (field.of, field.name)).to_vec();
    names.retain(|name| is_there(name));
    members.retain(|(_, name)| is_there(name));
    btf::fake(&names.iter().map(String::as_str).collect::<Vec<_>>(), &members)
}

/// A machine with everything; a test removes parts.
struct Fake(TempDir);

impl Fake {
    fn new() -> Fake {
        let fake = Fake(tempfile::tempdir().unwrap());
        fs::create_dir_all(fake.0.path().join("proc/self/ns")).unwrap();
        fake.link("proc/self/ns/pid", "pid:[4026531836]");
        fake.link("proc/self/ns/user", "user:[4026531837]");
        for (path, text) in [
            ("proc/self/status", "Name:\tx\nCapEff:\t000000c000080000\n"),
            ("proc/self/limits", "Max locked memory   8388608   8388608   bytes\n"),
            ("proc/self/mountinfo", "22 27 0:21 / /proc rw,relatime - proc proc rw\n"),
            ("proc/self/schedstat", "1 2 3\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-9-amd64\n"),
            ("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"),
            ("proc/sys/kernel/sched_schedstats", "1\n"),
            ("proc/sys/kernel/task_delayacct", "1\n"),
            ("proc/pressure/cpu", "some avg10=0.00\n"),
            (
                "proc/kallsyms",
                "0000000000000000 T register_ftrace_direct\n0000000000000000 T unthrottle_cfs_rq\n",
            ),
            ("sys/kernel/security/lockdown", "[none] integrity confidentiality\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n"),
        ] {
            fake.write(path, text);
        }
        fake.write("sys/kernel/btf/vmlinux", types_without(""));
        fake
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.0.path().join(path);
        let _ = fs::remove_file(&path);
        symlink(to, path).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.0.path().join(path)).unwrap();
    }

    fn report(&self) -> Report {
        probe_at(&self.0.path().join("proc"), &self.0.path().join("sys"))
    }

    fn status(&self, id: &str) -> (Status, String) {
        let capability = self.report().get(id).cloned().unwrap();
        (capability.status, capability.found)
    }

    /// The checks that keep the ledger from running.
    fn against(&self) -> Vec<&'static str> {
        self.report().against_the_ledger().map(|c| c.id).collect()
    }
}

#[test]
fn a_machine_with_everything_lacks_nothing() {
    let report = Fake::new().report();
    for c in report.capabilities.iter().filter(|c| c.id != "traps") {
        assert_eq!(c.status, Status::Available, "{c:?}");
        assert!(!c.found.is_empty() && c.loses.is_empty() && c.remedy.is_empty(), "{c:?}");
    }
}

#[test]
fn on_an_empty_machine_every_check_says_what_is_lost_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let report = probe_at(dir.path(), dir.path());
    let mut ids = HashSet::new();
    for c in &report.capabilities {
        assert!(ids.insert(c.id), "{} twice", c.id);
        if c.status != Status::Available {
            assert!(!c.found.is_empty() && !c.loses.is_empty() && !c.remedy.is_empty(), "{c:?}");
        }
    }
    assert!(report.against_the_ledger().count() >= 5);
}

#[test]
fn missing_microstates_are_reported() {
    let fake = Fake::new();
    assert_eq!(fake.status("traps").0, Status::Missing, "on every Linux");
    fake.write("proc/kallsyms", "0000000000000000 T unthrottle_cfs_rq\n");
    let no_fentry = "no register_ftrace_direct in /proc/kallsyms".to_string();
    assert_eq!(fake.status("unthrottle"), (Status::Degraded, no_fentry));
    fake.write("sys/kernel/btf/vmlinux", types_without("reschedule"));
    let (status, found) = fake.status("interrupts");
    assert_eq!(status, Status::Degraded);
    assert!(found.contains("reschedule_entry") && !found.contains("softirq_entry"), "{found}");
    assert!(fake.against().is_empty(), "the ledger runs without it");
}

#[test]
fn without_type_information_there_is_no_ledger() {
    let fake = Fake::new();
    fake.write("sys/kernel/btf/vmlinux", "nonsense");
    assert_eq!(fake.against(), ["btf", "tracepoints"]);
    fake.write("sys/kernel/btf/vmlinux", types_without("sched_switch"));
    assert_eq!(fake.against(), ["tracepoints"]);
    assert_eq!(fake.status("tracepoints").1, "not in the kernel's types: sched_switch");
    fake.write("sys/kernel/btf/vmlinux", types_without("prev_steal_time_rq"));
    assert_eq!(fake.status("steal").0, Status::Degraded);
    fake.write("sys/kernel/btf/vmlinux", types_without("cpuhp_exit"));
    assert_eq!(fake.status("cpu_hotplug").0, Status::Degraded);
    assert!(fake.against().is_empty(), "the ledger runs without both");
}

#[test]
fn bpf_needs_both_capabilities_in_the_initial_user_namespace() {
    let fake = Fake::new();
    for (mask, enough) in [
        ("0000000000000000", false),
        ("0000008000000000", false),
        ("000000c000000000", true),
        ("0000000000200000", true),
    ] {
        fake.write("proc/self/status", format!("CapEff:\t{mask}\n"));
        assert_eq!(fake.against().is_empty(), enough, "{mask}");
    }
    fake.link("proc/self/ns/user", "user:[4026532001]");
    assert_eq!(fake.against(), ["bpf_permission"]);
}

#[test]
fn a_container_or_an_old_kernel_has_no_ledger() {
    let fake = Fake::new();
    fake.link("proc/self/ns/pid", "pid:[4026532002]");
    assert_eq!(fake.against(), ["pid_namespace"]);
    let fake = Fake::new();
    fake.write("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n");
    assert_eq!(fake.against(), ["kernel_version"]);
    assert_eq!(fake.status("memlock"), (Status::Degraded, "8388608 bytes".into()));
}

#[test]
fn a_kernel_is_supported_only_if_it_was_tested() {
    let fake = Fake::new();
    let (oldest, (major, newest)) = (version::TESTED[0].1, version::TESTED[4]);
    for (release, expected) in [
        (format!("6.{oldest}.0-9-amd64"), (Status::Available, "6.1.0-9-amd64")),
        (format!("{major}.{newest}.4-amd64"), (Status::Available, "7.3.4-amd64")),
        (format!("{major}.{}.0", newest + 1), (Status::Degraded, "7.4.0, newer than tested (7.3)")),
        ("6.12.117".into(), (Status::Available, "6.12.117")),
        ("6.6.0".into(), (Status::Degraded, "6.6.0, between tested ones (6.1 and 6.12)")),
        ("7.0.0".into(), (Status::Degraded, "7.0.0, between tested ones (6.18 and 7.2)")),
        ("5.15.0".into(), (Status::Degraded, "5.15.0, older than tested (6.1)")),
        ("5.14.0".into(), (Status::Missing, "5.14.0, older than 5.15")),
    ] {
        fake.write("proc/sys/kernel/osrelease", format!("{release}\n"));
        assert_eq!(fake.status("kernel_version"), (expected.0, expected.1.to_string()));
        assert_eq!(fake.against().is_empty(), expected.0 != Status::Missing);
    }
}

#[test]
fn a_missing_field_is_reported_with_what_is_lost() {
    let fake = Fake::new();
    fake.write("sys/kernel/btf/vmlinux", types_without("storage_ma"));
    let report = fake.report();
    let fields = report.get("fields").unwrap();
    assert_eq!(fields.status, Status::Available, "7.x has another: {fields:?}");
    assert!(fields.found.contains("use_kmalloc_nolock"), "{}", fields.found);
    let all = ["storage_ma", "use_kmalloc_nolock", "mem_charge"];
    fake.write("sys/kernel/btf/vmlinux", types_without_any(&all));
    let report = fake.report();
    let fields = report.get("fields").unwrap();
    assert_eq!(fields.status, Status::Degraded);
    assert!(fields.found.contains("bpf_local_storage_map.storage_ma"), "{}", fields.found);
    assert!(!fields.found.contains("on_cpu") && fields.loses.contains("born"), "{fields:?}");
    assert!(fake.against().is_empty(), "the ledger runs without it");
}

#[test]
fn without_the_kernels_count_of_switches_there_is_no_witness() {
    let fake = Fake::new();
    for (gone, lost) in [
        ("nr_switches", "missed_switches"),
        ("cfs_rq", "THR, steal per task"),
        ("run_delay", "LAT after wake-ups"),
    ] {
        fake.write("sys/kernel/btf/vmlinux", types_without(gone));
        let report = fake.report();
        let fields = report.get("fields").unwrap();
        assert_eq!(fields.status, Status::Degraded, "{gone}");
        assert!(fields.loses.contains(lost), "{gone}: {}", fields.loses);
        let witness = report.get("witness").unwrap();
        let has_one = gone == "run_delay";
        assert_eq!(witness.status == Status::Available, has_one, "{gone}: {witness:?}");
        assert!(has_one || witness.found.contains(gone), "{witness:?}");
    }
}

#[test]
fn hidden_processes_matter_without_the_right_to_trace_all() {
    let fake = Fake::new();
    let line = "22 27 0:21 / /proc rw shared:2 - proc proc rw,gid=4,hidepid=invisible\n";
    fake.write("proc/self/mountinfo", line);
    assert_eq!(fake.status("hidepid").0, Status::Available);
    fake.write("proc/self/status", "CapEff:\t0000000000000000\n");
    assert_eq!(fake.status("hidepid"), (Status::Degraded, "hidepid=invisible".into()));
}

#[test]
fn cgroups_of_the_first_version_are_a_poorer_way() {
    let fake = Fake::new();
    fake.remove("sys/fs/cgroup/cgroup.controllers");
    assert_eq!(fake.status("cgroup_cpu").0, Status::Missing);
    fake.write(
        "proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
    );
    assert_eq!(
        fake.status("cgroup_cpu"),
        (Status::Degraded, "cgroup v1 at /sys/fs/cgroup/cpu".into())
    );
}

#[test]
fn sysctls_and_lockdown_are_reported_with_their_value() {
    let fake = Fake::new();
    fake.write("proc/sys/kernel/task_delayacct", "0\n");
    assert_eq!(fake.status("delayacct").0, Status::Degraded);
    fake.write("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    assert_eq!(fake.status("lockdown").0, Status::Degraded);
    fake.remove("sys/kernel/security/lockdown");
    let (status, found) = fake.status("lockdown");
    assert!(status == Status::Degraded && found.contains("securityfs is not mounted"), "{found}");
    fake.write("sys/kernel/security/lsm", "capability");
    let (status, found) = fake.status("lockdown");
    assert!(status == Status::Available && found.contains("no lockdown in this kernel"), "{found}");
    assert!(fake.status("memlock").1.starts_with("8388608 bytes; "));
}

#[test]
fn this_machine_can_be_looked_at() {
    let report = probe();
    assert_eq!(report.get("kernel_version").map(|c| c.id), Some("kernel_version"));
}
