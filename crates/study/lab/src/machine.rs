//! Facts of the machine on which a scheduler's figures depend.

use exactop_cgroups::{Hierarchy, Version};
use serde::{Deserialize, Serialize};
use std::fs;

/// A machine; `None` marks an unknown fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct MachineFacts {
    pub kernel: Option<String>,
    /// CFS or EEVDF, from the kernel's version (EEVDF since 6.6); sched_ext if active.
    pub scheduler: Option<String>,
    /// Ticks per second, if the kernel's configuration is readable.
    pub hz: Option<String>,
    pub base_slice_ns: Option<u64>,
    /// True if each session is its own scheduling group.
    pub autogroup: Option<bool>,
    pub cpus: usize,
    /// The CPU of trials on one CPU.
    pub lab_cpu: usize,
    pub siblings: Option<String>,
    /// Model of the CPU.
    pub model: Option<String>,
    /// The hypervisor, on a virtual machine.
    pub hypervisor: Option<String>,
    /// The cpufreq governor.
    pub governor: Option<String>,
    /// This process's group in the cpu hierarchy.
    pub cgroup: Option<String>,
    pub cgroup_version: Option<String>,
    pub cgroup_weight: Option<u64>,
    /// Idle driver and preemption model, if known.
    pub preemption: Option<String>,
}

impl MachineFacts {
    /// Reads the facts of this machine.
    pub fn read(cpus: usize, lab_cpu: usize) -> MachineFacts {
        let kernel = text("/proc/sys/kernel/osrelease");
        let hierarchy = Hierarchy::of_this_machine().ok();
        let cpu = |file: &str| text(&format!("/sys/devices/system/cpu/cpu{lab_cpu}/{file}"));
        MachineFacts {
            scheduler: kernel.as_deref().and_then(scheduler),
            hz: configured("CONFIG_HZ="),
            base_slice_ns: text("/sys/kernel/debug/sched/base_slice_ns")
                .and_then(|t| t.parse().ok()),
            autogroup: text("/proc/sys/kernel/sched_autogroup_enabled").map(|t| t != "0"),
            cpus,
            lab_cpu,
            siblings: cpu("topology/thread_siblings_list"),
            model: cpuinfo("model name"),
            hypervisor: hypervisor(),
            governor: cpu("cpufreq/scaling_governor"),
            cgroup: hierarchy.as_ref().map(|h| h.own.display().to_string()),
            cgroup_version: hierarchy.as_ref().map(|h| match h.version {
                Version::V1 => "v1".into(),
                Version::V2 => "v2".into(),
            }),
            cgroup_weight: hierarchy.as_ref().and_then(|h| h.weight(&h.own_directory())),
            preemption: text("/sys/kernel/debug/sched/preempt"),
            kernel,
        }
    }

    /// Names and values; `-` for unknown.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let shown = |value: &Option<String>| value.clone().unwrap_or("-".into());
        let number = |value: Option<u64>| value.map_or("-".into(), |n| n.to_string());
        vec![
            ("kernel", shown(&self.kernel)),
            ("scheduler", shown(&self.scheduler)),
            ("HZ", shown(&self.hz)),
            ("base slice, ns", number(self.base_slice_ns)),
            ("preemption", shown(&self.preemption)),
            (
                "autogroup",
                self.autogroup.map_or("-".into(), |on| if on { "on" } else { "off" }.into()),
            ),
            ("CPUs", self.cpus.to_string()),
            ("the lab's CPU", self.lab_cpu.to_string()),
            ("its siblings", shown(&self.siblings)),
            ("CPU model", shown(&self.model)),
            ("hypervisor", shown(&self.hypervisor)),
            ("governor", shown(&self.governor)),
            ("cgroup", shown(&self.cgroup)),
            ("cgroup version", shown(&self.cgroup_version)),
            ("its weight", number(self.cgroup_weight)),
        ]
    }
}

fn text(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

fn scheduler(release: &str) -> Option<String> {
    if text("/sys/kernel/sched_ext/state").is_some_and(|state| state == "enabled") {
        let which = text("/sys/kernel/sched_ext/root/ops");
        return Some(format!("sched_ext {}", which.unwrap_or_default()).trim().into());
    }
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(if version >= (6, 6) { "EEVDF" } else { "CFS" }.into())
}

fn cpuinfo(field: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

fn hypervisor() -> Option<String> {
    let flags = cpuinfo("flags")?;
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return Some("none".into());
    }
    let vendor = text("/sys/class/dmi/id/sys_vendor").or_else(|| text("/sys/hypervisor/type"));
    Some(vendor.unwrap_or("some".into()))
}

/// A line of the kernel's configuration, if it is readable as text.
fn configured(name: &str) -> Option<String> {
    let release = text("/proc/sys/kernel/osrelease")?;
    let text = fs::read_to_string(format!("/boot/config-{release}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(String::from)
}
