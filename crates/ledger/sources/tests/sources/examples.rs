//! Tests that the examples run and print the documented output.

use std::process::Command;

/// Cargo builds the examples with the tests, beside the directory of this program.
fn run(example: &str, args: &[&str]) -> String {
    let me = std::env::current_exe().expect("this program");
    let built = me.ancestors().nth(2).expect("target/PROFILE").join("examples").join(example);
    let output = Command::new(&built).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_snapshot_is_printed() {
    let text = run("snapshot", &["procfs"]);
    let me = format!("{:>8} ", std::process::id());
    assert!(text.starts_with("source procfs\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with(&me)).count(), 1, "{text}");
}

#[test]
fn a_process_is_watched() {
    let text = run("watch", &[&std::process::id().to_string(), "2", "0.2"]);
    assert_eq!(text.lines().filter(|line| line.contains(": ran ")).count(), 2, "{text}");
    let gone = run("watch", &["4194304", "1", "0.1"]);
    assert_eq!(gone, "process 4194304 is not there\n");
}

#[test]
fn groups_are_summed() {
    let text = run("groups", &["0.3"]);
    let figures: Vec<f64> = text
        .lines()
        .map(|line| line.split_whitespace().rev().nth(4).expect("a figure").parse().expect("it"))
        .collect();
    let (sum, groups) = figures.split_last().expect("a sum");
    assert!((groups.iter().sum::<f64>() - sum).abs() < 0.01 * figures.len() as f64, "{text}");
}
