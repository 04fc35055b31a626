//! A process has the name of its main thread, as in /proc, whichever of its threads was active.

use crate::helpers::run::{run, without_ledger};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The process's name in /proc.
fn name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("its name");
    name.trim_end().into()
}

/// This test is a thread with a name of its own. Some kernels hide the main thread of PID 1, and
/// show others.
#[test]
fn a_process_has_the_name_of_its_main_thread() {
    if without_ledger() {
        return;
    }
    let ended = AtomicBool::new(false);
    let out = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let out =
            run(&["--json", "-n", "4", "-d", "0.5", "--source", "ledger", "--columns", "pid,comm"]);
        ended.store(true, Ordering::Relaxed);
        out.fine()
    });
    let (us, mut seen) = (std::process::id(), 0);
    for line in out.lines() {
        let window: Value = serde_json::from_str(line).expect("JSON");
        let tasks = window["tasks"].as_array().expect("rows");
        for row in tasks.iter().filter(|row| row["kind"] == "process") {
            let pid = row["pid"].as_u64().expect("a number") as u32;
            if pid == 1 || pid == us {
                assert_eq!(row["comm"], name(pid), "{row}");
                seen += u32::from(pid == us);
            }
        }
    }
    // The first window may end before a thread of ours has run.
    assert!(seen >= 2, "{seen} rows of this process in {out}");
}
