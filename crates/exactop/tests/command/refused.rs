//! Wrong use: one line on standard error that says what was found and what to do, and the code.

use crate::run::{command, done, run, run_on};
use crate::tree::tree;

/// Arguments, and words the one line must contain.
const REFUSED: &[(&[&str], &str)] = &[
    (&["--irq", "maybe"], "auto, on, off"),
    (&["run", "--weight", "0", "true"], "1 to 10000"),
    (&["run", "--max", "much", "true"], "40%"),
    (&["run", "--max", "10/5", "true"], "period of 5 us"),
    (&["run", "--cpus", "x", "true"], "0,2,4-7"),
    (&["run", "--sched", "fifo", "true"], "fifo:PRIORITY"),
    (&["run", "--env", "A", "true"], "NAME=VALUE"),
    (&["run", "--nice", "x", "true"], "'x'"),
    (&["run", "--cgroup", "/", "--max", "1%", "true"], "cannot be used with"),
    (&["run", "-p", "-q", "true"], "cannot be used with"),
    (&["run", "--repeat", "0", "true"], "1 or more"),
    (&["run", "--repeat", "2", "--compare", "speed=1", "--", "true"], "nice, cpus"),
    (&["run", "--warmup", "2", "true"], "--repeat"),
    (&["run"], "<COMMAND>"),
    (&["syscalls", "clsoe"], "did you mean close?"),
    (&["syscalls", "qqqqqqqqqq"], "syscalls(2) lists them"),
    (&["syscalls", "0"], "interval '0'"),
    (&["syscalls", "close", "-1"], "interval '-1'"),
    (&["syscalls", "1", "0"], "count '0'"),
    (&["syscalls", "1", "2", "3"], "nothing goes after the count"),
    (&["syscalls", "1", "close"], "count 'close'"),
    (&["syscalls", "--by", "cpu"], "call, process, thread"),
    (&["syscalls", "--json", "--csv"], "cannot be used with"),
    (&["syscalls", "-p", "x"], "not a process id"),
    (&["wakeups", "x"], "interval 'x'"),
    (&["wakeups", "nan"], "interval 'nan'"),
    (&["wakeups", "--work-us", "-1"], "--work-us"),
    (&["waits", "1", "x"], "count 'x'"),
    (&["waits", "--by", "call"], "process, thread"),
    (&["-b", "-d", "0"], "more than 0"),
    (&["-b", "-d", "-1"], "more than 0 s, not -1"),
    (&["-b", "-d", "nan"], "number of seconds"),
    (&["-b", "-d", "inf"], "at most a day"),
    (&["-b", "-d", "86401"], "at most a day"),
    (&["-b", "-d", "1e300"], "at most a day"),
    (&["-b", "-d", "two"], "'two'"),
    (&["-b", "-d", ""], "number of seconds"),
    (&["-b", "-d"], "a value is required"),
    (&["-b", "-n", "0"], "1 or more"),
    (&["-b", "-n", "-3"], "1 or more"),
    (&["-b", "-n", "99999999999999999999"], "1 or more"),
    (&["-b", "-w", "2"], "3 to 512"),
    (&["-b", "-w", "513"], "3 to 512"),
    (&["--columns", "pid,comand"], "did you mean 'command'?"),
    (&["--columns", "qqqqqqqq"], "'exactop columns' lists them"),
    (&["--columns", ""], "empty name"),
    (&["--columns", "pid,,user"], "empty name"),
    (&["--columns", "pid,PID"], "twice"),
    (&["-b", "-o", "%CUP"], "did you mean"),
    (&["-b", "-o", ""], "no column"),
    (&["-b", "-o", "+-pid"], "no column"),
    (&["-b", "-p", "0"], "not a process id"),
    (&["-b", "-p", "-1"], "not a process id"),
    (&["-b", "-p", "1,x"], "'x'"),
    (&["-b", "-p", ""], "not a process id"),
    (&["-b", "-p", "4294967296"], "not a process id"),
    (&["-b", "-u", "no-such-user"], "no user 'no-such-user'"),
    (&["-b", "--filter", "cpu"], "no operator"),
    (&["-b", "--filter", "comand=sh"], "did you mean 'command'?"),
    (&["-b", "--filter", "%CPU>much"], "'much' is not a number"),
    (&["-b", "--filter", ""], "no operator"),
    (&["--json", "--csv"], "cannot be used with"),
    (&["--once", "-n", "2"], "cannot be used with"),
    (&["--json", "-w", "80"], "cannot be used with"),
    (&["--csv", "-1"], "cannot be used with"),
    (&["--source", "magic"], "procfs"),
    (&["-b", "--preset", "nonsense"], "there are top, prstat, ptop"),
    (&["-b", "--preset", "top", "--columns", "pid"], "cannot be used with"),
    (&["ptop", "--preset", "top"], "columns of its own"),
    (&["ptop", "0"], "more than 0"),
    (&["ptop", "2", "x"], "'x'"),
    (&["--source", "snapshot", "--proc-root", "/proc", "-b"], "procfs"),
    (&["--split", "half"], "sampled"),
    (&["--budget", "nan"], "per cent"),
    (&["--budget", "-1"], "0 to 100"),
    (&["--budget", "101"], "0 to 100"),
    (&["--source", "ledger", "--proc-root", "/proc", "-b"], "procfs"),
    (&["--colums", "pid"], "'--columns'"),
    (&["nonsense"], "nonsense"),
    (&["-b", "columns"], "cannot be used with"),
    (&["columns", "--json", "--markdown"], "cannot be used with"),
    (&["completions"], "SHELL"),
    (&["completions", "tcsh"], "bash, zsh, fish"),
    (&["-n", "3"], "add -b"),
    (&["-w", "80"], "add -b"),
    (&[], "not a terminal"),
];

#[test]
fn wrong_use_is_refused_in_one_line() {
    for (args, words) in REFUSED {
        let done = run(args);
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{args:?}: {}", done.err);
        assert!(done.err.starts_with("exactop: "), "{args:?}: {}", done.err);
        assert_eq!(done.err.lines().count(), 1, "{args:?}: {}", done.err);
        assert!(done.err.contains(words), "{args:?}: {words:?} is not in: {}", done.err);
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let tree = tree();
    let done = run_on(tree.path(), &["-b", "-p", "1,4711"]);
    assert_eq!((done.code, done.err.as_str()), (Some(1), "exactop: no process 4711\n"));
}

#[test]
fn a_root_that_is_no_proc_is_named() {
    let done = run(&["-b", "--proc-root", "/nonexistent"]);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("/nonexistent"), "{}", done.err);
}

#[test]
fn hostile_arguments_cannot_write_to_the_terminal() {
    let done = run(&["-b", "-u", "a\x1b[2J\nb"]);
    assert_eq!(done.err.lines().count(), 1);
    assert!(!done.err.contains('\x1b'), "{:?}", done.err);
}

/// A terminal is made by script(1), which comes with every Debian.
#[test]
fn a_broken_configuration_is_refused_with_file_and_line() {
    let home = tempfile::tempdir().expect("a temporary directory");
    std::fs::create_dir(home.path().join("exactop")).expect("a directory");
    let file = home.path().join("exactop/config.toml");
    std::fs::write(&file, "threads = true\ninterval_s = 0.0\n").expect("a file");
    let binary = env!("CARGO_BIN_EXE_exactop");
    let mut script = std::process::Command::new("script");
    script.args(["-qec", binary, "/dev/null"]).env("XDG_CONFIG_HOME", home.path());
    script.stdin(std::process::Stdio::null());
    let done = done(script);
    assert_eq!(done.code, Some(2), "{}", done.out);
    assert!(done.out.contains(&format!("{}:2: ", file.display())), "{}", done.out);
}

#[test]
fn without_a_home_there_are_defaults() {
    let mut command = command(&["--version"]);
    command.env_remove("HOME");
    assert!(done(command).fine().starts_with("exactop "));
}
