//! Runs real shells and compares the words that they offer.

use super::*;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command as Program, Stdio};

fn text(shell: Shell) -> String {
    String::from_utf8(script(shell, crate::help::command())).expect("text")
}

/// Words that bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let script = text(Shell::Bash);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let asked = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_exactop exactop '{}' '{}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        words[last],
        words[last - 1]
    );
    let mut bash = Program::new("bash");
    bash.args(["--norc", "-s"])
        .env("LC_ALL", "C")
        .env_remove("BASH_ENV")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut bash = bash.stderr(Stdio::piped()).spawn().expect("bash");
    let mut stdin = bash.stdin.take().expect("a pipe");
    stdin.write_all(asked.as_bytes()).expect("read");
    drop(stdin);
    let done = bash.wait_with_output().expect("an end");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(told, "", "{words:?}");
    let words = String::from_utf8(done.stdout).expect("text");
    words.lines().filter(|word| !word.is_empty()).map(String::from).collect()
}

#[test]
fn bash_completes_lists_after_their_last_comma() {
    let all = offered(&["exactop", "--columns", ""]);
    assert_eq!(all.len(), COLUMNS.len());
    let second = offered(&["exactop", "--columns", "pid,comm"]);
    assert_eq!(second, ["pid,comm", "pid,command"]);
    let third = offered(&["exactop", "--columns", "pid,comm,comm"]);
    assert_eq!(third, ["pid,comm,command"], "each once");
    assert_eq!(offered(&["exactop", "ptop", "--columns", "x"]), [""; 0]);
    assert_eq!(offered(&["exactop", "--columns", "pid,%CP"]), ["pid,%CPU"]);
}

#[test]
fn bash_completes_conditions_users_and_processes_and_no_files_for_numbers() {
    assert_eq!(offered(&["exactop", "-b", "--filter", "%CP"]), ["%CPU"]);
    assert_eq!(offered(&["exactop", "-b", "--filter", "!comman"]), ["!command"]);
    assert_eq!(offered(&["exactop", "-b", "--filter", "comm="]), [""; 0]);
    // Other users may have names with this prefix.
    assert!(offered(&["exactop", "-u", "roo"]).contains(&"root".to_string()));
    assert!(
        offered(&["exactop", "prstat", "-u", "nobody,roo"]).contains(&"nobody,root".to_string())
    );
    let me = std::process::id().to_string();
    assert!(offered(&["exactop", "-p", &me]).contains(&me));
    let both = format!("1,{me}");
    assert!(offered(&["exactop", "waits", "--pid", &both]).contains(&both));
    assert_eq!(offered(&["exactop", "-n", ""]), [""; 0]);
    // In `run`, `-p` is another option, which takes no value.
    assert!(!offered(&["exactop", "run", "-p", ""]).contains(&me));
}

/// True if this shell is installed; else prints how to install it.
fn is_here(shell: &str) -> bool {
    let runs = Program::new(shell).arg("--version").stdout(Stdio::null()).status();
    let is_here = runs.is_ok_and(|status| status.success());
    if !is_here {
        eprintln!("left out: no {shell} (apt-get install --no-install-recommends {shell})");
    }
    is_here
}

/// Output of a shell that runs these arguments without any user's settings.
fn completed(shell: &str, args: &[&str], home: &Path) -> String {
    let mut program = Program::new(shell);
    program.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    program.env("HOME", home).env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    let done = program.stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{shell}");
    String::from_utf8(done.stdout).expect("text")
}

/// Command lines as a user types them, each with all words that the shell must offer.
const TYPED: [(&str, &[&str]); 8] = [
    ("exactop --columns pid,comm", &["pid,comm", "pid,command"]),
    ("exactop --columns=pid,comm", &["pid,comm", "pid,command"]),
    ("exactop --columns pid,comm,comm", &["pid,comm,command"]),
    ("exactop ptop --columns pid,zzz", &[]),
    ("exactop --columns pid,%CP", &["pid,%CPU"]),
    ("exactop -b --filter %CP", &["%CPU"]),
    ("exactop -b --filter comm=", &[]),
    ("exactop -n ", &[]),
];

/// Checks the offers of a shell for all typed lines, for PIDs and for users.
fn hold(shell: &str, ask: impl Fn(&[String]) -> Vec<Vec<String>>) {
    let me = std::process::id();
    let mut lines: Vec<String> = TYPED.iter().map(|(line, _)| line.to_string()).collect();
    let pids = [format!("{me}"), format!("1,{me}"), format!("{me},{me}")];
    lines.extend(pids.iter().map(|pids| format!("exactop waits --pid {pids}")));
    lines.push("exactop prstat -u nobody,roo".into());
    let offered = ask(&lines);
    assert_eq!(offered.len(), lines.len(), "{shell}: {offered:?}");
    for ((line, wanted), offered) in TYPED.iter().zip(&offered) {
        assert_eq!(offered, wanted, "{shell}: {line}");
    }
    let is_offered = |n: usize| offered[TYPED.len() + n].contains(&pids[n]);
    assert_eq!([0, 1, 2].map(is_offered), [true, true, false], "{shell}: each once: {offered:?}");
    // Other users may have names with this prefix.
    let users = offered.last().expect("users");
    assert!(users.contains(&"nobody,root".to_string()), "{shell}: {users:?}");
    assert!(users.iter().all(|user| user.starts_with("nobody,roo")), "{shell}: {users:?}");
}

/// The words sorted and without duplicates, without the option in front.
fn sorted<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let value = |word: &'a str| word.strip_prefix("--columns=").unwrap_or(word).to_string();
    let mut words: Vec<String> = words.map(value).collect();
    words.sort();
    words.dedup();
    words
}

#[test]
fn zsh_completes_lists_conditions_users_and_processes() {
    if !is_here("zsh") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("_exactop"), text(Shell::Zsh)).expect("written");
    fs::write(dir.path().join("asking"), include_str!("tests/asking.zsh")).expect("written");
    hold("zsh", |lines| {
        fs::write(dir.path().join("lines"), lines.join("\n")).expect("written");
        let here = dir.path().to_string_lossy();
        completed(
            "zsh",
            &["-f", "-c", include_str!("tests/terminal.zsh"), "zsh", &here],
            dir.path(),
        );
        let offered = fs::read_to_string(dir.path().join("offered")).expect("what was offered");
        let each = offered.split("--end\n").map(|words| sorted(words.lines()));
        each.take(lines.len()).collect()
    });
}

#[test]
fn fish_completes_lists_conditions_users_and_processes() {
    if !is_here("fish") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("exactop.fish");
    fs::write(&path, text(Shell::Fish)).expect("written");
    hold("fish", |lines| {
        let ask = "source $argv[1]; for line in $argv[2..]; complete -C $line; echo --end; end";
        let mut args = vec!["--no-config", "-c", ask, path.to_str().expect("a path")];
        args.extend(lines.iter().map(String::as_str));
        let offered = completed("fish", &args, dir.path());
        let name = |words: &str| {
            sorted(words.lines().map(|line| line.split('\t').next().unwrap_or_default()))
        };
        offered.split("--end\n").map(name).take(lines.len()).collect()
    });
}
