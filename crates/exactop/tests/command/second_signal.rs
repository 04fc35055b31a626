//! Signals end a command at any moment: the first in good order, a second at once.

use crate::helpers::processes::{children, is_over, send, until_stuck, Load, INT, TERM};
use crate::helpers::run::{command, program};
use crate::made_up_proc::tree;
use exactop_testkit::wait;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longer than the time in which two signals count as one request.
const LATER: Duration = Duration::from_millis(300);

/// Every command that runs until a signal ends it; `DIR` is a directory of its own.
const LASTING: &[&[&str]] = &[
    &["-b", "-d", "0.1"],
    &["--json", "-d", "0.1"],
    &["-b", "-d", "0.1", "--source", "procfs"],
    &["-b", "-d", "0.1", "--source", "snapshot"],
    &["-b", "-d", "0.1", "--source", "taskstats"],
    &["ptop", "0.1"],
    &["prstat", "-mL", "1"],
    &["web", "--listen", "127.0.0.1:0", "-d", "0.1"],
    &["syscalls", "0.2"],
    &["wakeups", "0.2"],
    &["waits", "0.2"],
    &["blame", "0.2"],
    &["cgroups", "0.2"],
    &["trace", "-d", "100", "-o", "DIR/trace"],
    &["lab", "run", "all", "--out", "DIR/lab"],
    &["run", "-q", "--", "sleep", "1000"],
    &["run", "-q", "--weight", "50", "--", "sleep", "1000"],
    &["run", "-q", "--repeat", "1000", "--", "sleep", "0.1"],
    &["load", "herd", "--wake", "all", "--threads", "20"],
    &["load", "ackermann", "3", "14"],
    &["load", "matmul", "4000"],
    &["load", "progress", "--procs", "2", "--steps", "1000000"],
    &["load", "spin"],
    &["load", "sleepers", "20"],
    &["load", "spawn"],
    &["load", "pingpong"],
];

/// Moments that differ between test runs.
struct Moments(u64);

impl Moments {
    fn new() -> Moments {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = now.expect("a time after 1970").as_nanos() as u64 | 1;
        println!("moments from {seed}");
        Moments(seed)
    }

    /// Up to a second.
    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(self.0 % 1000)
    }
}

/// Waits for the end. If it never comes, dropping the child kills it.
fn end_of(child: &mut Load, what: &str) -> Option<i32> {
    wait::find(what, || child.0.try_wait().expect("a status")).code()
}

fn ends(args: &[&str], signals: &[i32], moment: Duration) {
    let dir = tempfile::tempdir().expect("a directory");
    let args: Vec<String> =
        args.iter().map(|arg| arg.replace("DIR", dir.path().to_str().expect("UTF-8"))).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut process = command(&words);
    let mut child = Load::start(process.stderr(Stdio::null()));
    let what = format!("an end: {words:?}, {signals:?} after {moment:?}");
    std::thread::sleep(moment);
    for (i, &signal) in signals.iter().enumerate() {
        if i > 0 {
            std::thread::sleep(LATER);
        }
        if child.0.try_wait().expect("a status").is_none() {
            send(child.pid(), signal);
        }
    }
    let code = end_of(&mut child, &what);
    assert!(code.is_none_or(|code| code != 1), "{what}: {code:?}");
}

#[test]
fn each_command_ends_at_a_signal_whenever_it_comes() {
    let mut moments = Moments::new();
    for args in LASTING {
        ends(args, &[TERM], moments.next());
        ends(args, &[INT, INT], moments.next());
    }
}

/// Writes bytes until the pipe is full.
fn fill(pipe: &mut (impl Write + AsFd)) {
    let flags = rustix::fs::fcntl_getfl(&*pipe).expect("flags");
    rustix::fs::fcntl_setfl(&*pipe, flags | rustix::fs::OFlags::NONBLOCK).expect("set");
    while pipe.write(&[b' '; 4096]).is_ok() {}
    while pipe.write(b" ").is_ok() {}
    rustix::fs::fcntl_setfl(&*pipe, flags).expect("put back");
}

/// Sends signals until the process is over, and returns their number. A process may receive two at
/// once as one, however far apart they were sent, so the second one sent is not always the second
/// one received.
fn signalled_until_over(pid: u32) -> u32 {
    let mut sent = 0;
    wait::until("an end by signals", || {
        if is_over(pid) {
            return true;
        }
        send(pid, TERM);
        sent += 1;
        std::thread::sleep(LATER);
        is_over(pid)
    });
    sent
}

/// A thread waits in a write that nobody reads, and the command waits for that thread.
#[test]
fn a_second_signal_ends_a_blocked_command() {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    fill(&mut writer);
    let mut process = command(&["load", "matmul", "50"]);
    let child = process.stdout(writer).stderr(Stdio::null()).spawn().expect("a start");
    let mut child = Load(child);
    until_stuck("a write that waits", child.pid());
    let sent = signalled_until_over(child.pid());
    assert_eq!(end_of(&mut child, "an end of what is stuck"), Some(143));
    assert!(sent > 1, "the first signal was enough: this shows nothing");
    drop(reader);
}

/// timeout(1) does this: a signal for its child, and one for the group of the child.
#[test]
fn two_signals_at_once_count_as_one_request() {
    for _ in 0..10 {
        let tree = tree();
        let mut process = command(&["--json", "-d", "0.01", "--proc-root"]);
        let mut child = process.arg(tree.path()).stdout(Stdio::piped()).spawn().expect("a start");
        let mut out = child.stdout.take().expect("a pipe");
        // At a full pipe a signal cuts a line; this larger pipe takes seconds to fill.
        rustix::pipe::fcntl_setpipe_size(&out, 1 << 20).expect("a large pipe");
        out.read_exact(&mut [0; 10]).expect("a window");
        send(child.id(), TERM);
        if child.try_wait().expect("a status").is_none() {
            send(child.id(), TERM);
        }
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest");
        assert!(rest.ends_with("}\n"), "the last line is whole: {rest:?}");
        assert_eq!(child.wait().expect("an end").code(), Some(143));
    }
}

/// prstat draws on a terminal and then reads a file that never ends: the second signal restores the
/// terminal.
#[test]
fn the_second_signal_gives_the_terminal_back() {
    let tree = tree();
    let root = tree.path().display();
    let me = program();
    let line = format!(
        "stty rows 24; echo $$; {me} prstat -U 0 --proc-root {root} 1; stty -a | tr ';' '\\n'; exit"
    );
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
    let mut terminal =
        terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script(1)");
    let mut out = terminal.stdout.take().expect("a pipe");
    let mut text = String::new();
    let mut read = |until: &str| {
        let mut bytes = [0; 4096];
        while !text.contains(until) {
            let n = out.read(&mut bytes).expect("a screen");
            assert!(n > 0, "{text:?}");
            text += &String::from_utf8_lossy(&bytes[..n]);
        }
        text.clone()
    };
    let shell = read("Total: ");
    let shell: u32 = shell.lines().next().and_then(|l| l.trim().parse().ok()).expect("a PID");
    let status = tree.path().join("812/status");
    std::fs::remove_file(&status).expect("removed");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &status, kind, mode, 0).expect("a FIFO");
    // The test holds the FIFO open for writing, so that a reader of it blocks and is visible with
    // it open.
    let _writer = File::options().read(true).write(true).open(&status).expect("the FIFO");
    let prstat = children(shell)[0];
    wait::until("a reader of the FIFO", || {
        let files = std::fs::read_dir(format!("/proc/{prstat}/fd")).expect("its files").flatten();
        let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        links.any(|link| link == status)
    });
    let sent = signalled_until_over(prstat);
    assert!(sent > 1, "the first signal was enough: this shows nothing");
    let text = read("echok");
    let (before, after) = text.rsplit_once("\x1b[?1049l").expect("the screen is given back");
    assert!(before.contains("\x1b[?1049h") && !after.contains("-icanon"), "{after}");
    terminal.wait().expect("an end");
}
