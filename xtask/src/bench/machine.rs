//! The machine of the figures, and how idle it was.

use super::running::first_line;
use super::{cpu_time, peers, table::Table};
use serde_json::{json, Value};
use std::fs;
use std::time::Duration;

/// Facts that identify a run.
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
        ("busy before we began", others()),
        ("load average", first_line("cut", &["-d ", "-f1-3", "/proc/loadavg"])),
    ];
    facts.extend(peers::versions());
    facts.retain(|(_, value)| !value.is_empty());
    Machine { facts }
}

impl Machine {
    /// The facts as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["", ""]);
        for (name, value) in &self.facts {
            table.row([(*name).to_string(), value.clone()]);
        }
        table
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
