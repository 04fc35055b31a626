//! `exactop run` beside a program that leaves tens of thousands of zombies, with which a user can
//! use up a ledger's slots. It is a test program of its own, because other tests cannot run beside
//! it.
#![cfg(feature = "bpf")]

#[path = "helpers/mod.rs"]
mod helpers;

use exactop_testkit::wait;
use exactop_workloads::workloads::{Crowd, CrowdOf};
use helpers::run::{run, without_ledger};
use serde_json::Value;
use std::path::Path;

fn processes() -> usize {
    let is_pid = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let names = std::fs::read_dir("/proc").expect("proc(5)").flatten();
    names.filter(|entry| entry.file_name().to_str().is_some_and(is_pid)).count()
}

/// Sum of times(1p) of a shell, such as "0m1.250s 0m0.030s".
fn seconds(line: &str) -> f64 {
    let of = |word: &str| {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    line.split(' ').map(|word| of(word).unwrap_or_else(|| panic!("{line}"))).sum()
}

/// The zombies take most PIDs of the kernel, so that others could not fork beside them.
mod alone {
    use super::*;

    #[test]
    fn nothing_is_lost_beside_twenty_thousand_zombies() {
        if without_ledger() {
            return;
        }
        let max = std::fs::read_to_string("/proc/sys/kernel/pid_max").expect("proc_sys_kernel(5)");
        if max.trim().parse().is_ok_and(|max: u32| max < 30_000) {
            eprintln!("left out: kernel.pid_max is {}: no room for 20,000 zombies", max.trim());
            return;
        }
        let zombies = Crowd::start(CrowdOf::Zombies, 20_000).expect("zombies");
        wait::until("20,000 processes", || processes() >= 20_000);
        let report = tempfile::NamedTempFile::new().expect("a file");
        let path = |path: &Path| path.to_str().expect("UTF-8").to_string();
        // Short and long lives, and the shell's own count of their use.
        let script =
            "for i in $(seq 60); do bash -c 'for ((j = 0; j < 20000; j++)); do :; done'; done
                      for i in 1 2 3; do bash -c 'for ((j = 0; j < 600000; j++)); do :; done'; done
                      times";
        let done = run(&["run", "-q", "--json", &path(report.path()), "--", "bash", "-c", script]);
        let there = processes();
        drop(zombies);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let said: f64 = done.out.lines().map(seconds).sum();
        let text = std::fs::read_to_string(report.path()).expect("the report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let counted = report["cpu_ns"].as_u64().expect("its CPU time") as f64 / 1e9;
        let exited = report["tree"]["exited"].as_array().expect("names");
        let exited_processes: u64 = exited.iter().filter_map(|e| e["processes"].as_u64()).sum();
        println!(
            "{said} s by themselves, {counted} s by exactop, of {exited_processes}; {there} there"
        );
        // The shell, seq, and 63 more; a kernel that hides switches loses the names of a few.
        assert!((63..=65).contains(&exited_processes), "{exited:?}");
        // exactop also counts the time before exec, and the time that the kernel's clock leaves
        // out.
        assert!((counted - said).abs() < said / 50.0 + 0.1, "{counted} {said}");
    }
}
