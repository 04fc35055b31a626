//! A recording in a real terminal: forward and backward, to a time, merged, played.

use crate::helpers::processes::Load;
use crate::helpers::run::{run, without_ledger};
use crate::helpers::terminal::Terminal;
use crate::screen::table;

/// The window on the time line: `2026-11-22 14:03:10 + 0.300 s`.
fn window(screen: &str) -> Option<String> {
    let line = screen.lines().nth(1)?;
    let (window, _) = line.split_once(" s ")?;
    window.contains(" + ").then(|| window.to_string())
}

fn seconds(window: &str) -> f64 {
    let length = window.rsplit(' ').next().expect("a length");
    length.parse().expect("seconds")
}

#[test]
fn a_recording_is_gone_through_to_and_fro() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let path = path.to_str().expect("UTF-8");
    let record = ["--csv", "--columns", "pid", "-d", "0.2", "-n", "16", "--source", "procfs"];
    run(&[&record[..], &["--record", path]].concat()).fine();
    let terminal = Terminal::new(120, 30, &[]);
    terminal.start(&format!("replay {path}"));
    terminal.passes(|screen| table(&terminal, screen));
    let first = terminal.wait("a window", |t| window(&t.screen()));
    terminal.shows("stopped");
    let shows_other = |than: &str| {
        terminal.wait("another window", |t| window(&t.screen()).filter(|other| other != than))
    };
    terminal.keys(&["Right"]);
    let second = shows_other(&first);
    terminal.keys(&["Left"]);
    terminal
        .wait("the first window", |t| (window(&t.screen()) == Some(first.clone())).then_some(()));
    terminal.keys(&["Left"]);
    terminal.shows("the recording begins here");
    terminal.keys(&["S-Right"]);
    let tenth = shows_other(&first);
    assert_ne!(tenth, second);
    terminal.keys(&["z"]);
    terminal.shows("joined to 1 s");
    terminal.wait("a joined window", |t| {
        window(&t.screen()).filter(|window| seconds(window) > 1.5 * seconds(&first))
    });
    terminal.passes(|screen| table(&terminal, screen));
    // A time that is not recorded: the first window after it.
    terminal.keys(&["t"]);
    terminal.shows("to a time");
    terminal.line("2001-01-01 00:00");
    terminal.wait("the beginning", |t| {
        window(&t.screen()).filter(|w| w.split(" + ").next() == first.split(" + ").next())
    });
    terminal.keys(&["t"]);
    terminal.line("soon");
    terminal.shows("is not a time");
    terminal.keys(&["k"]);
    terminal.shows("this is a recording");
    terminal.keys(&["g"]);
    terminal.shows("no control groups: ");
    terminal.escape();
    terminal.passes(|screen| table(&terminal, screen));
    terminal.keys(&["Space"]);
    terminal.shows("the recording ends here");
    terminal.shows("stopped");
    terminal.keys(&["q"]);
    terminal.wait("an end", |t| (!t.alternate()).then_some(()));
}

/// The line of a process's page about its sleep.
fn waits(screen: &str) -> Option<String> {
    screen.lines().find(|line| line.starts_with("waits in SLP")).map(str::to_string)
}

#[test]
fn a_replayed_page_shows_the_waits_as_recorded() {
    if without_ledger() {
        return;
    }
    let load = Load::shell("while :; do sleep 0.02; done");
    let (pid, dir) = (load.pid(), tempfile::tempdir().expect("a directory"));
    let path = dir.path().join("recording");
    let path = path.to_str().expect("UTF-8");
    let terminal = Terminal::new(120, 30, &[]);
    // Two windows that end in one second have one label.
    terminal.start(&format!("-d 1.1 --source ledger -p {pid} --record {path}"));
    terminal.keys(&["Down", "Enter"]);
    let live = terminal.wait("its waits", |t| waits(&t.screen()));
    terminal.wait("those of another window", |t| waits(&t.screen()).filter(|line| *line != live));
    terminal.escape();
    terminal.keys(&["g"]);
    // A recording can be read while it is written.
    terminal.wait("the kernel's figures of groups", |_| {
        let told = run(&["cgroups", "--replay", path, "--json"]).fine();
        let is_known = |window: serde_json::Value| window["groups"][0]["usage_ns"].is_u64();
        let mut windows = told.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        windows.any(is_known).then_some(())
    });
    terminal.escape();
    terminal.keys(&["q"]);
    terminal.wait("an end", |t| (!t.alternate()).then_some(()));
    // From the beginning on: at first the page was not open.
    terminal.start(&format!("replay {path} -p {pid}"));
    terminal.keys(&["Down", "Enter"]);
    terminal.shows("not displayed all this time");
    let mut screen = terminal.settled();
    while waits(&screen).as_ref() != Some(&live) {
        let before = window(&screen);
        terminal.keys(&["Right"]);
        // It stands still at the end, where this wait has no end.
        terminal.wait("the next window", |t| (window(&t.screen()) != before).then_some(()));
        screen = terminal.settled();
    }
    let told = run(&["waits", "--replay", path, "--json", "-p", &pid.to_string()]).fine();
    let windows: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(windows.len() >= 2, "{told}");
    for window in &windows {
        assert_eq!(window["rows"][0]["pid"], pid, "{told}");
        assert!(window["rows"][0]["after_wakeup"]["p99_ns"].is_u64(), "{told}");
    }
    run(&["waits", "--replay", path, "--json", "-p", "1"]).refused(1, "the recording has no waits");
}
