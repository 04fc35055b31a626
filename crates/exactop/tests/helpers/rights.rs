//! The rights that docs/explanation/security.md lists for a command, and those that a process has.

use exactop_testkit::wait;
use std::fs;

const DOCUMENT: &str = include_str!("../../../../docs/explanation/security.md");

/// Names and numbers of linux/capability.h.
const NAMES: [(&str, u32); 8] = [
    ("DAC_OVERRIDE", 1),
    ("KILL", 5),
    ("NET_ADMIN", 12),
    ("SYS_PTRACE", 19),
    ("SYS_ADMIN", 21),
    ("SYS_NICE", 23),
    ("PERFMON", 38),
    ("BPF", 39),
];

/// Capabilities in force, and those that are only permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub effective: u64,
    pub permitted: u64,
}

/// The documented rights of a command with a source, as far as this process has them.
pub fn documented(command: &str, source: &str) -> Capabilities {
    let cells = |name: &str| -> Vec<String> {
        let row = DOCUMENT.lines().find(|l| l.starts_with("| ") && first(l).contains(name));
        let row =
            row.unwrap_or_else(|| panic!("docs/explanation/security.md has no row of {name}"));
        row.split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let row = cells(command);
    let mut effective = mask(&row[2]);
    if row[2].contains("by source") {
        effective |= mask(&cells(source)[2]);
    }
    let own = of("self").permitted;
    Capabilities { effective: effective & own, permitted: (effective | mask(&row[3])) & own }
}

fn first(row: &str) -> &str {
    row.split('|').nth(1).unwrap_or_else(|| panic!("{row} is no row"))
}

fn mask(text: &str) -> u64 {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let bit = |word: &str| NAMES.iter().find(|(name, _)| *name == word).map(|(_, bit)| 1 << bit);
    words.filter_map(bit).sum()
}

/// The rights of a process, or of a thread of it (`PID/task/TID`).
pub fn of(process: &str) -> Capabilities {
    let hexadecimal = |name| u64::from_str_radix(&field(process, name), 16).expect("hexadecimal");
    Capabilities { effective: hexadecimal("CapEff:"), permitted: hexadecimal("CapPrm:") }
}

/// Waits until the process has threads of these names: a thread takes its name after its start.
pub fn await_threads(pid: &str, names: &[&str]) {
    let has = |name: &str| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
        let mut told = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        told.any(|told| told.trim_end() == name)
    };
    for name in names {
        wait::until(&format!("a thread {name}"), || has(name));
    }
}

/// Checks that no thread of a process has more, and that no program that it starts gets more.
/// Returns the names of the threads.
pub fn each_thread_has(pid: &str, expected: Capabilities) -> Vec<String> {
    let is_root = rustix::process::geteuid().is_root();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
    let statuses = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    let mut threads = Vec::new();
    for status in statuses {
        let name = line(&status, "Name:");
        let set = |set: &str| u64::from_str_radix(&line(&status, set), 16).expect("hexadecimal");
        let beyond = |caps: u64| caps & !expected.permitted;
        assert_eq!(beyond(set("CapPrm:") | set("CapEff:")), 0, "thread {name} has more");
        assert_eq!(set("CapInh:"), 0, "thread {name}");
        // Only a process with SETPCAP can remove it.
        assert!(!is_root || beyond(set("CapBnd:")) == 0, "thread {name} can get more");
        assert_eq!(line(&status, "NoNewPrivs:"), "1", "thread {name}");
        assert_eq!(line(&status, "Seccomp:"), "2", "thread {name}");
        threads.push(name);
    }
    threads
}

/// A line of its status file.
pub fn field(process: &str, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a status file");
    line(&status, name)
}

fn line(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("such a line");
    line.trim().to_string()
}
