//! A live page attaches programs on demand, and they are gone afterwards.

use crate::daemon::{bpf_files, Daemon};
use crate::helpers::processes::{Load, KILL};
use crate::helpers::run::{command, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Instant;

/// A page's server.
pub struct Page {
    load: Load,
    /// Its address.
    pub address: String,
    token: String,
}

impl Page {
    pub fn serve(words: &[&str]) -> Page {
        let words = [&["web", "--token", "--listen", "127.0.0.1:0", "-d", "0.2"], words].concat();
        let mut load = Load(command(&words).stdout(Stdio::piped()).spawn().expect("it starts"));
        let mut url = String::new();
        let out = load.0.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut url).expect("a line");
        let (address, token) = url.trim().split_once("/?").expect("a token");
        let address = address.trim_start_matches("http://").into();
        Page { load, address, token: token.into() }
    }

    /// The address to open.
    pub fn url(&self) -> String {
        format!("http://{}/?{}", self.address, self.token)
    }

    /// The events: name and data.
    fn events(&self, path: &str) -> impl Iterator<Item = (String, Value)> {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(wait::LIMIT)).expect("a limit");
        let address = &self.address;
        let (joint, token) = (if path.contains('?') { '&' } else { '?' }, &self.token);
        write!(stream, "GET {path}{joint}{token} HTTP/1.1\r\nHost: {address}\r\n\r\n")
            .expect("a request");
        let mut name = String::new();
        BufReader::new(stream).lines().map_while(Result::ok).filter_map(move |line| {
            if let Some(of) = line.strip_prefix("event: ") {
                name = of.into();
            }
            let data = line.strip_prefix("data: ")?;
            Some((name.clone(), serde_json::from_str(data).expect("JSON")))
        })
    }

    fn key(&self) -> String {
        let mut events = self.events("/events");
        let (_, told) = events.find(|(name, _)| name == "looks").expect("the key");
        told["key"].as_str().expect("a word").into()
    }
}

/// Opens a process's panel: its waits, the tasks that wake it, and its system calls; then closes
/// it. `holds`: the process that holds the programs.
fn looked_at(page: &Page, holds: u32) {
    let pipe = Load::shell("while :; do sleep 0.01; done");
    let before = bpf_files(holds);
    let look = format!("/look?key={}&pid={}", page.key(), pipe.pid());
    let mut told = page.events(&look);
    let has_rows = |(name, told): &(String, Value), wanted: &str, rows: &str| {
        assert!(name != "refused", "{told}");
        name == wanted && told[rows].as_array().is_some_and(|rows| !rows.is_empty())
    };
    let (_, waits) = told.find(|event| has_rows(event, "waits", "rows")).expect("waits");
    assert_eq!(waits["rows"][0]["pid"], pipe.pid());
    let with_waits = bpf_files(holds);
    assert!(with_waits > before, "{with_waits} after {before}");
    let mut calls = page.events(&format!("{look}&calls=1"));
    let (_, told_calls) = calls.find(|event| has_rows(event, "calls", "calls")).expect("calls");
    let names = told_calls["calls"].as_array().expect("calls").iter().map(|call| &call["syscall"]);
    assert!(names.into_iter().any(|name| name == "wait4"), "{told_calls}");
    let with_calls = bpf_files(holds);
    assert!(with_calls > with_waits, "{with_calls} after {with_waits}");
    drop(calls);
    wait::until("system calls are counted no more", || bpf_files(holds) == with_waits);
    drop(told);
    wait::until("nobody looks", || bpf_files(holds) == before);
}

#[test]
fn programs_for_a_process_are_there_while_its_panel_is_open() {
    if without_ledger() {
        return;
    }
    let page = Page::serve(&["--source", "ledger"]);
    looked_at(&page, page.load.pid());
}

#[test]
fn a_page_of_a_daemon_has_the_daemons_programs() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let socket = daemon.socket();
    let page = Page::serve(&["--source", "daemon", "--socket", socket.to_str().expect("UTF-8")]);
    looked_at(&page, daemon.load.pid());
    assert_eq!(bpf_files(page.load.pid()), 0);
}

#[test]
fn a_page_gets_the_programs_of_a_restarted_daemon() {
    if without_ledger() {
        return;
    }
    let mut daemon = Daemon::start(&[]);
    let socket = daemon.socket();
    let page = Page::serve(&["--source", "daemon", "--socket", socket.to_str().expect("UTF-8")]);
    let pipe = Load::shell("while :; do sleep 0.01; done");
    let told = page.events(&format!("/look?key={}&pid={}", page.key(), pipe.pid()));
    // The stream of events has no end.
    let begun = Instant::now();
    let mut told = told.take_while(|_| begun.elapsed() < wait::LIMIT);
    let mut waits_after = |at_ns: u64| {
        let is_after = |(name, told): &(String, Value)| {
            let has_rows = told["rows"].as_array().is_some_and(|rows| !rows.is_empty());
            name == "waits" && has_rows && told["window"]["t0_ns"].as_u64() >= Some(at_ns)
        };
        told.find(is_after).is_some()
    };
    assert!(waits_after(0), "its waits");
    daemon.end(KILL);
    daemon.start_again();
    assert!(waits_after(exactop_service::now_ns()), "what the next daemon tells");
}

#[test]
fn threads_are_sent_for_the_process_on_the_page() {
    if without_ledger() {
        return;
    }
    let page = Page::serve(&["--source", "ledger"]);
    let pid = page.load.pid();
    let threads = |(name, window): (String, Value)| {
        (name == "window").then(|| window["threads"].as_array().expect("threads").clone())
    };
    let mut windows = page.events("/events").filter_map(threads);
    assert_eq!(windows.next().expect("a window"), Vec::<Value>::new());
    // The server itself has several threads.
    let _look = page.events(&format!("/look?key={}&pid={pid}", page.key()));
    let told = windows.find(|threads| threads.len() > 1).expect("threads");
    assert!(told.iter().any(|thread| thread["tid"] == pid), "{told:#?}");
    assert!(told.iter().any(|thread| thread["comm"] == "web-looks"), "{told:#?}");
}
