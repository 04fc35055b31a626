//! Reports of recorded time, and exports of it.

use crate::helpers::run::{command, done, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn record(path: &Path) {
    let words = ["--json", "-n", "8", "-d", "0.1", "--source", "procfs", "--record", text(path)];
    run(&words).fine();
}

#[test]
fn a_report_sums_up_in_every_form() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&path);
    let path = text(&path);
    let told = run(&["report", "--json", "-t", "1h ago+1h", path]).fine();
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let ns = |value: &serde_json::Value| value.as_i64().expect("ns");
    let rows: i64 =
        told["rows"].as_array().expect("rows").iter().map(|row| ns(&row["run_ns"])).sum();
    let stretch = &told["stretch"];
    assert_eq!(rows + ns(&stretch["unnamed_ns"]), ns(&stretch["busy_ns"]));
    assert_eq!(stretch["windows"], 8);
    for since in ["boot", "1h ago"] {
        let all = run(&["report", "--json", "-t", since, path]).fine();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&all).expect("JSON"), told);
    }
    let words = run(&["report", path]).fine();
    assert!(words.contains("8 windows") && words.contains("CPUs x time"), "{words}");
    let html = run(&["report", "--html", "--by", "process", path]).fine();
    assert!(html.starts_with("<!DOCTYPE html>") && html.matches("<svg").count() == 3);
    assert!(run(&["report", "--markdown", path]).fine().starts_with("# CPU time from "));
    run(&["report", "-t", "now+1m", path]).refused(1, "no window ends in");
    run(&["report", "-t", "now", path]).refused(1, "no window ends in");
    run(&["report", "-t", "soon", path]).refused(2, "is not a time");
    run(&["report", "--html", "--json", path]).refused(2, "conflicts with");
}

/// A time range with some of a recording's windows, but not all.
fn part_of(path: &Path) -> String {
    let report = |words: &[&str]| run(&[&["report", "--json", text(path)], words].concat()).fine();
    let whole: serde_json::Value = serde_json::from_str(&report(&[])).expect("JSON");
    let ns = |name: &str| whole["stretch"][name].as_i64().expect("ns");
    let middle = (ns("from_wall_ns") + ns("to_wall_ns")) / 2;
    let middle = jiff::Timestamp::from_nanosecond(middle.into()).expect("an instant");
    format!("{middle}+1h")
}

#[test]
fn exports_write_only_to_their_target() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, out) = (dir.path().join("recording"), dir.path().join("out"));
    record(&path);
    let said = run(&["export", "parquet", "--to", text(&out), text(&path)]).fine();
    assert!(said.starts_with("8 windows of "), "{said}");
    let days = std::fs::read_dir(&out).expect("days");
    for day in days {
        let day = day.expect("a day").path();
        for file in ["accounts", "rows", "groups", "charges"] {
            let bytes = std::fs::read(day.join(format!("{file}.parquet"))).expect(file);
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{file}");
        }
    }
    // A shorter export does not replace a longer one.
    let stretch = part_of(&path);
    let part = ["export", "parquet", "--to", text(&out), "-t", &stretch, text(&path)];
    run(&part).refused(1, "has windows that this export lacks");
    run(&["export", "parquet", "--to", text(&out), text(&path)]).fine();
    run(&[&part[..], &["--replace"]].concat()).fine();
    let nothing = ["export", "parquet", "-t", "now+1m", "-o", text(&out), text(&path)];
    run(&nothing).refused(1, "no window ends in");
    run(&["export", "parquet", text(&path)]).refused(2, "--output");
    for to in ["s3://bucket/books", "file:///srv/books", "httpx://s/books"] {
        run(&["export", "parquet", "--to", to, text(&path)]).refused(2, "give a directory, which");
    }
    let login = ["export", "parquet", "--to", text(&out), "--login", "x", text(&path)];
    run(&login).refused(2, "--login needs a URL");
    let elsewhere = ["export", "parquet", "-o", "/proc/nowhere", text(&path)];
    run(&elsewhere).refused(1, "/proc/nowhere");
}

#[test]
fn a_time_of_day_is_that_of_the_day_on_which_a_recording_ends() {
    // Of a day in the past.
    let kept = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../keep/recording/tests/recordings/form-1-ledger.rec"
    );
    let whole = run(&["report", "--json", kept]).fine();
    let whole: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
    let (windows, to) = (&whole["stretch"]["windows"], &whole["stretch"]["to_wall_ns"]);
    let of_day = to.as_i64().expect("ns") / 1_000_000_000 % 86_400;
    // Half an hour to its end, and half an hour more.
    let begin = (of_day - 1_800).rem_euclid(86_400);
    let time = format!("{:02}:{:02}+1h", begin / 3_600, begin / 60 % 60);
    let dir = tempfile::tempdir().expect("a directory");
    let (out, part) = (dir.path().join("out"), dir.path().join("part"));
    let in_utc = |words: &[&str]| {
        let mut command = command(words);
        command.env("TZ", "UTC");
        done(command).fine()
    };
    let told = in_utc(&["report", "--json", "-t", &time, kept]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(&told["stretch"]["windows"], windows);
    in_utc(&["diff", "-a", &time, "-b", &time, kept]);
    in_utc(&["export", "parquet", "-t", &time, "-o", text(&out), kept]);
    in_utc(&["record", "cut", "-t", &time, "-o", text(&part), kept]);
    in_utc(&["report", "-t", &time[..5], kept]);
}

/// A store that is empty and accepts everything, with its number of requests. It ends with the
/// test.
fn store() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            counts.fetch_add(1, Ordering::SeqCst);
            answer(&mut stream).expect("the client waits for the answer");
        }
    });
    (url, asked)
}

fn answer(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(&mut *stream);
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

/// Also after exactop has given up its rights.
#[test]
fn an_export_reaches_the_store_and_reports_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&path);
    let (url, asked) = store();
    let export = |words: &[&str]| run(&[&["export", "clickhouse", "--to"], words].concat());
    assert_eq!(export(&[&url, text(&path)]).fine(), "8 windows sent\n");
    assert!(asked.load(Ordering::SeqCst) >= 3, "asked once, sent two tables");
    let before = asked.load(Ordering::SeqCst);
    export(&["store:8123", text(&path)]).refused(2, "write https://HOST:8443");
    export(&[&url, "--database", "a b", text(&path)]).refused(1, "is not a valid database name");
    export(&[&url, "--login", "/proc/nowhere", text(&path)]).refused(1, "/proc/nowhere");
    export(&[&url, "-t", "now+1m", text(&path)]).refused(1, "no window ends in");
    assert_eq!(asked.load(Ordering::SeqCst), before, "nobody was asked");
    export(&["http://127.0.0.1:1", "--patience", "1s", text(&path)]).refused(1, "does not answer");
    // The same for files.
    let export = |words: &[&str]| run(&[&["export", "parquet", "--to"], words].concat());
    let before = asked.load(Ordering::SeqCst);
    let told = export(&[&format!("{url}/books"), text(&path)]).fine();
    assert!(told.starts_with("8 windows of "), "{told}");
    assert!(asked.load(Ordering::SeqCst) >= before + 4);
    export(&["http://127.0.0.1:1", "--patience", "1s", text(&path)]).refused(1, "accepted nothing");
    export(&["https://jo:secret@store", text(&path)]).refused(2, "--login");
}
