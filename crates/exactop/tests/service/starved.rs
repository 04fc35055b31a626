//! A daemon on an overloaded machine: priorities of its threads, and waits between them.

use crate::daemon::{parsed, Daemon};
use crate::helpers::processes::{children, Load, Stopped, TERM};
use crate::helpers::rights::await_threads;
use crate::helpers::run::{command, run, without_ledger};
use crate::metrics::{page, port};
use exactop_testkit::wait;
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Simultaneous scrapes.
pub const CROWD: usize = 500;

/// Fields of a thread's stat file, by their numbers in proc_pid_stat(5).
fn stat(pid: u32, tid: u32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    let (name, rest) = stat.rsplit_once(')').unwrap_or_default();
    let name = name.split_once('(').map_or("", |(_, name)| name);
    let fields = [tid.to_string(), name.to_string()].into_iter();
    // Counted from 1.
    std::iter::once(String::new())
        .chain(fields)
        .chain(rest.split_whitespace().map(str::to_string))
        .collect()
}

/// Name, niceness and scheduling class of each thread.
fn threads(pid: u32) -> Vec<(String, i32, u32)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
    let tids = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    let number = |text: &str| text.parse::<i32>().expect("a number");
    tids.map(|tid| stat(pid, tid))
        .filter(|stat| stat.len() > 41)
        .map(|stat| (stat[2].clone(), number(&stat[19]), number(&stat[41]) as u32))
        .collect()
}

/// Niceness and class of the threads of this name.
fn of(threads: &[(String, i32, u32)], name: &str) -> (i32, u32) {
    let found = threads.iter().find(|(is, ..)| is == name);
    let &(_, nice, policy) = found.unwrap_or_else(|| panic!("no thread {name}: {threads:?}"));
    (nice, policy)
}

fn daemon_with(settings: &str) -> (Daemon, u16) {
    let dir = tempfile::tempdir().expect("a directory");
    let (config, books) = (dir.path().join("config.toml"), dir.path().join("books"));
    fs::create_dir(&books).expect("a directory");
    fs::write(&config, settings).expect("settings");
    let (config, port) = (config.to_str().expect("UTF-8").to_string(), port());
    let (address, books) = (format!("127.0.0.1:{port}"), format!("parquet:{}", books.display()));
    let otlp = ["--otlp", "http://127.0.0.1:9"];
    let options = [&["--config", &config, "--metrics", &address, "--export", &books], &otlp[..]];
    (Daemon::start_in(dir, &options.concat(), None), port)
}

#[test]
fn only_the_reader_and_the_server_have_a_raised_priority() {
    if without_ledger() {
        return;
    }
    const OTHER: u32 = libc::SCHED_OTHER as u32;
    const REAL_TIME: u32 = libc::SCHED_RR as u32;
    for (word, raised) in
        [("nice", (-10, OTHER)), ("round-robin", (0, REAL_TIME)), ("usual", (0, OTHER))]
    {
        let (daemon, port) = daemon_with(&format!("priority = \"{word}\"\n"));
        page(port);
        // A thread has its name once it has run.
        await_threads(&daemon.load.pid().to_string(), &["metrics", "export", "otlp"]);
        let threads = threads(daemon.load.pid());
        let usual = stat(std::process::id(), std::process::id())[19].parse().expect("niceness");
        let raised = (if raised.0 < 0 { raised.0 } else { usual }, raised.1);
        assert_eq!(of(&threads, "exactop"), raised, "{word}: the reader");
        assert_eq!(of(&threads, "metrics"), raised, "{word}: the server");
        for name in ["export", "otlp"] {
            assert_eq!(of(&threads, name), (usual, OTHER), "{word}: {name}");
        }
        // Nobody listens at port 9.
        let said = daemon.said();
        let others = said.lines().filter(|line| !line.contains("does not accept metrics"));
        assert_eq!(others.collect::<String>(), "", "{word}");
    }
}

/// The sender asks for a window as soon as the daemon starts, when the ledger has just been read.
#[test]
fn the_first_page_does_not_wait_for_the_recorder() {
    if without_ledger() {
        return;
    }
    let (_daemon, port) = daemon_with("[record]\ninterval = \"1h\"\n");
    page(port);
}

#[test]
fn an_own_session_gets_a_raised_priority() {
    if without_ledger() {
        return;
    }
    if fs::read_to_string("/proc/self/autogroup").is_err() {
        return eprintln!("left out: this kernel does not group tasks by sessions");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut daemon = command(&["daemon"]);
    daemon.arg("--socket").arg(dir.path().join("socket")).arg("--dir").arg(dir.path().join("log"));
    // SAFETY: between fork and exec it makes one system call.
    unsafe { daemon.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
    let daemon = Load::start(&mut daemon);
    let group = || fs::read_to_string(format!("/proc/{}/autogroup", daemon.pid()));
    wait::until("its session's niceness", || {
        group().is_ok_and(|group| group.trim().ends_with("nice -10"))
    });
    let own = fs::read_to_string("/proc/self/autogroup").expect("it is there");
    assert!(!own.trim().ends_with("nice -10"), "ours is another: {own}");
}

#[test]
fn a_scrape_gets_the_last_window_while_the_reader_is_stopped() {
    if without_ledger() {
        return;
    }
    let port = port();
    let daemon = Daemon::start(&["--metrics", &format!("127.0.0.1:{port}")]);
    page(port);
    let stopped = Stopped::thread(daemon.load.pid());
    let last = answered(ask(port));
    for _ in 0..20 {
        assert_eq!(answered(ask(port)), last, "every scrape gets the same window");
    }
    drop(stopped);
    wait::until("the next window", || answered(ask(port)) != last);
}

#[test]
fn five_hundred_scrapes_at_once_are_all_answered() {
    if without_ledger() {
        return;
    }
    let port = port();
    let daemon = Daemon::start(&["--metrics", &format!("127.0.0.1:{port}")]);
    let _storm = Load::forks();
    page(port);
    let crowd: Vec<TcpStream> = (0..CROWD).map(|_| ask(port)).collect();
    let bodies: Vec<String> = crowd.into_iter().map(answered).collect();
    for body in &bodies {
        let residual = body.lines().find(|line| line.starts_with("exactop_residual_seconds "));
        assert_eq!(residual, Some("exactop_residual_seconds 0.000000000"));
    }
    drop(daemon);
}

/// Number of processes that want a CPU all the time.
const BUSY: usize = 200;

/// The busy processes, in a process group that ends with this process.
struct Busy(Child);

impl Busy {
    fn start() -> Busy {
        let all =
            format!("for i in $(seq {BUSY}); do while :; do :; done & done; read end; kill -9 0");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &all]).stdin(Stdio::piped()).process_group(0);
        let busy = Busy(shell.spawn().expect("a shell"));
        wait::until("all of them", || children(busy.0.id()).len() == BUSY);
        busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Length of the test, s.
fn seconds() -> u64 {
    let seconds = std::env::var("EXACTOP_TEST_SECONDS").ok();
    seconds.map_or(5, |text| text.parse().expect("EXACTOP_TEST_SECONDS: a number"))
}

/// Loads that no other test should run beside.
mod alone {
    #[test]
    fn two_hundred_busy_processes_leave_no_scrape_without_a_window() {
        super::beside_busy_processes();
    }
}

/// `EXACTOP_TEST_SECONDS=30` and `--nocapture` print the results; no duration fails the test.
fn beside_busy_processes() {
    if without_ledger() {
        return;
    }
    let (mut daemon, port) = daemon_with("[record]\ninterval = \"1s\"\n");
    page(port);
    let busy = Busy::start();
    // The scraper stands for another machine, which is not overloaded.
    setpriority_process(Some(gettid()), -20).expect("root");
    let (begun, mut took) = (Instant::now(), Vec::new());
    while begun.elapsed() < Duration::from_secs(seconds()) {
        let asked = Instant::now();
        // A window exists before: a scrape without one fails here.
        let body = answered(ask(port));
        took.push(asked.elapsed());
        assert!(body.contains("exactop_residual_seconds 0.000000000\n"), "{body}");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(busy);
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let log = daemon.log();
    let windows = parsed(&run(&["replay", log.to_str().expect("UTF-8"), "--json"]).fine());
    let at = |window: &Value, name: &str| window["window"][name].as_u64().expect("a time");
    let lengths = windows.iter().map(|window| at(window, "t1_ns") - at(window, "t0_ns"));
    if std::env::var_os("SHOW").is_some() {
        println!("{:?}", lengths.clone().map(|ns| ns / 1_000_000).collect::<Vec<_>>());
        println!("{took:?}");
    }
    let longest = lengths.max().expect("windows");
    let slowest = took.iter().max().expect("scrapes");
    println!(
        "{} scrapes, the slowest {slowest:?}; {} windows of 1 s, the longest {:.3} s",
        took.len(),
        windows.len(),
        longest as f64 / 1e9
    );
}

/// Requests a page, without reading it yet.
pub fn ask(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a place in the queue");
    stream.set_read_timeout(Some(wait::LIMIT)).expect("a limit");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("it takes requests");
    stream
}

/// The page.
pub fn answered(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer to its end");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.into()
}
