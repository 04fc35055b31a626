//! `exactop run` and signals for its command.

use crate::helpers::processes::{
    first_line, is_over, send, state, CONT, HUP, INT, QUIT, TERM, TSTP, USR1, USR2,
};
use crate::helpers::run::{command, piped, program};
use exactop_testkit::wait;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A shell under `exactop run` that has printed its PID: its traps are set.
struct Shell {
    run: Child,
    out: BufReader<ChildStdout>,
    pid: u32,
}

impl Shell {
    fn start(options: &[&str], script: &str) -> Shell {
        let script = format!("{script}\necho $$\nwhile :; do sleep 0.05; done");
        let mut process =
            command(&[&["run", "-q"], options, &["--", "sh", "-c", &script]].concat());
        Shell::of(process.process_group(0))
    }

    fn of(process: &mut Command) -> Shell {
        let mut run = process
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let mut out = BufReader::new(run.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("its PID");
        let pid = line.trim().parse().unwrap_or_else(|_| panic!("a PID: {line:?}"));
        Shell { run, out, pid }
    }

    /// The exit code and the output.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.run.wait().expect("an end").code();
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("what it said");
        (code, said)
    }
}

#[test]
fn each_signal_reaches_the_command_once() {
    for (signal, name) in
        [(TERM, "TERM"), (HUP, "HUP"), (INT, "INT"), (QUIT, "QUIT"), (USR1, "USR1"), (USR2, "USR2")]
    {
        // A second signal of the kind would also print.
        let script = format!("trap 'echo {name}' {name}; trap 'sleep 0.3; exit 7' CONT");
        let mut shell = Shell::start(&[], &script);
        send(shell.run.id(), signal);
        let mut line = String::new();
        shell.out.read_line(&mut line).expect("a word");
        assert_eq!(line, format!("{name}\n"));
        send(shell.run.id(), CONT);
        assert_eq!(shell.end(), (Some(7), String::new()), "{name}");
    }
}

#[test]
fn run_exits_by_the_signal_that_killed_the_command() {
    for signal in [TERM, HUP, INT, QUIT, USR1] {
        let shell = Shell::start(&[], "ulimit -c 0");
        let pid = shell.pid;
        send(shell.run.id(), signal);
        assert_eq!(shell.end().0, Some(128 + signal));
        assert!(is_over(pid), "the command lives on after signal {signal}");
    }
}

#[test]
fn a_signal_from_the_command_is_not_sent_back() {
    // A signal that was sent back would come at once; there is no other sign to wait for.
    let script = "trap 'echo TERM' TERM; kill -TERM $PPID; sleep 0.5; echo $$; exit 3";
    let shell = Shell::start(&[], script);
    assert_eq!(shell.end(), (Some(3), String::new()));
}

#[test]
fn stopped_and_continued_together() {
    let mut shell = Shell::start(&[], "trap 'exit 5' TERM");
    for _ in 0..3 {
        send(shell.run.id(), TSTP);
        wait::until("both are stopped", || {
            state(shell.run.id()) == Some('T') && state(shell.pid) == Some('T')
        });
        send(shell.run.id(), CONT);
        wait::until("both go on", || {
            state(shell.run.id()) != Some('T') && state(shell.pid) != Some('T')
        });
    }
    assert!(shell.run.try_wait().expect("a status").is_none());
    send(shell.run.id(), TERM);
    assert_eq!(shell.end().0, Some(5));
}

#[test]
fn the_terminals_ctrl_c_comes_once() {
    let me = program();
    let script =
        "trap \"echo one-INT\" INT; trap \"exit 4\" QUIT; echo ready; while :; do sleep 0.05; done";
    // With exec: some shells do not replace themselves by the last command, and would get the
    // signals, too.
    let line = format!("exec {me} run -q -- sh -c '{script}'");
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().expect("script(1)");
    let mut out = BufReader::new(terminal.stdout.take().expect("a pipe"));
    let mut keys = terminal.stdin.take().expect("a pipe");
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "it did not start");
    }
    keys.write_all(b"\x03").expect("Ctrl-C");
    line.clear();
    out.read_line(&mut line).expect("a line");
    assert!(line.contains("one-INT"), "{line:?}");
    // A second signal would come at once; there is no other sign to wait for.
    std::thread::sleep(std::time::Duration::from_millis(500));
    keys.write_all(b"\x1c").expect("Ctrl-\\");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest.matches("one-INT").count(), 0, "{rest:?}");
    assert_eq!(terminal.wait().expect("an end").code(), Some(4));
}

#[test]
fn an_end_is_asked_for_once_and_no_run_follows() {
    let shell = Shell::start(&["--repeat", "50"], "");
    let pid = shell.pid;
    send(shell.run.id(), TERM);
    let (code, said) = shell.end();
    assert_eq!((code, said.as_str()), (Some(143), ""), "another run began");
    assert!(is_over(pid));
}

#[test]
fn at_the_gate_a_signal_ends_both() {
    let mut run = piped(&["run", "-q", "--gate", "--", "echo", "gone"]);
    // Held open: closing it would open the gate.
    let _gate = run.stdin.take();
    let line = first_line(run.stderr.take());
    let pid = line.trim().strip_prefix("PID: ").and_then(|pid| pid.parse().ok()).expect("a PID");
    send(run.id(), TERM);
    assert_eq!(run.wait().expect("an end").code(), Some(143));
    wait::until("the child at the gate goes, too", || is_over(pid));
}

#[test]
fn a_signal_ignored_from_the_start_stays_ignored_by_the_command() {
    let me = program();
    let mut nohup = Command::new("nohup");
    let script = "echo $$; kill -HUP $$; exit 6";
    nohup.args([&me, "run", "-q", "--", "sh", "-c", script]).stdin(Stdio::null());
    let shell = Shell::of(&mut nohup);
    assert_eq!(shell.end().0, Some(6));
}
