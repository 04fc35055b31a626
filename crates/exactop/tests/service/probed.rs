//! Host names over HTTP, the probes, and the daemon's own figures on the page.

use crate::daemon::Daemon;
use crate::helpers::processes::{Stopped, TERM};
use crate::helpers::run::without_ledger;
use crate::metrics::{page, port};
use exactop_testkit::wait;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Status and body of the answer to a request under this host name.
fn ask(port: u16, path: &str, host: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let asked = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).expect("it takes requests");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.into())
}

/// A daemon with windows of a second, and its port.
fn start(settings: &str) -> (Daemon, u16) {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, format!("[record]\ninterval = \"1s\"\n{settings}")).expect("settings");
    let config = config.to_str().expect("UTF-8").to_string();
    let port = port();
    let metrics = format!("127.0.0.1:{port}");
    (Daemon::start_in(dir, &["--config", &config, "--metrics", &metrics], None), port)
}

#[test]
fn the_daemon_answers_to_its_own_names_and_reports_closed_windows() {
    if without_ledger() {
        return;
    }
    let (mut daemon, port) = start("[http]\nhosts = [\"node-7.example\"]\n");
    // It listens after it has given up its rights.
    page(port);
    let status = |path: &str, host: &str| ask(port, path, host).0;
    wait::until("a window that closed", || status("/readyz", "localhost") == 200);
    wait::until("a sign of life", || ask(port, "/healthz", "127.0.0.1") == (200, "ok\n".into()));
    for path in ["/metrics", "/readyz", "/healthz"] {
        // On a busy machine the figures may be late.
        assert_ne!(status(path, &format!("node-7.example:{port}")), 403, "{path}");
        let (status, body) = ask(port, path, "evil.example");
        assert_eq!((status, body.contains("exactop_")), (403, false), "{path}: {body}");
    }
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
}

#[test]
fn the_daemon_is_not_ready_while_its_reader_closes_no_window() {
    if without_ledger() {
        return;
    }
    let (mut daemon, port) = start("");
    // It listens after it has given up its rights.
    page(port);
    let ready = || ask(port, "/readyz", "localhost");
    wait::until("a window that closed", || ready().0 == 200);
    // The reader is the first thread; the server of the page runs on.
    let stopped = Stopped::thread(daemon.load.pid());
    wait::until("a daemon that is not ready", || ready().0 == 503);
    let (status, why) = ready();
    assert_eq!(status, 503, "no window can close: {why}");
    let limit = " s, and 3 s are the limit: see the log of the daemon\n";
    assert!(why.starts_with("no window has closed for ") && why.ends_with(limit), "{why}");
    drop(stopped);
    wait::until("the next window", || ready().0 == 200);
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
}

/// A field of /proc/PID/stat, counted from 1 as in proc(5).
fn stat(pid: u32, field: usize) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let value = fields.split_whitespace().nth(field - 3).expect("such a field");
    value.parse().expect("a number")
}

/// CPU time of a process in the kernel's ticks.
fn ticks(pid: u32) -> i128 {
    i128::from(stat(pid, 14) + stat(pid, 15))
}

#[test]
fn the_page_has_the_daemons_own_resource_use() {
    if without_ledger() {
        return;
    }
    let (mut daemon, port) = start("");
    let pid = daemon.load.pid();
    page(port);
    let files = || fs::read_dir(format!("/proc/{pid}/fd")).expect("its files").count() as i128;
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory");
        line.trim().trim_end_matches(" kB").parse::<i128>().expect("kB") * 1024
    };
    let tick = 1_000_000_000 / i128::from(rustix::param::clock_ticks_per_second());
    let (before, files_before) = (ticks(pid), files());
    let now = page(port);
    // Both parts of the kernel's figure are rounded down to a tick.
    let (cpu, files_after) = (now["process_cpu_seconds_total"], files());
    assert!((before * tick..=(ticks(pid) + 2) * tick).contains(&cpu), "{before} {cpu}");
    let told = now["process_resident_memory_bytes"];
    assert!(told > resident() / 4 && told < resident() * 4, "{told} {}", resident());
    // Tables may grow meanwhile if others start many tasks; connections and iterators come and go.
    let open = now["process_open_fds"];
    let (low, high) = (files_before.min(files_after), files_before.max(files_after));
    assert!((low - 8..=high + 8).contains(&open), "{low} {open} {high}");
    let boot = fs::read_to_string("/proc/stat").expect("the machine");
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime ")).expect("its boot");
    let began =
        boot.parse::<i128>().expect("seconds") * 1_000_000_000 + i128::from(stat(pid, 22)) * tick;
    // The kernel reports the boot time in whole seconds, and the wall clock is adjusted now and
    // then.
    let apart = (now["process_start_time_seconds"] - began).abs();
    assert!(apart < 3_000_000_000, "{apart}");
    let version = format!("exactop_build_info{{version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let build = now.iter().find(|(name, _)| name.starts_with(&version));
    assert_eq!(build.map(|(_, value)| *value), Some(1), "{version}");
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
}
