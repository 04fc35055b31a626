//! The page of metrics: its sums, also across a restart.

use crate::daemon::Daemon;
use crate::helpers::processes::{Load, KILL};
use crate::helpers::run::without_ledger;
pub use exactop_testkit::port;
use exactop_testkit::wait;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

pub fn get(port: u16, accept: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let asked = format!(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(asked.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_string())
}

/// Nanoseconds, or a whole number, of each series.
fn series(page: &str) -> BTreeMap<String, i128> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let value = |text: &str| match text.split_once('.') {
        Some((whole, part)) => {
            let ns: i128 = part.parse().expect("nine digits");
            let whole_ns = whole.parse::<i128>().expect("a number") * 1_000_000_000;
            if whole.starts_with('-') {
                whole_ns - ns
            } else {
                whole_ns + ns
            }
        }
        None => text.parse().expect("a number"),
    };
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    pairs.map(|(name, text)| (name.to_string(), value(text))).collect()
}

fn sum(page: &BTreeMap<String, i128>, prefix: &str) -> i128 {
    page.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value).sum()
}

/// A page of any instant.
pub fn any_page(port: u16) -> BTreeMap<String, i128> {
    series(&wait::find("a page", || get(port, "text/plain")))
}

/// A page of now: if a window comes too late, a page is of the previous one.
pub fn page(port: u16) -> BTreeMap<String, i128> {
    let now_ns = i128::from(exactop_service::now_ns());
    wait::find("a page of now", || {
        let page = series(&get(port, "text/plain")?);
        (page["exactop_boundary_seconds"] >= now_ns).then_some(page)
    })
}

/// Checks that the books close on a page, that groups are the accounts of tasks, and that since an
/// earlier page accounts are CPUs x time.
pub fn adds_up(first: &BTreeMap<String, i128>, now: &BTreeMap<String, i128>) {
    assert_eq!((first["exactop_residual_seconds"], now["exactop_residual_seconds"]), (0, 0));
    let named =
        |account: &str| sum(now, &format!("exactop_cpu_seconds_total{{account=\"{account}\"}}"));
    let groups = sum(now, "exactop_group_cpu_seconds_total");
    assert_eq!(groups, named("tasks") + named("exited"));
    let passed = now["exactop_boundary_seconds"] - first["exactop_boundary_seconds"];
    let accounts = |page| sum(page, "exactop_cpu_seconds_total");
    assert_eq!(accounts(now) - accounts(first), now["exactop_cpus"] * passed);
}

#[test]
fn every_page_adds_up_in_a_fork_storm_and_a_restart_decreases_no_counter() {
    if without_ledger() {
        return;
    }
    let _storm = Load::forks();
    let port = port();
    let mut daemon = Daemon::start(&["--metrics", &format!("127.0.0.1:{port}")]);
    let first = page(port);
    let mut before = first.clone();
    for _ in 0..5 {
        // Each page is a window, and this lets some time pass in it.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let now = page(port);
        adds_up(&first, &now);
        // A second page of the same instant counts nothing twice.
        let again = page(port);
        assert!(again["exactop_residual_seconds"] == 0, "{}", again["exactop_residual_seconds"]);
        for (name, value) in &now {
            let counts = name.contains("_total");
            let forwards = before.get(name).is_none_or(|earlier| value >= earlier);
            assert!(!counts || forwards, "{name} ran backwards");
        }
        before = now;
    }
    assert!(sum(&before, "exactop_cpu_seconds_total{account=\"exited\"}") > 0);
    assert!(before["exactop_cpu_seconds_total{account=\"exited\"}"] > 0);
    let created = |text: &str| -> f64 {
        let line = text
            .lines()
            .find(|line| line.starts_with("exactop_cpu_seconds_created{account=\"tasks\"}"));
        line.and_then(|line| line.rsplit(' ').next())
            .expect("its beginning")
            .parse()
            .expect("a time")
    };
    let openmetrics = "application/openmetrics-text; version=1.0.0";
    let old = get(port, openmetrics).expect("a page");
    assert!(old.ends_with("# EOF\n"));
    daemon.end(KILL);
    daemon.start_again();
    page(port);
    let new = get(port, openmetrics).expect("a page");
    assert!(created(&new) > created(&old), "counters that begin anew say so");
}

#[test]
fn no_name_breaks_a_page() {
    if without_ledger() {
        return;
    }
    let port = port();
    let _daemon = Daemon::start(&["--metrics", &format!("127.0.0.1:{port}")]);
    page(port);
    let dir = tempfile::tempdir().expect("a directory");
    let name = dir.path().join("a\"}\n# x\u{1b}[");
    std::os::unix::fs::symlink("/bin/sh", &name).expect("a link");
    let mut hostile = std::process::Command::new(&name);
    let _hostile = Load::start(hostile.args(["-c", "while :; do :; done"]));
    let mut seen = false;
    wait::until("the name on the page", || {
        let page = get(port, "text/plain").expect("a page");
        assert!(!page.contains('\u{1b}'));
        let starts = ["# ", "exactop_", "process_"];
        let fits = |line: &str| starts.iter().any(|start| line.starts_with(start));
        assert!(page.lines().all(fits), "{page}");
        seen |= page.contains("command=\"a\\\"}\\\\x0a# x\\\\x1b[\"");
        seen
    });
}

#[test]
fn an_unusable_address_is_refused() {
    if without_ledger() {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_string();
    let daemon = ["daemon", "--socket", &path("s"), "--dir", &path("log"), "--metrics", &address];
    crate::helpers::run::run(&daemon).refused(1, "choose another address or port");
    let otlp = ["daemon", "--socket", &path("s"), "--dir", &path("log"), "--otlp", "nowhere"];
    crate::helpers::run::run(&otlp).refused(2, "is not an address to send metrics to");
}
