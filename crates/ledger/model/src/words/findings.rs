//! Findings as text, the same in every view: a sentence, and the figures that it rests on. Names
//! are escaped.

use super::units::{self, duration, thousands};
use crate::blame::{rows::OTHER_USERS, Culprit};
use crate::findings::{least_unnamed, SHORT_LIFE_NS, SHORT_LIVED, STOLEN, THROTTLED, WAITED};
use crate::findings::{Behind, CulpritOwner, Finding, FindingKind, ShortLived, Throttled, Waited};
use crate::text::escape::escape;

/// The finding in one line; `window_ns` is the length of the window.
pub fn sentence(finding: &Finding, window_ns: u64) -> String {
    let tilde = if finding.sampled { "~" } else { "" };
    let cpus = |ns: u64| format!("{tilde}{:.2}", ns as f64 / window_ns.max(1) as f64);
    let percent = |part_ns, all_ns| format!("{tilde}{}", percent(part_ns, all_ns));
    match &finding.what {
        FindingKind::Throttled(group) => {
            let lost = percent(group.throttle_ns, group.wanted_ns());
            let got = match group.allowed_cpus {
                Some(allowed) => format!("may use {allowed:.2} CPUs"),
                None => format!("got {} CPUs", cpus(group.run_ns)),
            };
            format!("throttled: {} {got}, lost {lost} waiting for its quota", named(group))
        }
        FindingKind::Waited(program) => {
            let Waited { comm, processes, lat_ns, .. } = program;
            let many = match processes {
                0 | 1 => String::new(),
                n => format!(" × {}", thousands(*n)),
            };
            if !program.culprits.is_empty() {
                let parts: Vec<String> = program.culprits.iter().map(behind).collect();
                let waited = duration(*lat_ns);
                return format!("{comm}{many} waited {tilde}{waited}: {}", parts.join(", "));
            }
            let waited = percent(*lat_ns, program.wanted_ns());
            format!("{comm}{many}: {waited} waiting for a CPU")
        }
        FindingKind::ShortLived(lives) => short_lived(lives, tilde),
        FindingKind::Stolen { steal_ns, busy_ns } => {
            let others = cpus(*steal_ns);
            let stolen = percent(*steal_ns, *busy_ns);
            format!("steal {stolen}: the hypervisor took {others} CPUs")
        }
        FindingKind::Unnamed { unnamed_ns, used_ns, source } => {
            let why = match source.sees_exits() {
                true => String::new(),
                false => format!(": the source {} sees no exits", source.name()),
            };
            format!("{} of the CPU time used is unnamed{why}", percent(*unnamed_ns, *used_ns))
        }
        FindingKind::Residual { residual_ns } => {
            format!(
                "residual {}: the accounts do not add up to the CPUs' time",
                signed(*residual_ns)
            )
        }
        FindingKind::Missed(errors) => {
            let kinds: Vec<String> = errors
                .nonzero()
                .map(|(kind, n)| format!("{} {}", kind.short(), thousands(n)))
                .collect();
            format!("missed and not repaired: {}", kinds.join(", "))
        }
    }
}

/// A culprit with its part of the waits: `71 % behind batch (cgroup /batch.slice)`.
pub fn behind(of: &Behind) -> String {
    let part = format!("{:.0} %", 100.0 * of.part);
    match &of.who {
        CulpritOwner::Program(comm, Some(path)) => {
            format!("{part} behind {comm} (cgroup {})", escape(path))
        }
        CulpritOwner::Program(comm, None) | CulpritOwner::Kernel(comm) => {
            format!("{part} behind {comm}")
        }
        CulpritOwner::Own => format!("{part} own threads"),
        CulpritOwner::Other(Culprit::Hidden) => format!("{part} behind {OTHER_USERS}"),
        CulpritOwner::Other(Culprit::Idle) => format!("{part} on CPUs that woke up"),
        CulpritOwner::Other(Culprit::Brief) => format!("{part} short waits"),
        CulpritOwner::Other(Culprit::Interrupts) => format!("{part} interrupts"),
        CulpritOwner::Other(Culprit::Steal) => format!("{part} steal"),
        CulpritOwner::Other(_) => format!("{part} unknown"),
    }
}

/// Path of the group, or a task's name if the path was not read.
fn named(group: &Throttled) -> String {
    match &group.path {
        Some(path) => escape(path),
        None => format!("the group of {}", group.comm),
    }
}

/// Short enough for 80 columns; the mean life is in [`evidence`].
fn short_lived(lives: &ShortLived, tilde: &str) -> String {
    let ShortLived { all_ns, used_ns, comm, under, processes, run_ns, .. } = lives;
    let under = under.map_or(String::new(), |parent| format!(" under {parent}"));
    // The named processes have all of it, except for rounding.
    let others = if run_ns * 10 >= all_ns * 9 { "" } else { ", and others" };
    format!(
        "{tilde}{} in processes that lived < {} ms: {comm} × {}{under}{others}",
        percent(*all_ns, *used_ns),
        SHORT_LIFE_NS / 1_000_000,
        thousands(*processes),
    )
}

/// The figures that a finding rests on, and its threshold.
pub fn evidence(finding: &Finding) -> String {
    let tilde = if finding.sampled { "~" } else { "" };
    let duration = |ns| format!("{tilde}{}", duration(ns));
    let told = |what: &str, least: f64| format!("threshold {:.0} % {what}", 100.0 * least);
    let of_wanted = |run_ns, lat_ns, throttle_ns, least| {
        let [ran, waited, throttled] = [run_ns, lat_ns, throttle_ns].map(duration);
        let told = told("of the time it could run", least);
        format!("ran {ran} · waited for a CPU {waited} · throttled {throttled} · {told}")
    };
    match &finding.what {
        FindingKind::Throttled(group) => {
            let Throttled { run_ns, lat_ns, throttle_ns, worst, comm, .. } = group;
            let figures = of_wanted(*run_ns, *lat_ns, *throttle_ns, THROTTLED);
            let who = worst.map_or("(exited)".into(), |key| key.tgid.to_string());
            let below = match group.groups_below {
                0 => String::new(),
                1 => " · in a group below it".into(),
                n => format!(" · in {n} groups below it"),
            };
            format!("{figures}{below} · most of it {comm} {who}")
        }
        FindingKind::Waited(program) => {
            let Waited { run_ns, lat_ns, throttle_ns, .. } = program;
            of_wanted(*run_ns, *lat_ns, *throttle_ns, WAITED)
        }
        FindingKind::ShortLived(lives) => format!(
            "all used {} of {} · {} used {} and lived {} on average · short is below {} · {}",
            duration(lives.all_ns),
            duration(lives.used_ns),
            lives.comm,
            duration(lives.run_ns),
            duration(lives.mean_life_ns),
            units::duration(SHORT_LIFE_NS),
            told("of the CPU time used", SHORT_LIVED),
        ),
        FindingKind::Stolen { steal_ns, busy_ns } => format!(
            "stolen {} of {} of busy CPU time · {}",
            duration(*steal_ns),
            duration(*busy_ns),
            told("of that", STOLEN),
        ),
        FindingKind::Unnamed { unnamed_ns, used_ns, source } => {
            let least = least_unnamed(*source);
            let (unnamed, used) = (duration(*unnamed_ns), duration(*used_ns));
            format!("unnamed {unnamed} of {used} · {}", told("of that", least))
        }
        FindingKind::Residual { residual_ns } => {
            format!("residual {} · threshold 1 ns", signed(*residual_ns))
        }
        FindingKind::Missed(errors) => {
            let meaning: Vec<&str> = errors.nonzero().map(|(kind, _)| kind.meaning()).collect();
            meaning.join(" ")
        }
    }
}

fn percent(part_ns: u64, all_ns: u64) -> String {
    format!("{:.0} %", 100.0 * part_ns as f64 / all_ns.max(1) as f64)
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}
