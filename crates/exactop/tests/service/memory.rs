//! A daemon and its page within a memory bound, on a machine with very many tasks.

use crate::daemon::Daemon;
use crate::helpers::processes::{state, Load};
use crate::helpers::run::{command, without_ledger};
use crate::metrics::{page, port};
use crate::starved::{answered, ask, CROWD};
use exactop_workloads::workloads::{Crowd, CrowdOf, ForkStorm};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Readers of the page.
const READERS: usize = 20;
/// Windows that each reader reads.
const WINDOWS: usize = 5;
/// Interval of checks that a silent server lives.
const PAUSE: Duration = Duration::from_secs(10);

/// Directories of control groups that limit memory, in version 1 and version 2.
const PLACES: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];

/// A control group of this test that limits memory.
struct Group {
    path: PathBuf,
    is_v1: bool,
}

impl Group {
    /// `None`: there is no memory controller.
    fn bounded(most: u64) -> Option<Group> {
        let [v1, v2] = PLACES.map(Path::new);
        let is_v1 = v1.join("memory.limit_in_bytes").exists();
        let controllers = fs::read_to_string(v2.join("cgroup.subtree_control"));
        if !is_v1 && !controllers.is_ok_and(|all| all.split_whitespace().any(|is| is == "memory")) {
            eprintln!("left out: there is no memory controller");
            return None;
        }
        let above = if is_v1 { v1 } else { v2 };
        let path = above.join(format!("exactop-test-memory-{}", std::process::id()));
        fs::create_dir(&path).expect("root");
        let group = Group { path, is_v1 };
        let limit = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        fs::write(group.path.join(limit), most.to_string()).expect("a limit");
        Some(group)
    }

    /// A command that starts in the group.
    fn within(&self, mut command: Command) -> Command {
        let members = self.path.join("cgroup.procs");
        // SAFETY: between fork and exec it only writes a file; only one thread of this program
        // allocates.
        unsafe { command.pre_exec(move || fs::write(&members, "0")) };
        command
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path.join(file)).expect("a file of the controller")
    }

    /// A figure of a file with one figure, or with named ones.
    fn figure(&self, file: &str, name: &str) -> u64 {
        let text = self.text(file);
        let figure = text.lines().find_map(|line| line.strip_prefix(name));
        figure.expect(name).trim().parse().expect("a number")
    }

    /// Peak memory use, bytes.
    fn peak(&self) -> u64 {
        self.figure(if self.is_v1 { "memory.max_usage_in_bytes" } else { "memory.peak" }, "")
    }

    /// Number of times that the limit was reached and the kernel freed caches.
    fn met(&self) -> u64 {
        match self.is_v1 {
            true => self.figure("memory.failcnt", ""),
            false => self.figure("memory.events", "max "),
        }
    }

    /// Number of processes that the kernel killed here for lack of memory.
    fn ended(&self) -> u64 {
        self.figure(if self.is_v1 { "memory.oom_control" } else { "memory.events" }, "oom_kill ")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes have been waited for by then.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The page's server, and its port.
fn web(group: &Group, daemon: &Daemon) -> (Load, u16) {
    let mut web = command(&["web", "--listen", "127.0.0.1:0", "-d", "1", "--source", "daemon"]);
    web.arg("--socket").arg(daemon.socket()).stdout(Stdio::piped());
    let mut load = Load(group.within(web).spawn().expect("it starts"));
    let mut url = String::new();
    let out = load.0.stdout.take().expect("a pipe");
    BufReader::new(out).read_line(&mut url).expect("a line");
    let port = url.trim().trim_end_matches('/').rsplit(':').next().expect("a port");
    (load, port.parse().expect("a number"))
}

/// Reads this number of windows from the page's server; fewer only if the server ends. On a busy
/// machine a slow read continues.
fn read_windows(server: (&Load, u16), windows: usize) -> usize {
    let (load, port) = server;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(PAUSE)).expect("a limit");
    write!(stream, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").expect("a request");
    let (mut lines, mut line, mut read) = (BufReader::new(stream), Vec::new(), 0);
    while read < windows {
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => {
                panic!("the server disconnected after {read} windows: {:?}", state(load.pid()))
            }
            Ok(_) => {
                let is_refused = line.starts_with(b"HTTP/") && !line.starts_with(b"HTTP/1.1 200");
                assert!(!is_refused, "{}", String::from_utf8_lossy(&line));
                read += usize::from(line == b"event: window\n");
                line.clear();
            }
            // The part of the line that was read stays.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                assert_ne!(state(load.pid()), Some('Z'), "the server ended after {read} windows");
            }
            Err(error) => panic!("after {read} windows: {error}"),
        }
    }
    read
}

/// Runs a daemon and its page in a group with this limit, beside this number of living tasks, a
/// storm, scrapes and readers of the page. The books close, and the kernel kills no process.
fn fits(limit: u64, tasks: usize) {
    let Some(group) = Group::bounded(limit) else { return };
    let _crowd = Crowd::start(CrowdOf::Living, tasks).expect("a crowd");
    let port = port();
    let address = format!("127.0.0.1:{port}");
    let daemon = Daemon::start_by(&["--metrics", &address], |daemon| group.within(daemon));
    page(port);
    let (web, page_port) = web(&group, &daemon);
    read_windows((&web, page_port), 1);
    let _storm = ForkStorm::start(2).expect("a storm");
    std::thread::scope(|scope| {
        let web = &web;
        let read = || scope.spawn(move || read_windows((web, page_port), WINDOWS));
        let readers: Vec<_> = (0..READERS).map(|_| read()).collect();
        while !readers.iter().all(|reader| reader.is_finished()) {
            let crowd: Vec<TcpStream> = (0..CROWD).map(|_| ask(port)).collect();
            for body in crowd.into_iter().map(answered) {
                assert!(body.contains("exactop_residual_seconds 0.000000000\n"), "the books close");
            }
        }
        readers
            .into_iter()
            .for_each(|reader| assert_eq!(reader.join().expect("no panic"), WINDOWS));
    });
    println!(
        "{} MiB at most of {}; {} times the limit was met; {}",
        group.peak() >> 20,
        limit >> 20,
        group.met(),
        daemon.said()
    );
    assert_eq!(group.ended(), 0, "the kernel ended somebody for want of memory");
}

#[test]
fn ten_thousand_tasks_a_storm_scrapes_and_readers_of_the_page_fit_into_256_mib() {
    if without_ledger() {
        return;
    }
    fits(256 << 20, 10_000);
}

/// Takes minutes: `make test-memory`.
#[test]
#[ignore = "make test-memory runs it: it takes minutes and nearly all PIDs of a small machine"]
fn thirty_thousand_tasks_a_storm_scrapes_and_readers_of_the_page_fit_into_512_mib() {
    if without_ledger() {
        return;
    }
    let pids = fs::read_to_string("/proc/sys/kernel/pid_max").expect("proc_sys_kernel(5)");
    if pids.trim().parse::<u64>().expect("a number") < 40_000 {
        return eprintln!("left out: kernel.pid_max is {}: set 40000 or more", pids.trim());
    }
    fits(512 << 20, 30_000);
}
