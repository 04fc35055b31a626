//! A run's report: in words, in POSIX format, in GNU time's letters, as JSON.

pub mod gnu;
pub mod repeat;
mod slowest;

use exactop_model::frame::WindowState;
use exactop_model::run::{RunGroup, RunReport, Tree};
use exactop_model::text::escape::{escape_str, harmless};
use exactop_model::words::plural::{counted, things};
use exactop_model::words::units::{duration, size, thousands};
use exactop_model::Counter;
use serde_json::{json, Value};

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// A group that used less CPU time is not compared with the ledger. The kernel updates a group's
/// clock a little late at each switch, which is a large part of so little time.
const COMPARED_NS: u64 = 100_000_000;

/// Most names of exited processes in the report.
const NAMES: usize = 6;

/// The states under prstat's names, in its order.
const STATES: [(&str, Counter); 12] = [
    ("USR", Counter::UserNs),
    ("SYS", Counter::SystemNs),
    ("STL", Counter::StealNs),
    ("TFL", Counter::TextFaultNs),
    ("DFL", Counter::DataFaultNs),
    ("LCK", Counter::LockNs),
    ("SLP", Counter::SleepNs),
    ("BLK", Counter::BlockNs),
    ("LAT", Counter::LatNs),
    ("THR", Counter::ThrottleNs),
    ("STP", Counter::StopNs),
    ("IRQ", Counter::IrqNs),
];

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A time with as many digits as make sense: microseconds below 10 ms.
fn short(ns: u64) -> String {
    match ns {
        1..10_000_000 => format!("{:.6}", seconds(ns)),
        0..10_000_000_000 => format!("{:.3}", seconds(ns)),
        _ => format!("{:.2}", seconds(ns)),
    }
}

/// The report in POSIX format (time(1p), -p).
pub fn posix(report: &RunReport) -> String {
    let (user, system) = report.user_system_ns();
    format!(
        "real {:.2}\nuser {:.2}\nsys {:.2}\n",
        seconds(report.elapsed_ns),
        seconds(user),
        seconds(system)
    )
}

/// Text for people.
pub fn text(report: &RunReport) -> String {
    let nameless = report.tree.as_ref().ok().and_then(nameless);
    let mut lines: Vec<String> =
        nameless.map(|what| named("NOT ALL OF IT", what)).into_iter().collect();
    lines.push(times(report));
    match &report.tree {
        Ok(tree) => lines.extend(tree_lines(report, tree)),
        Err(why) => {
            lines.push(usage(report));
            lines.push(named(
                "not known",
                format!(
                    "microstates, exited processes, processes that no parent waited for: {}",
                    harmless(why)
                ),
            ));
        }
    }
    if let Some(group) = &report.group {
        lines.extend(group_lines(report, group));
    }
    lines.iter().map(|line| line.clone() + "\n").collect()
}

fn named(name: &str, text: String) -> String {
    format!("{name:<21} {text}")
}

fn times(report: &RunReport) -> String {
    let (user, system) = report.user_system_ns();
    let cpu = report.cpu_ns();
    let percent = 100.0 * cpu as f64 / report.elapsed_ns.max(1) as f64;
    let exact = report.tree.as_ref().is_ok_and(|tree| tree.exact_split_ns().is_some());
    let tilde = if exact { "" } else { "~" };
    let processes = match &report.tree {
        Ok(tree) => {
            let exited = tree.processes();
            let living = match tree.living {
                0 => String::new(),
                1 => ", 1 thread lives on".into(),
                n => format!(", {} threads live on", thousands(n)),
            };
            format!("   {} {} exited{living}", thousands(exited), things(exited, "process"))
        }
        Err(_) => String::new(),
    };
    format!(
        "elapsed {} s   cpu {} s ({percent:.1} %)   user {tilde}{}   system {tilde}{}{processes}",
        short(report.elapsed_ns),
        short(cpu),
        short(user),
        short(system),
    )
}

fn resident(report: &RunReport) -> String {
    match report.max_resident_kib() {
        Some(kib) => size(kib * 1024),
        // Before its exec the command has exactop's memory, and the kernel counts it as the
        // command's.
        None => format!("- (under exactop's own {})", size(report.resident_floor_kib * 1024)),
    }
}

fn usage(report: &RunReport) -> String {
    let usage = &report.rusage;
    named(
        "of reaped children",
        format!(
            "max resident {}   faults {} minor {} major   switches {} voluntary {} involuntary",
            resident(report),
            thousands(usage.minor_faults),
            thousands(usage.major_faults),
            thousands(usage.vcx),
            thousands(usage.icx),
        ),
    )
}

fn tree_lines(report: &RunReport, tree: &Tree) -> Vec<String> {
    let of = |c| tree.delta.get(c);
    let count = |c| of(c).map_or("-".into(), thousands);
    let share = |ns: u64| format!("{:.1}", 100.0 * ns as f64 / tree.life_ns.max(1) as f64);
    let (user, system) = report.user_system_ns();
    let tilde = if tree.exact_split_ns().is_some() { "" } else { "~" };
    let states = STATES.iter().filter_map(|&(name, counter)| {
        let (mark, ns) = match counter {
            Counter::UserNs => (tilde, Some(user)),
            Counter::SystemNs => (tilde, Some(system)),
            other => ("", of(other)),
        };
        let ns = ns.filter(|&ns| ns > 0)?;
        Some(format!("{mark}{name} {}", share(ns)))
    });
    let mut lines = vec![
        named("time of all threads", states.collect::<Vec<_>>().join("  ")),
        named(
            "counts",
            format!(
                "max resident {}   faults {} minor {} major   switches {} voluntary {} involuntary",
                resident(report),
                count(Counter::MinorFaults),
                count(Counter::MajorFaults),
                count(Counter::Vcx),
                count(Counter::Icx),
            ),
        ),
        named("waited", waited(tree)),
    ];
    lines.extend(ran_on(tree));
    lines.extend(exited(tree));
    lines.extend(slowest::lines(tree));
    lines.push(exactness(tree));
    lines
}

/// Unnamed time of tasks without a slot, which may belong to the run. Every report prints it first.
pub fn nameless(tree: &Tree) -> Option<String> {
    tree.nameless().map(|(tasks, ns)| without_place(tasks, ns))
}

fn without_place(tasks: u64, ns: u64) -> String {
    format!("{}   tables full {} times", without_name(ns), thousands(tasks))
}

fn without_name(ns: u64) -> String {
    format!("{} s of the machine's CPU time without a name, perhaps its", short(ns))
}

/// The run's exactness: missed switches, and the number of the machine's tasks that were repaired.
/// Details and the audit against the kernel's own counts are only in JSON.
fn exactness(tree: &Tree) -> String {
    let state = if tree.exact { tree.state } else { WindowState::Inexact };
    let mut text = vec![match tree.missed_switches {
        Some(missed) => format!("missed switches {}", thousands(missed)),
        None => "missed switches - (the kernel has no such count)".into(),
    }];
    let inexact = tree.errors.nonzero().filter(|(kind, _)| kind.inexact());
    text.extend(inexact.map(|(kind, count)| format!("{} {}", kind.short(), thousands(count))));
    if tree.residual_ns > 0 {
        text.push(format!("the books do not close: {} are missing", duration(tree.residual_ns)));
    }
    if tree.late_tasks > 0 {
        let tasks = thousands(tree.late_tasks);
        text.push(format!("{tasks} of its threads seen late: what they did before is not in it"));
    }
    if let Some(tasks) = tree.repaired.tasks.filter(|&tasks| tasks > 0) {
        let tasks = format!("{} {}", thousands(tasks), things(tasks, "task"));
        text.push(format!("{tasks} of the machine repaired"));
    }
    // Time of tasks without a slot is printed first instead.
    if tree.unnamed_ns > 0 && tree.nameless().is_none() {
        text.push(without_name(tree.unnamed_ns));
    }
    named(state.name(), text.join("   "))
}

fn waited(tree: &Tree) -> String {
    let of = |c| tree.delta.get(c).map_or("-".into(), |ns| format!("{} s", short(ns)));
    format!(
        "{} for a CPU (LAT)   {} for a new quota (THR)",
        of(Counter::LatNs),
        of(Counter::ThrottleNs)
    )
}

fn ran_on(tree: &Tree) -> Option<String> {
    let total: u64 = tree.cpus.iter().flat_map(|cpus| cpus.values()).sum();
    let share = |(cpu, ns): (&u32, &u64)| {
        format!("cpu{cpu} {:.1} %", 100.0 * *ns as f64 / total.max(1) as f64)
    };
    let shares: Vec<String> = tree.cpus.iter().flatten().map(share).collect();
    let migrations = tree
        .delta
        .get(Counter::Migrations)
        .map_or("- migrations".into(), |n| format!("{} {}", thousands(n), things(n, "migration")));
    let text = format!("{}   {migrations}", shares.join("  "));
    (!shares.is_empty()).then(|| named("ran on", text))
}

fn exited(tree: &Tree) -> Option<String> {
    let mut names: Vec<_> = tree.exited.iter().filter(|(_, e)| e.processes > 0).collect();
    names.sort_by_key(|(comm, e)| (std::cmp::Reverse(e.run_ns), **comm));
    let shown = names
        .iter()
        .take(NAMES)
        .map(|(comm, e)| format!("{comm} × {}  {} s", thousands(e.processes), short(e.run_ns)));
    let mut text = shown.collect::<Vec<_>>().join(" · ");
    if names.len() > NAMES {
        text += &format!(" · {}", counted((names.len() - NAMES) as u64, "more name"));
    }
    (!names.is_empty()).then(|| named("exited", text))
}

fn group_lines(report: &RunReport, group: &RunGroup) -> Vec<String> {
    let mut lines = Vec::new();
    let stat = &group.stat;
    if let (Ok(tree), Some(allowed)) = (&report.tree, group.allowed_cpus) {
        let wanted = tree.wanted_ns() as f64 / report.elapsed_ns.max(1) as f64;
        let periods = match (stat.nr_throttled, stat.nr_periods) {
            (Some(throttled), Some(periods)) => {
                format!("throttled in {throttled} of {}", counted(periods, "period"))
            }
            _ => "periods not known".into(),
        };
        let throttled = tree.delta.get(Counter::ThrottleNs);
        let throttled = throttled.map_or("-".into(), |ns| format!("{:.2} s", seconds(ns)));
        lines.push(named(
            "quota",
            format!(
                "asked for {wanted:.2} CPUs, allowed {allowed:.2}: {periods}, {throttled} of \
                 thread time"
            ),
        ));
    }
    let known = |ns: Option<u64>| ns.map_or("-".into(), |ns| format!("{} s", short(ns)));
    let mut text = format!(
        "usage {}   user {}   system {}   throttled {}",
        known(stat.usage_ns),
        known(stat.user_ns),
        known(stat.system_ns),
        known(stat.throttled_ns)
    );
    let compared = stat.usage_ns.filter(|&usage| group.own && usage >= COMPARED_NS);
    if let (Ok(tree), Some(usage)) = (&report.tree, compared) {
        let apart = tree.run_ns().abs_diff(usage) as f64 / usage as f64;
        text += &format!("   ledger {} s ({:.2} % apart)", short(tree.run_ns()), 100.0 * apart);
    }
    lines.push(named("cpu.stat", text));
    lines
}

/// One JSON object.
pub fn json(report: &RunReport) -> Value {
    let (user_ns, system_ns) = report.user_system_ns();
    let usage = &report.rusage;
    json!({
        "schema": { "name": "exactop.run", "version": SCHEMA },
        "command": report.command,
        "exit_status": report.end.status(),
        "elapsed_ns": report.elapsed_ns,
        "cpu_ns": report.cpu_ns(),
        "user_ns": user_ns,
        "system_ns": system_ns,
        "split_is_exact": report.tree.as_ref().is_ok_and(|t| t.exact_split_ns().is_some()),
        "max_resident_kib": report.max_resident_kib(),
        "waited_for": {
            "user_ns": usage.user_ns,
            "system_ns": usage.system_ns,
            "max_resident_kib": usage.max_resident_kib,
            "minor_faults": usage.minor_faults,
            "major_faults": usage.major_faults,
            "blocks_in": usage.blocks_in,
            "blocks_out": usage.blocks_out,
            "vcx": usage.vcx,
            "icx": usage.icx,
        },
        "tree": report.tree.as_ref().ok().map(tree_json),
        "tree_missing": report.tree.as_ref().err(),
        "cgroup": report.group.as_ref().map(group_json),
    })
}

fn tree_json(tree: &Tree) -> Value {
    let counters: serde_json::Map<String, Value> =
        Counter::ALL.iter().map(|&c| (c.info().id.into(), tree.delta.get(c).into())).collect();
    let exited: Vec<Value> = tree
        .exited
        .iter()
        .map(|(comm, e)| {
            json!({ "comm": comm.to_string(), "processes": e.processes, "run_ns": e.run_ns })
        })
        .collect();
    let errors: serde_json::Map<String, Value> =
        tree.errors.nonzero().map(|(kind, n)| (kind.id().into(), n.into())).collect();
    let cpus: Option<Vec<Value>> = tree
        .cpus
        .as_ref()
        .map(|cpus| cpus.iter().map(|(cpu, ns)| json!({ "cpu": cpu, "run_ns": ns })).collect());
    json!({
        "life_ns": tree.life_ns,
        "counters": counters,
        "exited": exited,
        "slowest": slowest::json(tree),
        "slowest_lost": tree.slowest.as_ref().ok().map(|slowest| slowest.lost),
        "slowest_missing": tree.slowest.as_ref().err(),
        "cpus": cpus,
        "living_threads": tree.living,
        "exact": tree.exact,
        "state": tree.state.name(),
        "missed_switches": tree.missed_switches,
        "repaired": crate::json::repaired(&tree.repaired),
        "audit": crate::json::audit(&tree.audit),
        "errors": errors,
        "unnamed_ns": tree.unnamed_ns,
        "residual_ns": tree.residual_ns,
        "late_threads": tree.late_tasks,
    })
}

fn group_json(group: &RunGroup) -> Value {
    let stat = &group.stat;
    json!({
        "path": escape_str(&group.path),
        "own": group.own,
        "allowed_cpus": group.allowed_cpus,
        "usage_ns": stat.usage_ns,
        "user_ns": stat.user_ns,
        "system_ns": stat.system_ns,
        "nr_periods": stat.nr_periods,
        "nr_throttled": stat.nr_throttled,
        "throttled_ns": stat.throttled_ns,
    })
}

#[cfg(test)]
mod tests;
