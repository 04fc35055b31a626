//! Loads whose program ends without dropping them.

use exactop_testkit::wait;
use exactop_workloads::procs::group_members;
use exactop_workloads::workloads::{ExecThreads, ForkStorm, Sleepers, StopContinue};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Set for the copy of this test program that is killed.
const VICTIM: &str = "EXACTOP_WORKLOADS_TEST_VICTIM";

#[test]
fn loads_end_when_their_program_is_killed() {
    if std::env::var_os(VICTIM).is_some() {
        be_the_victim();
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "survival::loads_end_when_their_program_is_killed", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let groups = lines.map(Result::unwrap).find_map(|line| {
        let (_, numbers) = line.split_once("victim's loads:")?;
        Some(numbers.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<u32>>())
    });
    let groups = groups.expect("the victim says its loads");
    assert!(groups.iter().all(|group| group_members(*group).len() > 1));
    victim.kill().unwrap();
    victim.wait().unwrap();
    for group in groups {
        wait::until("the load ends", || group_members(group).is_empty());
    }
}

fn be_the_victim() -> ! {
    let storm = ForkStorm::start(1).unwrap();
    let execs = ExecThreads::start(2).unwrap();
    let stops = StopContinue::start(2).unwrap();
    let sleepers = Sleepers::start(50).unwrap();
    let groups = [storm.pid(), execs.pid(), stops.pid(), sleepers.pid()];
    println!("victim's loads: {}", groups.map(|group| group.to_string()).join(" "));
    loop {
        std::thread::park();
    }
}

#[test]
fn a_load_outlives_the_thread_that_started_it() {
    let load = std::thread::spawn(|| Sleepers::start(3).unwrap()).join().unwrap();
    assert_eq!(group_members(load.pid()).len(), 4);
}
