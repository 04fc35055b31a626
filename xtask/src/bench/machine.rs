//! The machine of the figures, and how idle it was.

use super::running::first_line;
use super::{cpu_time, peers};
use serde_json::{json, Value};
use std::fs;
use std::time::Duration;

const BUSY: &str = "busy before we began";

/// The facts that identify a run.
pub struct Machine {
    facts: Vec<(&'static str, String)>,
}

/// Reads the machine's facts; takes two seconds, in which no tool runs.
pub fn read() -> Machine {
    let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let os = field(&os, "PRETTY_NAME", '=').trim_matches('"').to_string();
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let mut facts = vec![
        ("date", first_line("date", &["+%Y-%m-%d %H:%M %z"])),
        ("kernel", first_line("uname", &["-srm"])),
        ("system", os),
        ("CPUs", format!("{count} x {}", field(&cpus, "model name", ':'))),
        ("virtual machine", first_line("systemd-detect-virt", &[])),
        (BUSY, others()),
        ("load average", first_line("cut", &["-d ", "-f1-3", "/proc/loadavg"])),
    ];
    facts.extend(peers::versions());
    facts.retain(|(_, value)| !value.is_empty());
    Machine { facts }
}

impl Machine {
    #[cfg(test)]
    pub fn of(facts: Vec<(&'static str, String)>) -> Machine {
        Machine { facts }
    }

    /// The table of the page: the machine in one row for each fact, then two tools in each row.
    pub fn table(&self) -> String {
        let fact =
            |name: &str| self.facts.iter().find(|(fact, _)| *fact == name).map(|(_, v)| v.as_str());
        let mut rows: Vec<(String, String)> = Vec::new();
        for name in ["date", "kernel"] {
            rows.extend(fact(name).map(|value| (name.into(), value.into())));
        }
        let virtual_machine = fact("virtual machine").is_some_and(|name| name != "none");
        let machine = if virtual_machine { ", a virtual machine" } else { "" };
        rows.extend(fact("system").map(|system| ("system".into(), format!("{system}{machine}"))));
        let busy = match fact(BUSY).and_then(|text| text.split(' ').next()) {
            Some("0") => ", idle before the run".into(),
            Some(percent) => format!(", {percent} % busy before the run"),
            None => String::new(),
        };
        rows.extend(
            fact("CPUs")
                .map(|cpus| ("CPUs".into(), format!("{}{busy}", cpus.replacen(" x ", " × ", 1)))),
        );
        let tools: Vec<(&str, String)> = peers::names()
            .filter_map(|tool| Some((tool, short_version(tool, fact(tool)?)?)))
            .collect();
        for pair in tools.chunks(2) {
            let names: Vec<&str> = pair.iter().map(|(name, _)| *name).collect();
            let versions: Vec<&str> = pair.iter().map(|(_, version)| version.as_str()).collect();
            rows.push((names.join(", "), versions.join(", ")));
        }
        let rows = rows.into_iter().map(|(name, value)| format!("| {name} | {value} |\n"));
        "| | |\n|---|---|\n".to_string() + &rows.collect::<String>()
    }

    /// The facts as JSON.
    pub fn json(&self) -> Value {
        self.facts.iter().map(|(name, value)| ((*name).to_string(), json!(value))).collect()
    }
}

fn others() -> String {
    let Ok(before) = cpu_time::of_machine() else { return String::new() };
    std::thread::sleep(Duration::from_secs(2));
    let Ok(after) = cpu_time::of_machine() else { return String::new() };
    let total = (after.total - before.total).max(1) as f64;
    let share = |now: u64, then: u64| 100.0 * (now - then) as f64 / total;
    format!(
        "{:.0} % of all CPUs, {:.0} % stolen",
        share(after.busy, before.busy),
        share(after.steal, before.steal)
    )
}

fn field<'t>(text: &'t str, name: &str, separator: char) -> &'t str {
    let pairs = text.lines().filter_map(|line| line.split_once(separator));
    pairs.into_iter().find(|(key, _)| key.trim() == name).map_or("", |(_, value)| value.trim())
}

/// Number of processes and threads born since boot (proc_stat(5)).
pub fn births() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("processes "))?;
    line.trim().parse().ok()
}

/// The number in what a tool prints as its version, after the package's name if that is another; `None` if the
/// tool is not installed.
fn short_version(tool: &str, text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let before = words[..at].iter().rev();
    let package = before.copied().find(|word| !["version", "Version:"].contains(word));
    Some(match package {
        Some(package) if package != tool => format!("{package} {}", words[at]),
        _ => words[at].into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tools_share_a_row_of_the_machine_s_table() {
        let machine = Machine::of(vec![
            ("date", "2026-11-23 15:43 +0000".into()),
            ("system", "Debian".into()),
            ("CPUs", "2 x AMD EPYC".into()),
            ("virtual machine", "kvm".into()),
            (BUSY, "0 % of all CPUs, 0 % stolen".into()),
            ("top", "top from procps-ng 4.0.2".into()),
            ("htop", "htop 3.2.2".into()),
            ("atop", "Version: 2.8.1 - 2023/01/07 14:27:57     <a@example.org>".into()),
            ("pidstat", "sysstat version 12.6.1".into()),
            ("perf", "perf version 6.1.192".into()),
            ("below", "missing".into()),
        ]);
        assert_eq!(
            machine.table(),
            "| | |\n|---|---|\n| date | 2026-11-23 15:43 +0000 |\n| system | Debian, a virtual machine |\n\
             | CPUs | 2 × AMD EPYC, idle before the run |\n| top, htop | procps-ng 4.0.2, 3.2.2 |\n\
             | atop, pidstat | 2.8.1, sysstat 12.6.1 |\n| perf | 6.1.192 |\n"
        );
    }
}
