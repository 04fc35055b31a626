//! The beginning: programs are attached one after the other while everything runs, and the first
//! window must close all the same.

use crate::books::Books;
use exactop_lab::workloads::{ForkStorm, PipePingPong};
use exactop_sources::ledger::Options;
use std::time::Duration;

#[test]
fn first_windows_close_under_load() {
    let Some(_machine) = crate::machine() else { return };
    let _storm = ForkStorm::start(1).expect("a fork storm");
    let _pipes = PipePingPong::start(40).expect("ping-pong");
    // Ours alone, after the loads inherited the old one.
    let _ = rustix::process::setpriority_process(None, -19);
    let times = if crate::emulated() { 3 } else { 20 };
    let mut faults = Vec::new();
    for time in 0..times {
        let mut books = Books::open(&Options::default());
        for n in 0..3 {
            let window = books.window(Duration::from_millis(10 + n * 15));
            assert!(window.cpus.iter().any(|c| c.time.switches > Some(0)), "nothing happened");
            let wrong = books.faults(&window);
            faults.extend(wrong.into_iter().map(|f| format!("attach {time}, window {n}: {f}")));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
