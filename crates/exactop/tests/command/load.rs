//! `exactop load`: demonstration workloads, run by the command itself.

use crate::helpers::processes::{children, first_line, send, INT};
use crate::helpers::run::{command, run};
use exactop_testkit::wait;
use exactop_workloads::procs::{stat_field, thread_count};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;

fn herd(args: &[&str]) -> Value {
    let done = run(&[&["load", "herd", "--duration", "1.5", "--json"], args].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("stops after 1.5 s"), "{}", done.err);
    serde_json::from_str(&done.out).expect("JSON")
}

fn count(object: &Value, key: &str) -> u64 {
    object[key].as_u64().unwrap_or_else(|| panic!("{key}: {object}"))
}

#[test]
fn a_herd_serves_what_it_accepts_and_stops_by_itself() {
    for wake in ["all", "one"] {
        // Connections are rare enough that all workers sleep again in between, also on a busy
        // machine, which may leave no CPU to the herd all the time.
        let args = ["--threads", "20", "--wake", wake, "--rate", "50"];
        let done = wait::find("a herd that serves", || {
            Some(herd(&args)).filter(|done| count(done, "served") > 0)
        });
        assert_eq!(done["wake"], wake);
        assert_eq!(done["client"]["failed"], 0, "{done}");
        assert_eq!(count(&done, "served"), count(&done, "accepted"), "{done}");
        assert!(count(&done, "server_cpu_ns") > 0, "{done}");
        // A worker that is about to sleep may take a wake-up meant for a sleeping one; then both
        // wake.
        let many = count(&done, "wakeups") > 2 * count(&done, "accepted");
        assert_eq!(many, wake == "all", "{done}");
    }
}

#[test]
fn an_interrupted_herd_prints_its_figures_and_leaves_no_process() {
    let mut command = command(&["load", "herd", "--wake", "one", "--threads", "5", "--rate", "50"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let pid = child.id();
    // It catches signals once it has printed this line.
    assert!(first_line(child.stderr.take()).contains("or at Ctrl-C"));
    wait::until("a herd", || thread_count(pid) == Some(6) && client_of(pid).is_some());
    let client = client_of(pid).expect("the client");
    send(pid, INT);
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert!(text.starts_with("herd         5 workers, each connection wakes one"), "{text}");
    assert!(text.contains("\nwake-ups     ") && text.contains("\nserver's CPU "), "{text}");
    assert_eq!(stat_field(client, 4), None, "the client lives on");
}

/// The child of a process that has the client's name.
fn client_of(pid: u32) -> Option<u32> {
    let is_client = |pid: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name == "herd-client\n")
    };
    children(pid).into_iter().find(is_client)
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
        run(&[&["load", "herd"], args].concat()).refused(2, words);
    }
    assert_eq!(run(&["load"]).code, Some(2));
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn ackermann_is_right_in_any_number_of_threads() {
    for threads in ["single", "per-task", "3"] {
        let args = ["load", "ackermann", "--n", "6", "--twice", "--json", "--threads", threads];
        let answers = lines(&run(&args).fine());
        assert_eq!(answers.len(), 14);
        for answer in &answers {
            let n = count(answer, "n");
            assert_eq!(count(answer, "value"), (1 << (n + 3)) - 3, "{answer}");
            assert_eq!(answer["right"], true);
        }
    }
    let text = run(&["load", "ackermann", "--m", "2", "--n", "3"]).fine();
    assert!(text.starts_with("ackermann(2, 0) = 3 in ") && text.lines().count() == 4, "{text}");
}

#[test]
fn matmul_verifies_what_its_threads_computed() {
    let done =
        lines(&run(&["load", "matmul", "60", "--threads", "3", "--verify", "--json"]).fine());
    assert_eq!(done[0]["event"], "generated");
    assert_eq!((&done[1]["event"], &done[1]["verified"]), (&"multiplied".into(), &true.into()));
    assert!(run(&["load", "matmul", "10"]).fine().contains("multiplied in "));
}

#[test]
fn progress_counts_all_steps_from_one_barrier() {
    let args = ["load", "progress", "--procs", "3", "--steps", "20", "--work", "1000", "--json"];
    let steps = lines(&run(&args).fine());
    let (done, steps) = steps.split_last().expect("an end");
    assert_eq!(steps.len(), 3 * 21);
    assert_eq!((count(done, "procs"), count(done, "loops")), (3, 1000));
    let mut last = 0;
    let mut next = std::collections::BTreeMap::<u64, u64>::new();
    for step in steps {
        let elapsed = count(step, "elapsed_ns");
        assert!(elapsed >= last, "in order of time");
        last = elapsed;
        let expected = next.entry(count(step, "pid")).or_default();
        assert_eq!(count(step, "step"), *expected, "each process counts up");
        *expected += 1;
    }
    assert_eq!((next.len(), count(done, "elapsed_ns")), (3, last));
    let text = run(&["load", "progress", "--steps", "2"]).fine();
    assert!(text.starts_with("elapsed_ns\tpid\tstep\n") && text.contains("latency of "), "{text}");
}

#[test]
fn endless_loads_stop_at_their_duration_and_print_their_figures() {
    for (args, figure) in [
        (&["spin", "--threads", "2"][..], "threads"),
        (&["sleepers", "20"], "processes"),
        (&["spawn", "--procs", "2", "--rate", "100"], "children"),
        (&["pingpong"], "rounds"),
    ] {
        let done = run(&[&["load"], args, &["--duration", "1.2", "--json"]].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.err.contains("stops after 1.2 s"), "{}", done.err);
        let lines = lines(&done.out);
        let events: Vec<&str> = lines.iter().filter_map(|l| l["event"].as_str()).collect();
        assert_eq!(events, ["running", "done"], "{}", done.out);
        assert!(count(&lines[1], figure) > 0, "{}", done.out);
        assert!(count(&lines[1], "elapsed_ns") >= 1_200_000_000, "{}", done.out);
    }
}

#[test]
fn a_thread_is_busy_for_the_given_part() {
    let args = ["load", "spin", "--threads", "1", "--busy", "20", "--duration", "2", "--json"];
    let done = run(&args);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let done = lines(&done.out).pop().expect("a last word");
    let cpu_ns = done["cpu_ns"][0].as_u64().expect("its CPU time");
    let part = cpu_ns as f64 / count(&done, "elapsed_ns") as f64;
    // The share is smaller on a shared machine; a thread without pauses would use all of a CPU.
    assert!(part > 0.0 && part < 0.26, "{part}");
}

#[test]
fn sleepers_are_children_that_go_with_their_parent() {
    let mut command = command(&["load", "sleepers", "30", "--duration", "60"]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("the command starts");
    wait::until("sleepers", || children(child.id()).len() == 30);
    let pids = children(child.id());
    child.kill().expect("killed");
    child.wait().expect("an end");
    let lives = |pid: &u32| stat_field(*pid, 4) == Some(child.id().into());
    wait::until("all are gone", || !pids.iter().any(lives));
}

#[test]
fn loads_that_cannot_be_are_refused() {
    for (args, words) in [
        (&["matmul", "0"][..], "write 1 to 65536"),
        (&["matmul", "65537"], "write 1 to 65536"),
        (&["matmul", "x"], "'x'"),
        (&["matmul"], "<N>"),
        (&["matmul", "10", "--threads", "0"], "from 1"),
        (&["ackermann", "--m", "4"], "0 to 3"),
        (&["ackermann", "--n", "17"], "0 to 16"),
        (&["ackermann", "--threads", "0"], "per-task"),
        (&["progress", "--procs", "0"], "1 to 512"),
        (&["progress", "--work", "0"], "auto"),
        (&["progress", "--steps", "0"], "from 1"),
        (&["spin", "--duration", "0"], "more than 0"),
        (&["spin", "--busy", "0"], "more than 0"),
        (&["spin", "--busy", "101"], "up to 100"),
        (&["sleepers"], "<N>"),
        (&["sleepers", "0"], "from 1"),
        (&["spawn", "--rate", "0"], "more than 0"),
        (&["pingpong", "--threads", "2"], "--threads"),
    ] {
        run(&[&["load"], args].concat()).refused(2, words);
    }
}
