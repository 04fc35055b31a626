//! Wrong use: one line on standard error with the found value and the remedy, and the exit code.

use crate::helpers::run::{command, done, program, run, run_on};
use crate::made_up_proc::tree;

/// Arguments, and words that the one line must contain.
const REFUSED: &str = include_str!("refused.txt");

/// Subcommands whose name begins the line.
const SUBCOMMANDS: [&str; 21] = [
    "run",
    "doctor",
    "wakeups",
    "cgroups",
    "lab",
    "syscalls",
    "waits",
    "ptop",
    "columns",
    "completions",
    "man",
    "load",
    "export",
    "fleet",
    "record",
    "web",
    "daemon",
    "replay",
    "report",
    "diff",
    "trace",
];

#[test]
fn wrong_use_is_refused_in_one_line() {
    for line in REFUSED.lines() {
        let (args, words) = line.split_once(" | ").expect("arguments and words");
        let args: Vec<&str> = args.split_whitespace().map(|arg| arg.trim_matches('\'')).collect();
        let done = run(&args);
        // The command of run may exit with 2 itself.
        done.refused(if args.first() == Some(&"run") { 125 } else { 2 }, words);
        let named = args.first().is_some_and(|arg| SUBCOMMANDS.contains(arg));
        let begins = if named { format!("exactop: {}", args[0]) } else { "exactop: ".into() };
        assert!(done.err.starts_with(&begins), "{args:?}: {}", done.err);
        for unreadable in ["invalid digit", "invalid float", "syntax", "unrecognized", "FromStr"] {
            assert!(!done.err.contains(unreadable), "{args:?}: {}", done.err);
        }
    }
}

#[test]
fn a_missing_process_is_named() {
    let tree = tree();
    let done = run_on(tree.path(), &["-b", "-p", "1,4711"]);
    assert_eq!(
        (done.code, done.err.as_str()),
        (Some(1), "exactop: no process 4711: give the PID of a process that runs\n")
    );
    let done = run_on(tree.path(), &["prstat", "-p", "1,4711", "1", "1"]);
    done.refused(1, "exactop: prstat: no process 4711");
}

#[test]
fn a_wrong_option_of_prstat_points_to_its_own_help() {
    run(&["prstat", "--bogus"]).refused(1, "no option '--bogus': see 'exactop prstat --help'");
    run(&["prstat", "--time", "x"]).refused(1, "prstat: --time x needs --replay <DIR|FILE>");
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

/// script(1), which every Debian has, makes the terminal.
#[test]
fn a_broken_configuration_is_refused_with_file_and_line() {
    let home = tempfile::tempdir().expect("a temporary directory");
    std::fs::create_dir(home.path().join("exactop")).expect("a directory");
    let file = home.path().join("exactop/config.toml");
    std::fs::write(&file, "threads = true\ninterval_s = 0.0\n").expect("a file");
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &program(), "/dev/null"]).env("XDG_CONFIG_HOME", home.path());
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
