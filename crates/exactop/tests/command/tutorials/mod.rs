//! The commands of the tutorials end well as they are printed, and print the headers that the tutorials show.
//!
//! `<!-- run -->` before a fenced block of `docs/tutorials/*.md` marks the block: each line with `$ ` is a command,
//! and the lines below it are its output. `<!-- run with the ledger -->` marks a block that needs the ledger.

mod incident;

use crate::helpers::run::{program, without_ledger};
use exactop_testkit::wait;
use rustix::process::{kill_process_group, Pid, Signal};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Longest run of one command.
const LIMIT: Duration = wait::LIMIT;
const MARK: &str = "<!-- run -->";
const LEDGER_MARK: &str = "<!-- run with the ledger -->";

#[test]
fn the_marked_commands_of_the_tutorials_work_as_printed() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials");
    let mut pages: Vec<PathBuf> = fs::read_dir(&directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    let mut commands = 0;
    for page in pages {
        let steps = steps(&fs::read_to_string(&page).expect("a page"));
        let desk = Desk::new();
        desk.record(page.ends_with("incident.md"));
        for step in steps.iter().filter(|step| !step.ledger || !without_ledger()) {
            desk.follow(step, LIMIT)
                .unwrap_or_else(|error| panic!("{}:{}: {error}", page.display(), step.line));
            commands += 1;
        }
    }
    assert!(commands > 0, "no tutorial has a marked block");
}

/// A command of a page and the output that the page shows.
#[derive(Debug, Default, PartialEq)]
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
    ledger: bool,
}

/// The commands of the marked blocks. A command goes on after a line that ends with `\`.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((mark, at)) = lines.next() {
        if mark != MARK && mark != LEDGER_MARK {
            continue;
        }
        let fence = lines.next().map(|(line, _)| line);
        assert!(
            fence.is_some_and(|line| line.starts_with("```")),
            "line {at}: no block follows the mark"
        );
        while let Some((text, line)) = lines.next().filter(|(text, _)| *text != "```") {
            match (text.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    let mut command = command.to_string();
                    while command.ends_with('\\') {
                        let (more, _) = lines.next().expect("a command goes on");
                        command = format!("{command}\n{more}");
                    }
                    steps.push(Step {
                        line,
                        command,
                        shown: Vec::new(),
                        ledger: mark == LEDGER_MARK,
                    });
                }
                (None, Some(step)) if step.line > at => step.shown.push(text.into()),
                _ => panic!("line {line}: the block does not begin with a command"),
            }
        }
    }
    steps
}

/// Words of a header, if the line is one: capitals without a small letter, or three columns without a digit.
fn header(line: &str) -> Option<Vec<&str>> {
    let words = || line.split_whitespace();
    let capital = |word: &&str| word.contains(|c: char| c.is_ascii_uppercase());
    let capitals = words().filter(capital).count() >= 2 && !line.contains(char::is_lowercase);
    let columns = line.split("  ").filter(|column| !column.trim().is_empty()).count() >= 3;
    let titles = columns && !line.contains(|c: char| c.is_ascii_digit());
    (capitals || titles).then(|| words().collect())
}

/// A directory where a reader follows a tutorial. `exactop` is the program under test.
struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { directory: tempfile::tempdir().expect("a directory") };
        for name in ["bin", "work/target/release"] {
            fs::create_dir_all(desk.path(name)).expect("a directory");
        }
        // Tutorials name the program as `make build` leaves it.
        let built = desk.path("work/target/release/exactop");
        std::os::unix::fs::symlink(desk.path("bin/exactop"), built).expect("a link");
        desk.exactop(&format!("exec '{}' \"$@\"", program()));
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn exactop(&self, script: &str) {
        let file = self.path("bin/exactop");
        // Another process writes it: a file that is open for writing cannot be started.
        let status =
            Command::new("cp").arg("/dev/stdin").arg(&file).stdin(self.text(script)).status();
        assert!(status.expect("cp(1)").success());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    fn text(&self, script: &str) -> Stdio {
        let file = self.path("script");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a script");
        File::open(file).expect("a script").into()
    }

    /// Records the incident as `rec`. Commands without `--dir` read it, too, if it is their default.
    fn record(&self, is_default: bool) {
        let recording = self.path("work/rec");
        incident::record(&recording);
        if is_default {
            self.exactop(&format!(
                "case \"$1 $2\" in 'record list' | 'record cut' | 'record verify' | report* | diff* | replay* | export*)\n\
                 set -- \"$@\" --dir '{}' ;;\nesac\nexec '{}' \"$@\"",
                recording.display(),
                program()
            ));
        }
    }

    /// Runs the command. It must succeed within the limit and print the headers that the page shows.
    fn follow(&self, step: &Step, limit: Duration) -> Result<(), String> {
        let (out, err) = (self.path("out"), self.path("err"));
        let status = self.run(&step.command, [&out, &err], limit);
        let read =
            |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("output")).into_owned();
        let out = read(&out);
        if !status.success() {
            return Err(format!("'{}' failed, {status}: {}{out}", step.command, read(&err)));
        }
        for words in step.shown.iter().filter_map(|line| header(line)) {
            let has_all = |line: &str| {
                let printed: Vec<&str> = line.split_whitespace().collect();
                words.iter().all(|word| printed.contains(word))
            };
            if !out.lines().any(has_all) {
                let words = words.join(" ");
                return Err(format!("'{}' prints no line '{words}': {out}", step.command));
            }
        }
        Ok(())
    }

    fn run(&self, command: &str, [out, err]: [&Path; 2], limit: Duration) -> ExitStatus {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-o", "pipefail", "-c", command]).current_dir(self.path("work"));
        bash.env("PATH", format!("{}:{path}", self.path("bin").display()));
        bash.env("HOME", self.path("work")).env("TZ", "UTC").env("TERM", "xterm");
        for variable in ["COLUMNS", "EXACTOP_HOST", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            bash.env_remove(variable);
        }
        let file = |path: &Path| File::create(path).expect("a file");
        bash.stdin(Stdio::null()).stdout(file(out)).stderr(file(err)).process_group(0);
        let mut group = Group(bash.spawn().expect("bash starts"));
        let mut status = None;
        wait::until_within(limit, &format!("end of '{command}'"), || {
            status = group.0.try_wait().expect("a child");
            status.is_some()
        });
        status.expect("it has ended")
    }
}

/// A command and all that it starts; nothing of it outlives this.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.0.id() as i32) {
            // There may be no process left in it.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

fn step(command: &str, shown: &[&str]) -> Step {
    let shown = shown.iter().map(|&line| line.into()).collect();
    Step { command: command.into(), shown, ..Step::default() }
}

#[test]
fn only_marked_blocks_have_commands() {
    let page = "```\n$ no\n```\n<!-- run -->\n```sh\n$ a \\\n  b\nA B\n$ c\n```\n<!-- run with the ledger -->\n```\n$ d\n```\n";
    let found = steps(page);
    let commands: Vec<_> = found.iter().map(|s| (s.line, s.command.as_str(), s.ledger)).collect();
    assert_eq!(commands, [(6, "a \\\n  b", false), (9, "c", false), (13, "d", true)]);
    assert_eq!(found[0].shown, ["A B"]);
}

#[test]
fn a_header_is_a_line_of_capitals_or_of_columns() {
    assert_eq!(header("  A  CPU (99 %)  WHO"), Some(vec!["A", "CPU", "(99", "%)", "WHO"]));
    assert_eq!(header("who  CPU time  exited"), Some(vec!["who", "CPU", "time", "exited"]));
    for line in ["came  0.00  5.10", "A", "1 2 3", "A row AND one", "one  two", ""] {
        assert_eq!(header(line), None, "{line}");
    }
}

#[test]
fn a_command_that_fails_and_a_header_that_is_missing_are_errors() {
    let desk = Desk::new();
    assert_eq!(desk.follow(&step("printf 'X  A  B\\n'", &["A B", "1 2"]), LIMIT), Ok(()));
    let error = desk.follow(&step("echo A B", &["A C"]), LIMIT).unwrap_err();
    assert_eq!(error, "'echo A B' prints no line 'A C': A B\n");
    let error = desk.follow(&step("echo no >&2; false | cat", &[]), LIMIT).unwrap_err();
    assert!(error.contains("exit status: 1: no\n"), "{error}");
    assert!(desk.follow(&step("exactop --version | grep '^exactop '", &[]), LIMIT).is_ok());
}

#[test]
fn nothing_outlives_a_command() {
    let desk = Desk::new();
    desk.follow(&step("sleep 1000 & echo $! >pid", &[]), LIMIT).expect("a command");
    let pid = fs::read_to_string(desk.path("work/pid")).expect("a PID");
    let proc = PathBuf::from(format!("/proc/{}/cmdline", pid.trim()));
    wait::until("the end of sleep", || fs::read(&proc).map_or(true, |line| line.is_empty()));
}

#[test]
#[should_panic(expected = "end of 'sleep 1000'")]
fn a_command_that_does_not_end_is_an_error() {
    let _ = Desk::new().follow(&step("sleep 1000", &[]), Duration::from_millis(200));
}
