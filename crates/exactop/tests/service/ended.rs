//! Tasks that end between the windows that a reader joins, from a source that sees no exits.

use crate::daemon::{Daemon, Looking};
use crate::helpers::processes::first_line;
use crate::helpers::run::alone;
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const NAME: &str = "joined-worker";

/// Runs a shell of this file until it ends. Returns its CPU time as it prints it (times(2)), ns.
fn work(shell: &Path) -> u64 {
    let line = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; times";
    let worker = Command::new(shell).args(["-c", line]).stdout(Stdio::piped()).spawn();
    let mut worker = worker.expect("a shell");
    let said = first_line(worker.stdout.take());
    assert!(worker.wait().expect("an end").success());
    // `0m1.234000s 0m0.010000s`
    let ns = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').expect("minutes");
        let seconds = seconds.parse::<f64>().expect("seconds");
        (minutes.parse::<f64>().expect("minutes") * 60.0 + seconds) * 1e9
    };
    said.split_whitespace().map(ns).sum::<f64>() as u64
}

/// Run time of the rows of the worker in a list of a window, ns.
fn ran(window: &Value, list: &str, is_it: impl Fn(&Value) -> bool) -> u64 {
    let rows = window[list].as_array().expect("rows").iter().filter(|row| is_it(row));
    rows.map(|row| row["run_ns"].as_u64().expect("ns")).sum()
}

#[test]
fn a_task_that_ends_between_joined_windows_of_procfs_keeps_its_time() {
    let Some(_alone) = alone() else { return };
    let daemon = Daemon::start(&["--source", "procfs", "-d", "0.2"]);
    let shell = daemon.path().join(NAME);
    fs::copy("/bin/sh", &shell).expect("a copy");
    let reader = Looking::start(&daemon, "joined", &["-d", "2"]);
    wait::until("a window", || reader.count() > 0);
    let own: u64 = (0..6).map(|_| work(&shell)).sum();
    let count = reader.count();
    wait::until("the windows of their end", || reader.count() > count + 1);
    let is_worker = |row: &Value| row["comm"] == NAME;
    let (mut living, mut ended) = (0, 0);
    for window in reader.stop() {
        living += ran(&window, "tasks", is_worker);
        ended += ran(&window, "exited", is_worker);
        let exited_ns = ran(&window, "exited", |_| true);
        let of_books = window["books"]["exited_ns"].as_u64();
        assert_eq!(of_books.unwrap_or(0), exited_ns, "{}", window["books"]);
        assert_eq!(of_books.is_none(), exited_ns == 0, "unknown is not zero");
    }
    println!("{own} ns by their own count; {living} living, {ended} after their end");
    assert!(ended > 0, "six ended between ten looks of a window");
    // What a worker uses after the last look is in no row.
    assert!(living + ended >= own / 4, "{living} {ended} of {own}");
    assert!(living + ended <= own + own / 4, "{living} {ended} of {own}");
}
