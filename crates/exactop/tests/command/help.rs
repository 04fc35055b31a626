//! The examples of `--help` work: they run, or need more than a test has.

#[cfg(feature = "bpf")]
use crate::helpers::run::without_ledger;
use crate::helpers::run::{command, done, run};
use std::path::Path;
use std::process::Command;

/// Five windows of a source without books.
const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../keep/recording/tests/recordings/form-1-procfs.rec");

/// Beginnings of examples that run here, and the words that make them short.
const RUN: &[(&str, &[&str])] = &[
    ("exactop -b", &["--source", "procfs", "-d", "0.1"]),
    ("exactop --json", &["--source", "procfs"]),
    ("exactop --once", &["--source", "procfs"]),
    ("exactop columns", &[]),
    ("exactop completions", &[]),
    ("exactop diff before.rec", &[]),
    ("exactop diff --", &[]),
    ("exactop doctor", &[]),
    ("exactop export parquet incident.rec", &[]),
    ("exactop lab list", &[]),
    ("exactop lab show", &[]),
    ("exactop load ackermann", &[]),
    ("exactop load herd --wake one", &[]),
    ("exactop load matmul", &[]),
    ("exactop load pingpong --duration", &[]),
    ("exactop load progress", &[]),
    ("exactop load sleepers 100", &[]),
    ("exactop load spawn --rate", &[]),
    ("exactop load spin", &[]),
    ("exactop man", &[]),
    ("exactop prstat -c", &["--source", "procfs"]),
    ("exactop ptop --", &["--source", "procfs"]),
    ("exactop record verify incident.rec", &[]),
    ("exactop replay --json incident.rec", &[]),
    ("exactop report --json incident.rec", &[]),
];

/// Beginnings of examples that attach programs.
const ATTACHING: &[&str] = &[
    "exactop blame --by unit 1 10",
    "exactop cgroups --once",
    "exactop moves --once",
    "exactop owed --once",
    "exactop switches --once",
    "exactop syscalls --once",
    "exactop trace -d 1 ",
    "exactop waits --by unit 1 10",
    "exactop waits -p 1 --once",
    "exactop wakeups --once",
];

/// Beginnings of examples that clap only parses, by what they need.
const NEEDING: &[(&str, &[&str])] = &[
    (
        "a terminal, or a signal to end",
        &[
            "exactop --filter",
            "exactop blame",
            "exactop cgroups",
            "exactop daemon",
            "exactop load herd --wake all",
            "exactop load pingpong --json",
            "exactop load sleepers 30000",
            "exactop load spawn --procs",
            "exactop moves --by",
            "exactop owed -d",
            "exactop prstat -",
            "exactop ptop",
            "exactop record",
            "exactop switches -p",
            "exactop syscalls",
            "exactop waits --by",
            "exactop wakeups --check",
            "exactop web",
        ],
    ),
    (
        "a recording of that time, or a fleet",
        &[
            "exactop diff -a",
            "exactop export",
            "exactop fleet",
            "exactop replay -",
            "exactop report -t",
            "exactop waits --replay",
        ],
    ),
    (
        "a program, or minutes on an idle machine",
        &["exactop run", "exactop lab", "exactop trace -d 10"],
    ),
];

/// Each command, and the examples of its help.
fn examples() -> Vec<(String, Vec<String>)> {
    let names = run(&["man", "--list"]).fine();
    let of = |name: &str| {
        let words: Vec<&str> = name.split('-').skip(1).chain(["--help"]).collect();
        let help = run(&words).fine();
        let after = help.split("\nExamples:\n").nth(1).unwrap_or_default();
        let lines = after.lines().take_while(|line| line.starts_with("  exactop"));
        // The result stands behind two blanks.
        let line = |line: &str| line.trim().split("  ").next().expect("a line").to_string();
        (name.to_string(), lines.map(line).collect())
    };
    names.lines().map(of).collect()
}

/// The words of a line as a shell reads it.
fn words(line: &str, more: &[&str]) -> Vec<String> {
    let words = line.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(String::from).collect(),
        _ => vec![part.to_string()],
    });
    words.skip(1).chain(more.iter().map(ToString::to_string)).collect()
}

/// Runs a line in a directory with recordings.
fn works(line: &str, more: &[&str], dir: &Path) {
    let words = words(line, more);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command: Command = command(&words);
    command.current_dir(dir);
    let done = done(command);
    // doctor reports with its code what this machine lacks.
    let may_be = if line.starts_with("exactop doctor") { 1 } else { 0 };
    assert!(done.code.is_some_and(|code| code <= may_be), "{line}: {:?} {}", done.code, done.err);
    let writes = ["exactop export", "exactop trace"].iter().any(|begin| line.starts_with(begin));
    assert!(!done.out.is_empty() || writes, "{line} prints nothing");
}

/// A directory with the recordings that examples name.
fn recordings() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["before.rec", "after.rec", "incident.rec"] {
        std::fs::copy(RECORDED, dir.path().join(name)).expect("a recording");
    }
    dir
}

#[test]
fn every_example_runs_or_needs_what_a_test_lacks() {
    for (name, lines) in examples() {
        assert!(lines.len() >= 2, "{name}: {lines:?}");
        for line in lines {
            let begins = |begin: &&str| line.starts_with(*begin);
            let runs = RUN.iter().any(|(begin, _)| begins(begin)) || ATTACHING.iter().any(&begins);
            let needs = NEEDING.iter().flat_map(|(_, begins)| *begins).any(begins);
            assert!(runs || needs || line == "exactop", "{name}: '{line}' is in no list");
        }
    }
}

#[test]
fn examples_that_need_no_rights_run() {
    let dir = recordings();
    let mut lines: Vec<String> = examples().into_iter().flat_map(|(_, lines)| lines).collect();
    lines.sort();
    lines.dedup();
    let mut found = 0;
    for line in lines {
        if let Some((_, more)) = RUN.iter().find(|(begin, _)| line.starts_with(begin)) {
            // Ten seconds of an example are one here.
            let line = line.replace("-d 10", "-d 1");
            works(&line, more, dir.path());
            found += 1;
        }
    }
    assert!(found >= RUN.len(), "{found} examples ran");
}

#[test]
#[cfg(feature = "bpf")]
fn examples_that_attach_programs_run() {
    if without_ledger() {
        return;
    }
    let dir = recordings();
    for (_, lines) in examples() {
        for line in lines.iter().filter(|line| ATTACHING.iter().any(|b| line.starts_with(b))) {
            // Ten windows of a second are two of a tenth here.
            works(&line.replace(" 1 10", " 0.1 2"), &[], dir.path());
        }
    }
}
