//! Idle time owed in the header, while the user asks for it.

use crate::helpers::processes::Load;
use crate::helpers::run::without_ledger;
use crate::helpers::terminal::Terminal;
use crate::screen::{books, table};
use std::fs;

/// Tasks that wake up all the time, on some CPU.
const STORM: &str = "while :; do /bin/true & /bin/true; done";

/// The figure behind the idle time, in hundredths; `None`: the header has none.
fn owed(screen: &str) -> Option<u64> {
    let (_, rest) = screen.lines().find_map(|line| line.split_once(" (owed "))?;
    rest.split(')').next()?.replace('.', "").parse().ok()
}

/// Number of the programs that a process has attached.
fn attached(pid: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("its files").flatten();
    let of = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    of.filter(|text| text.contains("link_type:")).count()
}

#[test]
fn a_key_counts_the_idle_time_owed_and_shows_it_behind_the_idle_time() {
    if without_ledger() {
        return;
    }
    let load = Load::shell(STORM);
    for (width, height) in [(80, 24), (120, 30)] {
        let terminal = Terminal::live(width, height, "-d 0.3 --source ledger");
        let program = terminal.child();
        let before = attached(program);
        assert!(!terminal.screen().contains("(owed"), "{}", terminal.screen());
        terminal.keys(&["a"]);
        let seen = terminal.wait("idle time owed", |t| {
            let screen = t.screen();
            owed(&screen).filter(|&owed| owed > 0).map(|owed| (owed, screen))
        });
        assert!(seen.0 <= books(&seen.1).expect("books") as u64, "{}", seen.1);
        terminal.passes(|screen| table(&terminal, screen));
        assert!(attached(program) > before, "its programs count");
        terminal.keys(&["a"]);
        terminal.wait("no such figure", |t| (!t.screen().contains("(owed")).then_some(()));
        terminal.wait("its programs' end", |_| (attached(program) == before).then_some(()));
        terminal.keys(&["q"]);
    }
    drop(load);
}

#[test]
fn a_source_without_programs_gives_the_reason() {
    let terminal = Terminal::live(120, 30, "-d 0.3 --source procfs");
    terminal.keys(&["a"]);
    terminal.shows("no idle time owed: the source procfs does not measure this");
    assert!(!terminal.screen().contains("(owed"), "{}", terminal.screen());
}
