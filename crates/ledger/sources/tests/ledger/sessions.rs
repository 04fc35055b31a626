//! A session (setsid(2)) has the time of its living and exited processes.

use crate::books::Books;
use exactop_model::owner::{charge, Grouping};
use exactop_model::Counter;
use exactop_sources::ledger::Options;
use exactop_testkit::wait;
use rustix::process::{getsid, kill_process, Pid, Signal};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell that leads a session, executes lines and prints the CPU time that the kernel counts for
/// it; killed when dropped.
struct Leader {
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Shell function that uses CPU time and prints the process's total, ns.
const WORK: &str = "work() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; \
                    read -r ns rest < /proc/self/schedstat; echo $ns; }";

impl Leader {
    fn new() -> Leader {
        let mut command = Command::new("setsid");
        command.arg("/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().expect("setsid(1)");
        let (input, output) = (shell.stdin.take(), shell.stdout.take());
        let (input, output) = (input.expect("a pipe"), output.expect("a pipe"));
        let mut leader = Leader { shell, input, output: BufReader::new(output) };
        leader.line(WORK);
        leader.line("work 1");
        leader.number();
        leader
    }

    fn line(&mut self, text: &str) {
        writeln!(self.input, "{text}").expect("the shell reads");
    }

    fn number(&mut self) -> u64 {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().parse().unwrap_or_else(|_| panic!("{line:?}"))
    }

    /// Session id, from getsid(2).
    fn session(&self) -> String {
        session_of(self.shell.id() as i32)
    }

    /// The shell and a child that exits use CPU time; returns the sum that they print, ns.
    fn work(&mut self, rounds: u32) -> u64 {
        self.line("work 1");
        let before = self.number();
        // The shell waits for its child.
        self.line(&format!("work {rounds}; (work {rounds}); echo 0"));
        let used = self.number() - before + self.number();
        assert_eq!(self.number(), 0);
        used
    }
}

fn session_of(pid: i32) -> String {
    let session = getsid(Pid::from_raw(pid)).expect("a living process");
    session.as_raw_nonzero().to_string()
}

impl Drop for Leader {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// A process that is killed when this is dropped.
struct Member(i32);

impl Drop for Member {
    fn drop(&mut self) {
        let _ = Pid::from_raw(self.0).map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// Adds a window's CPU time (ns) and number of exited processes, by session.
fn close(books: &mut Books, sums: &mut BTreeMap<String, (u64, u64)>) {
    let window = books.close().expect("a window is open");
    charge(&window, &books.book, Grouping::Session, &mut |owner, charge| {
        let (name, _) = owner.name(Grouping::Session, &books.book);
        let sum = sums.entry(name).or_default();
        sum.0 += charge.counters.get(Counter::RunNs).unwrap_or(0);
        sum.1 += charge.exited;
    });
}

#[test]
fn a_session_has_the_time_of_its_living_and_exited_processes() {
    let Some(_machine) = crate::machine() else { return };
    let (mut few, mut many) = (Leader::new(), Leader::new());
    let mut books = Books::open(&Options::default());
    books.close();
    let printed = [few.work(30_000), many.work(120_000)];
    let names = [&few, &many].map(|leader| format!("{} sh", leader.session()));
    let mut sums = BTreeMap::new();
    // The parent sees the exit before the child's last switch.
    wait::until("an exit in each session", || {
        close(&mut books, &mut sums);
        names.iter().all(|name| sums.get(name).is_some_and(|(_, exited)| *exited == 1))
    });
    for (name, printed) in names.iter().zip(printed) {
        let (run_ns, _) = sums[name];
        println!("{name}: {printed} ns by schedstat, {run_ns} ns in the books");
        // The shell also reads lines, and its child exits after it prints.
        assert!(run_ns > printed / 10 * 9 && run_ns < printed / 10 * 15 + 10_000_000, "{name}");
    }
    assert!(printed[1] > 2 * printed[0]);
}

#[test]
fn a_session_is_named_by_its_id_once_its_leader_has_exited() {
    let Some(_machine) = crate::machine() else { return };
    let mut leader = Leader::new();
    let session = leader.session();
    leader.line("(while :; do :; done) & echo $!");
    let member = Member(leader.number() as i32);
    drop(leader);
    let mut books = Books::open(&Options::default());
    books.close();
    wait::until("the member's time", || {
        let mut sums = BTreeMap::new();
        close(&mut books, &mut sums);
        sums.get(&session).is_some_and(|(run_ns, _)| *run_ns > 0)
    });
    assert_eq!(session_of(member.0), session);
}
