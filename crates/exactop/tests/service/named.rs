//! The host name: its origins, and its places.

use crate::daemon::Daemon;
use crate::filed::{start, written};
use crate::helpers::processes::TERM;
use crate::helpers::run::{command, done, run, without_ledger};
use crate::metrics::{get, port};
use crate::receiver;
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The host in the output of `daemon --check` with these settings, options and this variable.
fn host_name(settings: &str, options: &[&str], variable: Option<&str>) -> Option<String> {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, settings).expect("settings");
    let mut check = command(&["daemon", "--check", "--config"]);
    check.arg(&config).args(options).envs(variable.map(|name| ("EXACTOP_HOST", name)));
    let told = done(check).fine();
    let line = told.lines().find_map(|line| line.strip_prefix("host = \""));
    line.and_then(|line| line.strip_suffix('"')).map(String::from)
}

#[test]
fn the_variable_goes_before_the_option_and_the_option_before_the_setting() {
    let set = "[machine]\nhost = \"of-the-file\"\n";
    let option = &["--host", "of-the-option"][..];
    for (settings, options, variable, host) in [
        ("", &[][..], None, None),
        (set, &[], None, Some("of-the-file")),
        (set, option, None, Some("of-the-option")),
        (set, option, Some("of-the-variable"), Some("of-the-variable")),
        (set, &[], Some("of-the-variable"), Some("of-the-variable")),
        ("", &[], Some("of-the-variable"), Some("of-the-variable")),
        // An empty variable counts as not set.
        (set, option, Some(""), Some("of-the-option")),
    ] {
        let said = host_name(settings, options, variable);
        assert_eq!(said.as_deref(), host, "{settings:?} {options:?} {variable:?}");
    }
}

#[test]
fn an_invalid_host_name_is_refused() {
    run(&["daemon", "--check", "--host", "a b"]).refused(2, "is not a host name");
    run(&["record", "--host", ""]).refused(2, "the name of the host is empty");
    let mut check = command(&["daemon", "--check"]);
    check.env("EXACTOP_HOST", "\u{1b}[2J");
    let refused = done(check);
    refused.refused(2, "EXACTOP_HOST: ");
    assert!(!refused.err.contains('\u{1b}'), "{}", refused.err);
}

/// The bytes of a report, unpacked by gzip(1).
fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let gzip = gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut gzip = gzip.expect("gzip(1)");
    let mut into = gzip.stdin.take().expect("a pipe");
    let body = body.to_vec();
    let writer = std::thread::spawn(move || into.write_all(&body));
    let out = gzip.wait_with_output().expect("an end").stdout;
    writer.join().expect("it ends").expect("it reads");
    out
}

/// The kernel's id of this boot.
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the boot's ID");
    id.trim().into()
}

#[test]
fn metrics_recordings_and_the_fleets_tables_have_the_name_of_the_host() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let books = dir.path().join("books");
    fs::create_dir(&books).expect("a directory");
    let to = books.to_str().expect("UTF-8").to_string();
    let taken = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (address, reports) = receiver::start(vec![taken.to_vec(); 4]);
    let (port, otlp) = (port(), format!("http://{address}"));
    let metrics = format!("127.0.0.1:{port}");
    let options = ["--host", "node-7", "--metrics", &metrics, "--otlp", &otlp];
    let mut daemon = start(&to, dir, &options);
    let page = wait::find("a page", || get(port, "text/plain"));
    let series = format!("exactop_machine_info{{host=\"node-7\",boot_id=\"{}\"}} 1\n", boot_id());
    assert!(page.contains(&series), "{page}");
    let report = reports.recv_timeout(wait::LIMIT).expect("a report");
    let report = unpacked(&report.body);
    // In protobuf a key and its value follow each other, with a tag and a length between them.
    let name = report.windows(9).position(|bytes| bytes == b"host.name").expect("a name") + 9;
    assert!(report[name..name + 10].ends_with(b"node-7"), "{:?}", &report[name..name + 20]);
    wait::until("windows in the fleet's tables", || !written(&books).is_empty());
    let replayed = replayed_by(&daemon);
    assert_eq!(
        (&replayed["stretch"]["host"], &replayed["stretch"]["boot_id"]),
        (&"node-7".into(), &boot_id().into())
    );
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    assert_eq!(hosts(&books), ["node-7"]);
}

/// Result of `exactop report` on a daemon's recording.
fn replayed_by(daemon: &Daemon) -> Value {
    let told = run(&["report", "--json", daemon.log().to_str().expect("UTF-8")]).fine();
    serde_json::from_str(&told).expect("JSON")
}

/// Hosts of the fleet's tables.
fn hosts(books: &Path) -> Vec<String> {
    let balance = run(&["fleet", "check", "--from", books.to_str().expect("UTF-8"), "--json"]);
    let told: Value = serde_json::from_str(&balance.out).expect("JSON");
    let hosts = told["hosts"].as_array().expect("hosts").iter();
    hosts.map(|host| host["host"].as_str().expect("a name").to_string()).collect()
}
