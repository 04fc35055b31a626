//! `exactop load`: workloads to look at, run by the command itself.

use crate::run::{command, run};
use exactop_lab::procs::{stat_field, thread_count};
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn herd(args: &[&str]) -> Value {
    let done = run(&[&["load", "herd", "--duration", "0.5", "--json"], args].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("stops after 0.5 s"), "{}", done.err);
    serde_json::from_str(&done.out).expect("JSON")
}

fn count(object: &Value, key: &str) -> u64 {
    object[key].as_u64().unwrap_or_else(|| panic!("{key}: {object}"))
}

#[test]
fn a_herd_serves_what_it_accepts_and_stops_by_itself() {
    for wake in ["all", "one"] {
        let done = herd(&["--threads", "20", "--wake", wake, "--rate", "500"]);
        assert_eq!(done["wake"], wake);
        assert_eq!(done["client"]["failed"], 0, "{done}");
        assert!(count(&done, "served") > 0, "{done}");
        assert_eq!(count(&done, "served"), count(&done, "accepted"), "{done}");
        assert!(count(&done, "server_cpu_ns") > 0, "{done}");
        let many = count(&done, "wakeups") > 3 * count(&done, "accepted");
        assert_eq!(many, wake == "all", "{done}");
    }
}

#[test]
fn an_interrupted_herd_says_what_it_did_and_leaves_nothing() {
    let mut command = command(&["load", "herd", "--wake", "one", "--threads", "5", "--rate", "50"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
    let pid = child.id();
    let patience = Instant::now() + Duration::from_secs(30);
    while thread_count(pid) != Some(6) || client_of(pid).is_none() {
        assert!(Instant::now() < patience, "no herd");
        std::thread::sleep(Duration::from_millis(10));
    }
    let client = client_of(pid).expect("the client");
    let sent = Command::new("kill").args(["-s", "INT", &pid.to_string()]).status();
    assert!(sent.expect("kill(1)").success());
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert!(text.starts_with("herd         5 workers, each connection wakes one"), "{text}");
    assert!(text.contains("\nwake-ups     ") && text.contains("\nserver's CPU "), "{text}");
    assert_eq!(stat_field(client, 4), None, "the client lives on");
}

/// The child of a process that is named as the client is.
fn client_of(pid: u32) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_client = |pid: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name == "herd-client\n")
    };
    pids.filter(|&child| stat_field(child, 4) == Some(pid.into())).find(is_client)
}

#[test]
fn a_herd_that_cannot_be_is_refused() {
    for (args, words) in [
        (&["--wake", "none"][..], "all, one"),
        (&["--wake", "one", "--rate", "0"], "more than 0"),
        (&["--wake", "one", "--rate", "-1"], "more than 0"),
        (&["--wake", "one", "--rate", "nan"], "more than 0"),
        (&["--wake", "one", "--duration", "0"], "more than 0"),
        (&["--wake", "one", "--threads", "x"], "'x'"),
        (&[], "--wake"),
    ] {
        let done = run(&[&["load", "herd"], args].concat());
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{args:?}: {}", done.err);
        assert_eq!(done.err.lines().count(), 1, "{args:?}: {}", done.err);
        assert!(done.err.contains(words), "{args:?}: {}", done.err);
    }
    assert_eq!(run(&["load"]).code, Some(2));
}
