//! Process names with control characters.

use super::output::{is_an_answer, is_harmless};
use super::{command, Line};
use anyhow::{Context, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const NAMES: &[&[u8]] = &[
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    b"\x1b]52;c;eA==\x07",
    b"\x1bP+q\x1b\\",
    b"\x1b[6n",
    b"\x9b2J",
    b"\xc2\x9b2J",
    b"\x07\x08\x0c\x0e",
    b"a\nb",
    b"a\rb",
    b"a\tb",
    b"\x7f\x7f",
    b"\xff\xfe",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "\u{202e}gpj.exe".as_bytes(),
    "\u{2066}a".as_bytes(),
    "\u{200b}\u{200d}".as_bytes(),
    "e\u{301}\u{301}".as_bytes(),
    "日本語日".as_bytes(),
    b"=1+1",
    b"@SUM(A1)",
    b"+cmd|x",
    b"-2",
    b"\"a\",\"b\"",
    b"a','b",
    b"<b>&amp;",
    b") R 1 (x",
    b"%s%n%p",
    b"\\x1b[2J",
];

/// Commands that show names, in each format.
const COMMANDS: &[&[&str]] = &[
    &["-b", "-n", "2", "-d", "0.5", "--source", "ledger"],
    &["-b", "-n", "2", "-d", "0.5", "-c", "--source", "snapshot"],
    &["-b", "-H", "-n", "2", "-d", "0.5", "--source", "taskstats"],
    &["-b", "-n", "2", "-d", "0.5", "--source", "procfs"],
    &["--json", "-n", "2", "-d", "0.5"],
    &["--csv", "-n", "2", "-d", "0.5"],
    &["ptop", "0.5", "2"],
    &["prstat", "1", "2"],
    &["prstat", "-mL", "1", "2"],
    &["syscalls", "--by", "process", "--rows", "200", "0.5", "1"],
    &["syscalls", "--by", "thread", "--csv", "0.5", "1"],
    &["wakeups", "--rows", "200", "0.5", "1"],
    &["wakeups", "--json", "0.5", "1"],
    &["moves", "--rows", "200", "0.5", "1"],
    &["moves", "--json", "0.5", "1"],
    &["waits", "--rows", "200", "0.5", "1"],
    &["waits", "--csv", "0.5", "1"],
    &["waits", "--json", "0.5", "1"],
    &["cgroups", "0.5", "1"],
    &["cgroups", "--csv", "0.5", "1"],
];

/// A process of that name, which reads a file again and again.
struct Named(Child);

impl Named {
    fn start(name: &[u8]) -> Result<Named> {
        let octal: String = name.iter().map(|byte| format!("\\0{byte:03o}")).collect();
        let script = "printf %b \"$1\" > /proc/$$/comm; while :; do read x < /proc/self/comm; done";
        let child = Command::new("nice")
            .args(["-n", "19", "sh", "-c", script, "sh", &octal])
            .arg0(std::ffi::OsStr::from_bytes(name))
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start a shell")?;
        Ok(Named(child))
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs every command while processes of every name exist.
pub fn all(exactop: &Path) -> Result<Vec<Line>> {
    let what = format!("{} hostile names through each command: nothing obeyed", NAMES.len());
    let mut line = Line::new(what);
    let _named = NAMES.iter().map(|name| Named::start(name)).collect::<Result<Vec<_>>>()?;
    let mut escaped = 0;
    for words in COMMANDS {
        let output = command(exactop, words).output()?;
        escaped += usize::from(output.stdout.windows(4).any(|part| part == b"\\x1b"));
        let checked = is_an_answer(&output).and_then(|()| is_harmless(&output.stdout));
        line.count(checked.map_err(|why| format!("{}: {why}", words.join(" "))));
    }
    // Without this the check would pass if no name was shown.
    line.count(if escaped > 5 { Ok(()) } else { Err("the names were not shown".into()) });
    line.notes.push(format!("{escaped} commands showed one of them escaped"));
    Ok(vec![line])
}
