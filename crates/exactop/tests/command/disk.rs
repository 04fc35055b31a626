//! Disk I/O of rows, held against a worker that counts what it is given and the kernel's own file.

use crate::helpers::processes::Load;
use crate::helpers::run::{done, program};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PIECE: usize = 256 << 10;
const WINDOWS: &str = "6";

/// `write_bytes` of /proc/PID/io (proc_pid_io(5)).
fn written(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).expect("of a child");
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).expect("a count")
}

/// Bytes that the windows after the first tell.
fn told(out: &str, pid: u32) -> f64 {
    let windows = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let bytes = windows.filter_map(|object| {
        let ns = |key: &str| object["window"][key].as_u64().expect("a time");
        let rows = object["tasks"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["pid"] == pid)?;
        Some(row["write_rate"].as_f64()? * (ns("t1_ns") - ns("t0_ns")) as f64 / 1e9)
    });
    bytes.sum()
}

#[test]
fn what_a_worker_writes_is_what_its_row_has() {
    // A file in memory is on no disk.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let file = format!("of={}", dir.path().join("out").display());
    let mut dd = Command::new("dd");
    dd.args(["bs=256k", "iflag=fullblock", "oflag=dsync", &file]);
    let mut dd = Load::start(dd.stdin(Stdio::piped()).stderr(Stdio::null()));
    let (mut pipe, pid) = (dd.0.stdin.take().expect("a pipe"), dd.pid());
    let ends = AtomicBool::new(false);
    let (text, of_kernel) = std::thread::scope(|threads| {
        threads.spawn(|| {
            while !ends.load(Ordering::Relaxed) && pipe.write_all(&[1; PIECE]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let before = written(pid);
        let mut exactop = Command::new(program());
        exactop.args(["--json", "-n", WINDOWS, "-d", "0.5", "-p", &pid.to_string()]);
        exactop.args(["--source", "procfs", "--columns", "pid,write_rate"]);
        let text = done(exactop).fine();
        let of_kernel = written(pid) - before;
        ends.store(true, Ordering::Relaxed);
        (text, of_kernel)
    });
    if of_kernel == 0 {
        return eprintln!("left out: the build's directory is on no disk");
    }
    let told = told(&text, pid);
    // All but what came before the first look and after the last.
    let all = of_kernel as f64;
    assert!((0.3 * all..1.2 * all).contains(&told), "{told} of {all}: {text}");
}
