//! Disk I/O of rows, compared with the bytes that a worker gets and with the kernel's own file.

use crate::helpers::processes::{until_stuck, Load};
use crate::helpers::run::command;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const PIECE: usize = 256 << 10;
const PIECES: u32 = 100;

/// `write_bytes` of /proc/PID/io (proc_pid_io(5)).
fn written(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).expect("of a child");
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).expect("a count")
}

fn ns(window: &Value, key: &str) -> u64 {
    window["window"][key].as_u64().expect("a time")
}

/// Bytes of a window.
fn written_bytes(window: &Value, pid: u32) -> f64 {
    let rows = window["tasks"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["pid"] == pid).expect("a row");
    let rate = row["write_rate"].as_f64().expect("it was looked at before");
    rate * (ns(window, "t1_ns") - ns(window, "t0_ns")) as f64 / 1e9
}

#[test]
fn a_row_shows_the_bytes_that_its_worker_writes() {
    // A file in memory is on no disk.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let file = format!("of={}", dir.path().join("out").display());
    let mut dd = Command::new("dd");
    dd.args(["bs=256k", "iflag=fullblock", "oflag=dsync", &file]);
    let mut dd = Load::start(dd.stdin(Stdio::piped()).stderr(Stdio::null()));
    let (mut pipe, pid) = (dd.0.stdin.take().expect("a pipe"), dd.pid());
    let text = pid.to_string();
    let words = ["--json", "-d", "0.5", "-p", &text, "--source", "procfs"];
    let mut exactop = command(&[&words[..], &["--columns", "pid,write_rate"]].concat());
    let mut exactop = Load(exactop.stdout(Stdio::piped()).spawn().expect("it starts"));
    let lines = BufReader::new(exactop.0.stdout.take().expect("a pipe")).lines();
    let mut windows =
        lines.map(|line| -> Value { serde_json::from_str(&line.expect("UTF-8")).expect("JSON") });
    // The end of the first window reads the worker's I/O, and the worker writes nothing before.
    windows.next().expect("a window");
    let before = written(pid);
    for _ in 0..PIECES {
        pipe.write_all(&[1; PIECE]).expect("dd takes it");
        // Over several windows.
        std::thread::sleep(Duration::from_millis(20));
    }
    until_stuck("dd without more to write", pid);
    let (of_kernel, ended_ns) = (written(pid) - before, exactop_service::now_ns());
    if of_kernel == 0 {
        return eprintln!("left out: the build's directory is on no disk");
    }
    let (mut all, mut is_over) = (0.0, false);
    while !is_over {
        let window = windows.next().expect("a window");
        is_over = ns(&window, "t0_ns") > ended_ns;
        all += written_bytes(&window, pid);
    }
    // Compared with all written bytes. Rates use the times of reading, which on a busy machine are
    // not exactly a window apart.
    let part = all / of_kernel as f64;
    assert!((0.5..2.0).contains(&part), "{all} of {of_kernel}");
}
