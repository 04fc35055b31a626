//! Names with escape sequences, and terminals without colours.

use crate::helpers::processes::Load;
use crate::helpers::terminal::Terminal;
use crate::screen::table;
use exactop_testkit::wait;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A process with escape sequences and invalid UTF-8 in its name and its arguments.
fn evil() -> Load {
    let script = "printf 'ev\\033[2J\\377\\n\\tx' > /proc/$$/comm; read line";
    let child = Command::new("/bin/sh")
        .arg0(OsStr::from_bytes(b"\x1b]0;pwned\x07\xff\xe2\x80\xae"))
        .args(["-c", script])
        .stdin(Stdio::piped())
        .spawn();
    let load = Load(child.expect("a shell"));
    let comm = format!("/proc/{}/comm", load.pid());
    wait::until("its name", || std::fs::read(&comm).expect("its name").starts_with(b"ev"));
    load
}

#[test]
fn hostile_names_are_shown_and_not_obeyed() {
    let load = evil();
    let terminal = Terminal::live(140, 30, &format!("-d 0.3 --source procfs -p {}", load.pid()));
    let title = terminal.knows("pane_title");
    terminal.shows("\\x1b]0;pwned\\x07\\xff\\u{202e} -c printf");
    terminal.passes(|screen| table(&terminal, screen));
    terminal.keys(&["c"]);
    terminal.shows("ev\\x1b[2J\\xff\\x0a\\x09x");
    terminal.passes(|screen| table(&terminal, screen));
    terminal.keys(&["Down", "Enter"]);
    terminal.shows(&format!("ev\\x1b[2J\\xff\\x0a\\x09x ({})", load.pid()));
    terminal.keys(&["k"]);
    // On a process's page the action applies to that process.
    terminal.shows("signal for PID");
    terminal.escape();
    assert_eq!(terminal.knows("pane_title"), title);
}

/// Number of colours in a stream of bytes: SGR parameters 30-49 without 39 and 49, and 90-107
/// (ECMA-48).
fn colours(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\x1b[").skip(1);
    let sgr = sequences.filter_map(|s| {
        let end = s.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        s[end..].starts_with('m').then_some(&s[..end])
    });
    let is_colour = |n: u32| matches!(n, 30..=38 | 40..=48 | 90..=97 | 100..=107);
    sgr.filter(|s| s.split(';').any(|n| n.parse().is_ok_and(is_colour))).count()
}

/// All bytes of a short session.
fn session(env: &[&str]) -> Vec<u8> {
    let terminal = Terminal::new(120, 30, env);
    let file = terminal.record();
    terminal.start("-d 0.3 --source procfs -1");
    terminal.keys(&["h"]);
    terminal.shows("lines 1-");
    terminal.escape();
    terminal.passes(|screen| table(&terminal, screen));
    terminal.keys(&["q"]);
    terminal.wait("an end", |t| (!t.alternate()).then_some(()));
    let ends = b"\x1b[?1049l";
    terminal.wait("the last bytes", |_| {
        let bytes = std::fs::read(&file).ok()?;
        bytes.windows(ends.len()).any(|w| w == ends).then_some(bytes)
    })
}

#[test]
fn no_color_means_no_colours() {
    assert!(colours(&session(&[])) > 0, "this test cannot see colours");
    assert_eq!(colours(&session(&["NO_COLOR=1"])), 0);
}
