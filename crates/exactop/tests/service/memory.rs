//! A daemon and its page within a bound of memory, on a machine with very many tasks.

use crate::daemon::Daemon;
use crate::helpers::processes::{state, Load};
use crate::helpers::run::{alone, command};
use crate::metrics::{page, port};
use crate::starved::{answered, ask, CROWD};
use exactop_workloads::workloads::{Crowd, CrowdOf, ForkStorm};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of memory that both may have together, of their own and of the kernel's for them.
const BOUND: u64 = 256 << 20;
/// Tasks that live.
const TASKS: usize = 10_000;
/// Readers of the page.
const READERS: usize = 20;
/// Windows that each of them has.
const WINDOWS: usize = 5;

/// A control group of this test, by the memory controller of version 1.
struct Group(PathBuf);

impl Group {
    fn bounded(most: u64) -> Option<Group> {
        let above = Path::new("/sys/fs/cgroup/memory");
        if !above.join("memory.limit_in_bytes").exists() {
            eprintln!("left out: there is no memory controller of version 1");
            return None;
        }
        let group = Group(above.join(format!("exactop-test-memory-{}", std::process::id())));
        fs::create_dir(&group.0).expect("root");
        fs::write(group.0.join("memory.limit_in_bytes"), most.to_string()).expect("a limit");
        Some(group)
    }

    /// A command that begins within it.
    fn within(&self, mut command: Command) -> Command {
        let members = self.0.join("cgroup.procs");
        // SAFETY: between fork and exec a file is written; this program has one thread that allocates.
        unsafe { command.pre_exec(move || fs::write(&members, "0")) };
        command
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).expect("a file of the controller")
    }

    fn number(&self, file: &str) -> u64 {
        self.text(file).trim().parse().expect("a number")
    }

    /// How many the kernel ended here for want of memory.
    fn ended(&self) -> u64 {
        let told = self.text("memory.oom_control");
        let line = told.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.expect("memory.oom_control has oom_kill").parse().expect("a number")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever was in it was waited for by then.
        let _ = fs::remove_dir(&self.0);
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

/// Reads so many windows of the page: how many came.
fn read_windows(port: u16, windows: usize) -> usize {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(exactop_testkit::wait::LIMIT)).expect("a limit");
    write!(stream, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").expect("a request");
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter(|line| line == "event: window").take(windows).count()
}

#[test]
fn ten_thousand_tasks_a_storm_scrapes_and_readers_of_the_page_fit_into_256_mib() {
    let Some(_alone) = alone() else { return };
    let Some(group) = Group::bounded(BOUND) else { return };
    let _crowd = Crowd::start(CrowdOf::Living, TASKS).expect("a crowd");
    let port = port();
    let address = format!("127.0.0.1:{port}");
    let daemon = Daemon::start_by(&["--metrics", &address], |daemon| group.within(daemon));
    page(port);
    let (web, page_port) = web(&group, &daemon);
    assert_eq!(read_windows(page_port, 1), 1, "the server is {:?}", state(web.pid()));
    let _storm = ForkStorm::start(2).expect("a storm");
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..READERS).map(|_| scope.spawn(|| read_windows(page_port, WINDOWS))).collect();
        while !readers.iter().all(|reader| reader.is_finished()) {
            let crowd: Vec<TcpStream> = (0..CROWD).map(|_| ask(port)).collect();
            for body in crowd.into_iter().map(answered) {
                assert!(body.contains("exactop_residual_seconds 0.000000000\n"), "the books close");
            }
        }
        let read = readers.into_iter().map(|reader| reader.join().expect("no panic"));
        let read: Vec<usize> = read.collect();
        let of_web = state(web.pid());
        assert_eq!(read, vec![WINDOWS; READERS], "each has its windows; the server is {of_web:?}");
    });
    println!(
        "{} MiB at most of {}; {} times the limit was met",
        group.number("memory.max_usage_in_bytes") >> 20,
        BOUND >> 20,
        group.number("memory.failcnt")
    );
    assert_eq!(group.ended(), 0, "the kernel ended somebody for want of memory");
}
