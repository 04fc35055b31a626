//! Every command's help: a verb, two examples that parse, and options below headings.

use super::{command, examples::EXAMPLES, is_listed, parse, FEW};
use crate::commands::prstat;
use clap::Command;

/// First words of the descriptions of commands.
const VERBS: &[&str] = &[
    "Check", "Compare", "Compute", "Count", "Cut", "List", "Measure", "Multiply", "Print",
    "Record", "Report", "Run", "Send", "Serve", "Set", "Show", "Write",
];

/// Widest line of a help.
const WIDTH: usize = 100;

/// All commands with their paths; the first is exactop itself.
fn all() -> Vec<(String, Command)> {
    let mut all = vec![(String::new(), command())];
    let mut at = 0;
    while let Some((path, one)) = all.get(at).cloned() {
        let below = one.get_subcommands().filter(|below| !below.is_hide_set());
        all.extend(below.map(|below| {
            (format!("{path} {}", below.get_name()).trim_start().to_string(), below.clone())
        }));
        at += 1;
    }
    all
}

/// The words of a line as a shell reads it; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words
}

#[test]
fn each_command_begins_with_a_verb() {
    for (path, one) in all().into_iter().skip(1) {
        let about = one.get_about().expect("a description").to_string();
        let verb = about.split_whitespace().next().expect("a word");
        assert!(VERBS.contains(&verb), "{path}: {about}");
        assert!(!about.ends_with('.'), "{path}: {about}");
    }
}

#[test]
fn each_command_has_two_examples_or_more() {
    let all = all();
    for (path, one) in &all {
        let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.strip_prefix("Examples:\n").unwrap_or_default();
        let examples = examples.lines().take_while(|line| line.starts_with("  exactop"));
        assert!(examples.count() >= 2, "{path}: {help}");
        for line in help.lines().take_while(|line| !line.is_empty()) {
            assert!(line.len() <= WIDTH, "{path}: {line}");
        }
    }
    for (path, _) in EXAMPLES {
        let known = all.iter().any(|(known, _)| known == path);
        // Without BPF, commands are missing.
        assert!(known || cfg!(not(feature = "bpf")), "{path} is not a command");
    }
}

#[test]
fn each_example_is_of_its_command_and_parses() {
    let all = all();
    for (path, examples) in EXAMPLES.iter().filter(|(path, _)| all.iter().any(|(of, _)| of == path))
    {
        for (line, result) in *examples {
            let words = words(line);
            let parsed = parse(prstat::arguments(words.iter().map(Into::into)));
            if let Err(error) = parsed {
                panic!("{line}: {error}");
            }
            assert!(!result.is_empty() && !result.ends_with('.'), "{line}: {result}");
        }
        let own = examples.iter().filter(|(line, _)| {
            line.strip_prefix("exactop").is_some_and(|rest| rest.trim_start().starts_with(path))
        });
        assert!(own.count() >= 2, "{path}: its examples are of other commands");
    }
}

#[test]
fn many_options_stand_below_headings() {
    for (path, one) in all() {
        let listed: Vec<_> = one.get_arguments().filter(|arg| is_listed(arg)).collect();
        if listed.len() <= FEW {
            continue;
        }
        let bare = listed.iter().filter(|arg| arg.get_help_heading().is_none());
        let bare: Vec<_> = bare.map(|arg| arg.get_id().as_str()).collect();
        assert!(bare.len() <= FEW, "{path}: {bare:?} have no heading");
    }
}
