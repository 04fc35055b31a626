//! A task's identity may change while it lives; the next window shows it.

use crate::books::{process, Books};
use exactop_model::Frame;
use exactop_sources::ledger::Options;
use exactop_testkit::wait;
use exactop_workloads::workloads::Spin;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A shell that executes lines; killed on drop.
pub struct Shell(Child);

impl Shell {
    pub fn new() -> Shell {
        let mut command = Command::new("/bin/sh");
        Shell(command.stdin(Stdio::piped()).spawn().expect("a shell"))
    }

    pub fn line(&mut self, text: &str) {
        let input = self.0.stdin.as_mut().expect("a pipe");
        writeln!(input, "{text}").expect("it listens");
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Closes windows until one shows the change; a machine under load may need several.
fn comes(books: &mut Books, what: &str, is_so: impl Fn(&Frame) -> bool) {
    books.find(what, |books, window| {
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{faults:?}");
        is_so(&books.processes(&window)).then_some(())
    });
}

#[test]
fn a_changed_nice_value_is_seen() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let spin = Spin::start(1, None).expect("a worker");
    let tid = spin.threads()[0];
    let nice = |books: &mut Books| {
        let window = books.window(Duration::from_millis(100));
        let frame = books.threads(&window);
        let row = frame.rows.iter().find(|r| r.key.tid == tid).expect("its row");
        (row.ident.nice, row.ident.prio)
    };
    let (before, _) = nice(&mut books);
    let pid = rustix::process::Pid::from_raw(tid as i32);
    for value in [before + 5, before + 9] {
        rustix::process::setpriority_process(pid, value).expect("permission");
        // The task runs and is switched from time to time; the value is known then at the latest.
        let mut shown = Vec::new();
        wait::until("the new value", || {
            shown.push(nice(&mut books));
            shown.last() == Some(&(value, 120 + value))
        });
        println!("{shown:?}");
    }
}

#[test]
fn a_changed_name_is_seen() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let mut shell = Shell::new();
    let pid = shell.0.id();
    let mut account = None;
    for name in ["first", "second", "a\u{7}b"] {
        shell.line(&format!("printf '{name}' > /proc/$$/comm"));
        comes(&mut books, name, |f| process(f, pid).ident.comm.bytes() == name.as_bytes());
        let window = books.window(Duration::from_millis(10));
        let now = process(&books.processes(&window), pid).account;
        assert_eq!(*account.get_or_insert(now), now, "the account stays");
    }
}

/// A process that is killed on drop.
struct Killed(u32);

impl Drop for Killed {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.0 as i32);
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
    }
}

/// setns(2) changes what a task sees, not its numbers outside.
#[test]
fn a_task_in_other_namespaces_keeps_its_numbers() {
    let Some(_machine) = crate::machine() else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: making namespaces needs root");
        return;
    }
    let mut books = Books::open(&Options::default());
    let mut shell = Shell::new();
    let outer = shell.0.id();
    // Busybox has no --kill-child.
    let inner = "sh -c 'read line; exec sleep 1000'";
    shell.line(&format!("exec unshare --pid --fork --mount-proc {inner}"));
    let inside = |f: &Frame| {
        let child = f.rows.iter().find(|r| r.ident.ppid == outer);
        child.map(|r| (r.key.tgid, r.ident.comm.to_string()))
    };
    // Programs of busybox have busybox's name.
    let named = |f: &Frame, name: &str| {
        inside(f).is_some_and(|(_, comm)| [name, "busybox"].contains(&comm.as_str()))
    };
    comes(&mut books, "the process inside", |f| named(f, "sh"));
    let window = books.window(Duration::from_millis(10));
    let (pid, _) = inside(&books.processes(&window)).expect("the process inside");
    let _killed = Killed(pid);
    assert_ne!(pid, 1, "numbers are those of the initial namespace");
    assert!(std::fs::exists(format!("/proc/{pid}")).unwrap_or(false));
    shell.line("");
    comes(&mut books, "its exec", |f| named(f, "sleep"));
    let window = books.window(Duration::from_millis(10));
    assert_eq!(inside(&books.processes(&window)).map(|(pid, _)| pid), Some(pid));
}
