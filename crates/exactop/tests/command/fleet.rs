//! The books of many machines: reports and exit codes.

use crate::helpers::run::{run, Done};
use exactop_export::{FleetTables, WindowSource};
use exactop_files::Directory;
use exactop_model::{Book, SourceKind};
use exactop_recording::Span;
use exactop_testkit::{snapshot, WINDOW};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::{bind, connect, getsockname, listen, socket, AddressFamily, SocketType};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const WINDOWS: u64 = 12;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A directory with the tables of a host, whose name holds special characters.
fn exported(into: &Path, directory: &str, host: &str) {
    let (mut tables, mut book) = (FleetTables::default(), Book::new());
    for n in 0..=WINDOWS {
        let Some(window) = book.advance(snapshot(SourceKind::Ledger, n, None)) else { continue };
        let wall_offset_ns = 1_760_000_000_000_000_000;
        let span = Span { t0_ns: window.t0_ns, t1_ns: window.t1_ns, wall_offset_ns };
        tables
            .put(host, "boot", &WindowSource { window: &window, span, book: &book })
            .expect("a row");
    }
    let into = Directory::open_or_make(into).expect("a directory");
    tables.write(&into.within(directory).expect("a directory")).expect("written");
}

#[test]
fn a_fleet_check_ends_with_its_findings() {
    let dir = tempfile::tempdir().expect("a directory");
    let books = dir.path().join("books");
    exported(&books, "one", "one");
    exported(&books, "two", "two\x1b[2J");
    let check = ["fleet", "check", "--from", text(&books)];
    let told = run(&check).fine();
    assert!(
        told.starts_with("2 hosts, 2 boots, 24 windows") && told.contains("The balance holds."),
        "{told}"
    );
    exported(&books, "again", "two\x1b[2J");
    let found = run(&check);
    assert_eq!((found.code, &*found.err), (Some(3), ""), "{}", found.out);
    assert!(
        found.out.contains("12 duplicate rows") && !found.out.contains('\x1b'),
        "{}",
        found.out
    );
    let found = run(&[&check[..], &["--json"]].concat());
    let told: serde_json::Value = serde_json::from_str(&found.out).expect("JSON");
    assert_eq!((found.code, &told["holds"]), (Some(3), &false.into()));
    assert_eq!(told["sums"]["cpus_x_time_ns"], (3 * WINDOWS * 2 * WINDOW).to_string());
    assert_eq!(
        (&told["hosts"][0]["is_well"], &told["hosts"][1]["doubled_rows"]),
        (&true.into(), &12.into())
    );
    let of = |words: &[&str]| run(&[&["fleet", "check", "--from"], words].concat());
    of(&[text(&books), "-t", "now+1m"]).refused(1, "no host has a window that ends");
    of(&[text(&books), "-t", "now"]).refused(1, "no host has a window that ends");
    of(&[text(&books), "-t", "soon"]).refused(2, "is not a time");
    of(&["/proc/nowhere"]).refused(1, "/proc/nowhere");
    of(&[text(&dir.path().join("books/one/none"))]).refused(1, "none");
    of(&["ftp://store"]).refused(2, "write https://HOST:8443");
    is_dead(&of(&["http://127.0.0.1:1"]), "Connection refused");
    for said in OF_A_STORE {
        of(&[&[text(&books)], said].concat()).refused(2, &format!("{} needs a store: ", said[0]));
    }
}

/// Options of a store, which are refused with a directory.
const OF_A_STORE: [&[&str]; 5] = [
    &["--database", "x"],
    &["--login", "/nonexistent"],
    &["--ca", "/nonexistent"],
    &["--patience", "1s"],
    &["--connect-timeout", "1s"],
];

/// Checks the last line about a store that refuses or does not answer; only lines on waiting may
/// precede it.
fn is_without_store(done: &Done, why: &[&str]) {
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{}", done.err);
    let said = done.err.trim_end();
    let (before, last) = said.rsplit_once('\n').unwrap_or(("", said));
    for words in why {
        assert!(last.contains(words), "{words}: {}", done.err);
    }
    let waits = |line: &str| line.contains("waiting for the store at http://");
    assert!(before.lines().all(waits), "{}", done.err);
}

/// Same for a store that does not answer, after one attempt.
fn is_dead(done: &Done, why: &str) {
    is_without_store(done, &["does not answer (1 attempt in ", why]);
}

/// A port that accepts no connections: the listener's queue is full.
fn full() -> (OwnedFd, Vec<OwnedFd>, u16) {
    let tcp = || socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    let listener = tcp();
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listen(&listener, 0).expect("it listens");
    let address = getsockname(&listener).expect("its address");
    let address = SocketAddr::try_from(address).expect("of TCP");
    let mut waiting = Vec::new();
    loop {
        let one = tcp();
        rustix::io::ioctl_fionbio(&one, true).expect("it need not wait");
        let _ = connect(&one, &address);
        let mut fds = [PollFd::new(&one, PollFlags::OUT)];
        let soon = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let is_taken = poll(&mut fds, Some(&soon)).expect("poll(2)") > 0;
        waiting.push(one);
        if !is_taken {
            return (listener, waiting, address.port());
        }
    }
}

#[test]
fn a_dead_store_is_reported_during_the_wait_and_then_fails() {
    let (_listener, _waiting, port) = full();
    let dead = format!("http://127.0.0.1:{port}");
    // It accepts connections, and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mute = format!("http://{}", silent.local_addr().expect("its address"));
    for (words, url, why) in [
        (&["check"][..], &dead, "timeout: connect"),
        (&["report", "--connect-timeout", "5s"], &dead, "timeout: connect"),
        (&["check", "--connect-timeout", "1s"], &mute, "timeout: global"),
    ] {
        let done = run(&[&["fleet"], words, &["--from", url]].concat());
        is_dead(&done, why);
        let first = done.err.lines().next().expect("a line");
        assert!(first.contains(&format!("waiting for the store at {url}")), "{}", done.err);
    }
}

/// Checks that a command gives up a store that takes no connection after its own time: the words
/// name at least the seconds that it was given, and the time without the option is shorter.
fn gives_up_after_its_own_time(words: &[&str], stores: usize) {
    const SECONDS: u64 = 4;
    let (_listener, _waiting, port) = full();
    let url = format!("http://127.0.0.1:{port}");
    let limit = format!("{SECONDS}s");
    let urls = vec![&*url; stores];
    let done = run(&[words, &urls, &["--connect-timeout", &limit]].concat());
    is_dead(&done, "timeout: connect");
    let (_, after) = done.err.rsplit_once("(1 attempt in ").expect("its time");
    let seconds = after.split(' ').next().and_then(|seconds| seconds.parse::<u64>().ok());
    assert!(seconds >= Some(SECONDS), "{}", done.err);
}

#[test]
fn a_check_gives_up_a_dead_store_after_its_own_connect_timeout() {
    gives_up_after_its_own_time(&["fleet", "check", "--from"], 1);
}

#[test]
fn a_report_gives_up_a_dead_store_after_its_own_connect_timeout() {
    gives_up_after_its_own_time(&["fleet", "report", "--from"], 1);
}

#[test]
fn a_comparison_gives_up_a_dead_store_after_its_own_connect_timeout() {
    gives_up_after_its_own_time(&["diff"], 2);
}

/// With ten thousand hosts one file is always half copied: that is a finding, and all others are
/// read.
#[test]
fn a_file_that_cannot_be_read_is_a_finding() {
    let dir = tempfile::tempdir().expect("a directory");
    let books = dir.path().join("books");
    exported(&books, "one", "one");
    exported(&books, "two", "two");
    let half = books.join("half\x1b[2J/day=2025-10-09/accounts.parquet");
    exported(&books, "half\x1b[2J", "half");
    let whole = std::fs::read(&half).expect("a table");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("written");
    let check = ["fleet", "check", "--from", text(&books)];
    let found = run(&check);
    assert_eq!((found.code, &*found.err), (Some(3), ""), "{}", found.out);
    let words = [
        "3 hosts, 2 boots, 24 windows",
        "accounts.parquet: not a table of 'exactop export'",
        "of 3 hosts; 1 path cannot be read.",
    ];
    assert!(words.iter().all(|words| found.out.contains(words)), "{}", found.out);
    assert!(!found.out.contains('\x1b'), "{}", found.out);
    let told = run(&[&check[..], &["--json"]].concat());
    let told: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let path = exactop_model::text::escape::escape_str(text(&half));
    assert_eq!((&told["holds"], &told["unread"][0]["path"]), (&false.into(), &path.into()));
    assert_eq!(told["sums"]["cpus_x_time_ns"], (2 * WINDOWS * 2 * WINDOW).to_string());
    // A command that needs all files names the unreadable one.
    let name = "accounts.parquet: not a table of 'exactop export'";
    run(&["fleet", "report", "--from", text(&books)]).refused(1, name);
    run(&["diff", text(&books), text(&books)]).refused(1, name);
    // If no other files exist, there is no balance, but a finding.
    let alone = run(&["fleet", "check", "--from", text(&books.join("half\x1b[2J/day=2025-10-09"))]);
    assert_eq!(alone.code, Some(3), "{}", alone.out);
}

#[test]
fn a_report_of_many_machines_has_every_form() {
    let dir = tempfile::tempdir().expect("a directory");
    let (books, page) = (dir.path().join("books"), dir.path().join("page.html"));
    exported(&books, "one", "one");
    exported(&books, "two", "two");
    let of = |words: &[&str]| run(&[&["fleet", "report", "--from", text(&books)], words].concat());
    let told = of(&["--by", "host"]).fine();
    assert!(
        told.contains("2 hosts; of 96.0 s of CPU time ") && told.contains("The balance holds."),
        "{told}"
    );
    assert!(of(&["--format", "markdown"])
        .fine()
        .starts_with("# The fleet's CPU time from 2025-10-09"));
    assert_eq!(of(&["--by", "unit", "--format", "html", "-o", text(&page)]).fine(), "");
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.starts_with("<!DOCTYPE html>") && html.matches("<svg").count() == 2);
    // An earlier report stays.
    of(&["-t", "now+1m", "-o", text(&page)]).refused(1, "no host has a window that ends");
    assert_eq!(std::fs::read_to_string(&page).expect("a page"), html);
    of(&["-o", "/proc/nowhere/page"]).refused(1, "/proc/nowhere");
    of(&["--by", "pid"]).refused(2, "pid");
    // A store takes the options of its connection, and a directory does not.
    let store = |words: &[&str]| run(&[&["fleet", "report", "--from"], words].concat());
    is_dead(&store(&["http://127.0.0.1:1", "-o", text(&page)]), "Connection refused");
    store(&["ftp://store"]).refused(2, "write https://HOST:8443");
    store(&["https://store", "--login", "/nonexistent"]).refused(1, "/nonexistent");
    for said in OF_A_STORE {
        of(said).refused(2, &format!("{} needs a store: ", said[0]));
    }
    assert_eq!(std::fs::read_to_string(&page).expect("a page"), html);
}

/// A store that rejects the user is reported in one line, without control characters.
#[test]
fn a_store_that_rejects_the_login_is_reported_in_one_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let login = dir.path().join("login");
    std::fs::write(&login, "somebody:wrong\n").expect("a file");
    std::fs::set_permissions(&login, Permissions::from_mode(0o600)).expect("one's own");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("a port"));
    let store = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a question");
        let (mut asked, mut some) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&asked).contains("FORMAT TSV") {
            let length = stream.read(&mut some).expect("a question");
            assert!(length > 0, "it ends early");
            asked.extend_from_slice(&some[..length]);
        }
        let text = "Code: 516.\n\x1b[2JAuthentication failed";
        let head =
            "HTTP/1.1 403 Forbidden\r\nX-ClickHouse-Exception-Code: 516\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).expect("told");
    });
    let words = ["fleet", "report", "--from", &url, "--login", text(&login), "--patience", "10s"];
    let told = run(&words);
    is_without_store(&told, &["with --login FILE"]);
    assert!(!told.err.contains('\x1b') && !told.err.contains("wrong"), "{}", told.err);
    store.join().expect("it was asked");
}

/// Hosts whose first half is one side, and second half the other.
#[test]
fn two_time_ranges_of_many_machines_are_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let (books, others) = (dir.path().join("books"), dir.path().join("others"));
    for n in 0..9 {
        exported(&books, &format!("h{n}"), &format!("host-{n}\x1b[2J"));
        exported(&others, &format!("o{n}"), &format!("other-{n}"));
    }
    let of = |words: &[&str]| run(&[&["diff"], words].concat());
    let halves = ["-a", "2025-10-09T08:55:07Z+10s", "-b", "2025-10-09T08:55:17Z+1h", text(&books)];
    let told = of(&[text(&books), text(&others)]).fine();
    assert!(told.contains("9 hosts compared with 9 others."), "{told}");
    assert!(
        told.contains(" sum to the change of busy time, ") && told.contains("Nothing beyond noise"),
        "{told}"
    );
    let told = of(&halves).fine();
    assert!(
        told.contains("9 hosts, each compared with itself.")
            && told.contains(" sum to the change of busy time, "),
        "{told}"
    );
    let told = of(&[&halves[..], &["--json", "--by", "unit"]].concat()).fine();
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let number =
        |value: &serde_json::Value| value.as_str().and_then(|text| text.parse::<i128>().ok());
    let rows = told["rows"].as_array().expect("rows").iter();
    let rows: i128 = rows.map(|row| number(&row["delta_ns"]).expect("ns")).sum();
    let books_of = |name: &str| number(&told["books"][name]).expect("ns");
    assert_eq!(rows + books_of("unnamed_delta_ns"), books_of("busy_delta_ns"));
    assert_eq!((&told["a"]["hosts"], &told["weighed"]["what"]), (&9.into(), &"pairs".into()));
    of(&[&halves[..], &["--changed", "nobody"]].concat()).refused(1, "no host with 'nobody'");
    of(&[&halves[..], &["--by", "user"]].concat())
        .refused(2, "choose one of host, namespace, pod, container, unit, command");
    of(&[&halves[..], &["--per", "work=exits"]].concat()).refused(2, "cpu or wall");
    of(&["-a", "now+1m", "-b", "now+1m", text(&books)])
        .refused(1, "no window of any host ends in time range A");
    of(&[text(&books)]).refused(2, "two time ranges of one");
    of(&[text(&books), "/nonexistent"]).refused(1, "cannot read /nonexistent");
    is_dead(&of(&["http://127.0.0.1:1", "http://127.0.0.1:1"]), "Connection refused");
    of(&["ftp://store", text(&books)]).refused(2, "write https://HOST:8443");
    for said in OF_A_STORE {
        of(&[&halves[..], said].concat()).refused(2, &format!("{} needs a store: ", said[0]));
    }
    // A recording of one machine refuses the options for many.
    let recording = dir.path().join("recording");
    let words =
        ["--json", "-n", "2", "-d", "0.1", "--source", "procfs", "--record", text(&recording)];
    run(&words).fine();
    of(&[text(&recording), text(&books)]).refused(2, "give two of one kind");
    of(&[text(&recording), text(&recording), "--changed", "x"]).refused(2, "recordings of one");
    of(&[text(&recording), text(&recording), "--changed", ""])
        .refused(2, "write a part of the names");
}
