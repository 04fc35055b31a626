//! Exit codes as docs/reference/exit-codes.md lists them.

use crate::documents::document;
use crate::helpers::processes::{send, TERM};
#[cfg(feature = "bpf")]
use crate::helpers::run::done;
use crate::helpers::run::{command, run, run_on};
use crate::made_up_proc::tree;
use std::io::Read;
use std::process::Stdio;

/// The first cells of the rows of the n-th table.
fn cells(text: &str, table: usize) -> Vec<Vec<&str>> {
    let mut tables: Vec<Vec<Vec<&str>>> = Vec::new();
    let mut before = "";
    for line in text.lines() {
        if line.starts_with('|') {
            if !before.starts_with('|') {
                tables.push(Vec::new());
            }
            let row = line.trim_matches('|').split('|').map(str::trim).collect();
            tables.last_mut().expect("a table").push(row);
        }
        before = line;
    }
    // Without the header and its underline.
    tables.swap_remove(table).split_off(2)
}

/// Exits with the code of a row of the first table.
fn code_of(row: &str) -> i32 {
    let tree = tree();
    let one = ["--json", "--once", "-d", "0.05"];
    match row {
        "0" => run_on(tree.path(), &one).code.expect("a code"),
        "1" => run_on(tree.path(), &["-b", "-p", "4711"]).code.expect("a code"),
        "2" => run(&["--nonsense"]).code.expect("a code"),
        "3" => run_on(tree.path(), &[&one[..], &["--check"]].concat()).code.expect("a code"),
        "128 + N" => {
            let mut endless = command(&["--json", "-d", "0.01", "--proc-root"]);
            endless.arg(tree.path()).stdout(Stdio::piped());
            let mut child = endless.spawn().expect("the command starts");
            let mut out = child.stdout.take().expect("a pipe");
            out.read_exact(&mut [0; 1]).expect("a window");
            send(child.id(), TERM);
            std::io::copy(&mut out, &mut std::io::sink()).expect("the rest");
            child.wait().expect("an end").code().expect("a code")
        }
        other => panic!("no case for exit code {other}"),
    }
}

#[test]
fn every_documented_code_is_returned() {
    let text = document("reference/exit-codes.md");
    let rows = cells(&text, 0);
    let codes: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "128 + N"]);
    for code in codes {
        let wanted = if code == "128 + N" { 128 + TERM } else { code.parse().expect("a number") };
        assert_eq!(code_of(code), wanted, "{code}");
    }
}

#[test]
#[cfg(feature = "bpf")]
fn run_returns_the_codes_of_its_command_and_its_own() {
    let text = document("reference/exit-codes.md");
    let of_run = |row: &&Vec<&str>| row[0] == "`run`";
    let rows = cells(&text, 1);
    let codes: Vec<&str> = rows.iter().filter(of_run).map(|row| row[1]).collect();
    assert_eq!(codes, ["the command's", "128 + N", "125, 126, 127"]);
    let code = |words: &[&str]| done(command(&[&["run"], words].concat())).code;
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -TERM $$"]), Some(128 + TERM));
    for wrong in [&["--chdir", "/dev/null/none"][..], &["--nonsense"], &["--weight", "0"]] {
        assert_eq!(code(&[wrong, &["true"]].concat()), Some(125), "{wrong:?}");
    }
    assert_eq!(code(&["/"]), Some(126));
    assert_eq!(code(&["exactop-no-such-command"]), Some(127));
}

#[test]
fn the_help_names_every_code() {
    let help = run(&["--help"]).fine().split_whitespace().collect::<Vec<_>>().join(" ");
    let status = help.split("Exit status: ").nth(1).expect("the codes");
    for code in
        ["0 done", "1 something failed", "2 wrong use", "3 found", "128+N ended by signal N"]
    {
        assert!(status.contains(code), "{code}: {status}");
    }
}

#[test]
fn other_codes_of_commands_are_as_documented() {
    let text = document("reference/exit-codes.md");
    assert!(text.contains("| `record verify` | 1 | the recording is damaged |"));
    let dir = tempfile::tempdir().expect("a directory");
    let damaged = dir.path().join("damaged.rec");
    let whole = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../keep/recording/tests/recordings/form-1-procfs.rec"
    );
    let mut bytes = std::fs::read(whole).expect("a recording");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&damaged, bytes).expect("written");
    let damaged = damaged.to_str().expect("UTF-8");
    assert_eq!(run(&["record", "verify", whole]).code, Some(0));
    assert_eq!(run(&["record", "verify", damaged]).code, Some(1));
    assert!(text.contains("| `prstat` | 1 | something failed, or wrong use, as on illumos |"));
    assert_eq!(run(&["prstat", "--nonsense"]).code, Some(1));
    assert!(text.contains("`exactop daemon --check` tests the settings and returns 0 or 2"));
    let config = dir.path().join("config.toml");
    for (body, code) in [("", 0), ("nonsense = 1\n", 2)] {
        std::fs::write(&config, body).expect("written");
        let path = config.to_str().expect("UTF-8");
        assert_eq!(run(&["daemon", "--check", "--config", path]).code, Some(code), "{body}");
    }
    assert!(text.contains("| `waits --replay` | 1 | no window of the recording has waits |"));
    let without = run(&["waits", "--replay", whole]);
    assert_eq!(without.code, Some(1), "{}", without.err);
    assert!(text.contains("| `trace`; `load herd`, `spin`, `sleepers`, `spawn`, `pingpong` | 0 |"));
    for load in ["herd --wake one", "spin", "sleepers 10", "spawn", "pingpong"] {
        let words: Vec<&str> = ["load"].into_iter().chain(load.split(' ')).collect();
        let mut load_of = command(&words);
        load_of.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = load_of.spawn().expect("it starts");
        let pid = child.id();
        exactop_testkit::wait::until("the load to catch signals", || catches(pid, TERM));
        send(pid, TERM);
        assert_eq!(child.wait().expect("an end").code(), Some(0), "{load}");
    }
}

/// True if a process has a handler for a signal.
fn catches(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("a mask") & 1 << (signal - 1) != 0
}
