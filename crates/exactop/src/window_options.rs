//! Options that commands which read windows share. The tables of docs/reference/options.md are
//! tested against clap.

use crate::cli::Cli;
use crate::help;
use clap::{Arg, Command};
use exactop_model::on_demand::Subject;
use std::collections::BTreeMap;
use Reads::{Books, Either, Measured, Printed, Recorded, Summed};

/// How a command uses windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// Prints one window after the other.
    Printed,
    /// Measures windows.
    Measured,
    /// Takes windows from a recording on request.
    Either,
    /// Takes windows from a recording.
    Recorded,
    /// Takes windows from the books of many machines.
    Books,
    /// Prints sums of windows.
    Summed,
}

/// Each command except those of subjects, and its uses of windows; empty if it reads none.
const COMMANDS: &[(&str, &[Reads])] = &[
    ("exactop", &[Printed, Measured]),
    ("ptop", &[Printed, Measured, Either]),
    ("prstat", &[Measured, Either]),
    ("blame", &[Printed, Measured, Either]),
    ("cgroups", &[Printed, Measured, Either]),
    ("web", &[Measured, Either]),
    ("record", &[Measured]),
    ("replay", &[Printed, Recorded]),
    ("report", &[Recorded, Summed]),
    ("diff", &[Recorded, Summed]),
    ("record list", &[Recorded]),
    ("record cut", &[Recorded]),
    ("record verify", &[Recorded]),
    ("export parquet", &[Recorded]),
    ("export clickhouse", &[Recorded]),
    ("fleet check", &[Books, Summed]),
    ("fleet report", &[Books, Summed]),
    ("cgroups set", &[]),
    ("columns", &[]),
    ("completions", &[]),
    ("daemon", &[]),
    ("doctor", &[]),
    ("lab", &[]),
    ("load", &[]),
    ("man", &[]),
    ("run", &[]),
    ("trace", &[]),
];

/// Options, their meanings, and the kinds of commands that take them.
const SHARED: &[(&str, &str, &[Reads])] = &[
    ("delay", "Length of a window", &[Measured]),
    ("iterations", "Exit after N windows", &[Printed]),
    ("once", "Short for `-n 1`", &[Printed]),
    ("batch", "Text, never drawn over the previous window", &[Printed]),
    ("json", "One JSON object for each window, or for all", &[Printed, Summed]),
    ("csv", "A line for each row and window", &[Printed]),
    ("rows", "At most N rows of text", &[Printed, Summed]),
    ("pid", "Only these processes", &[Printed]),
    ("source", "Where the figures come from", &[Measured]),
    ("socket", "The daemon's socket", &[Measured]),
    ("replay", "Windows of a recording instead of new ones", &[Either]),
    ("dir", "Where the recording is, as the argument `DIR|FILE`", &[Recorded]),
    ("time", "From a time on; with +LENGTH a time range", &[Either, Recorded, Books]),
];

/// A command that lacks an option of its kind, and the reason.
const LACKS: &[(&str, &str, &str)] = &[
    ("cgroups", "pid", "A group has many processes"),
    ("diff", "time", "It has two: `-a` and `-b`"),
    ("fleet report", "json", "`--format` has text, markdown and html"),
    ("prstat", "delay", "illumos has an argument: `prstat INTERVAL COUNT`"),
    ("record list", "time", "It lists every file"),
    ("record verify", "time", "It reads every byte"),
];

/// A command that spells an option differently, and the reason.
const DIFFERS: &[(&str, &str, &str)] = &[
    ("export parquet", "--output", "A directory or a URL, not one file"),
    ("exactop, ptop, replay", "-o", "The order of rows, as in top(1)"),
    ("diff", "-b", "The second time range: it prints nothing window by window"),
    ("prstat", "--time", "`-t` is illumos's"),
    ("record", "--dir", "The recording is written there: a directory"),
    ("replay", "--html", "It writes a file: `-o` is the order of rows"),
];

/// Commands by their path on the command line.
fn commands() -> BTreeMap<String, Command> {
    fn below(command: &Command, path: &str, all: &mut BTreeMap<String, Command>) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            let path = format!("{path} {}", one.get_name()).trim_start().to_string();
            below(one, &path, all);
            all.insert(path, one.clone());
        }
    }
    let mut cli = help::command();
    cli.build();
    let mut all = BTreeMap::new();
    below(&cli, "", &mut all);
    all.insert("exactop".into(), cli);
    all
}

/// The option with this long name, if help shows it.
fn option<'a>(command: &'a Command, long: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(long) && !arg.is_hide_set())
}

/// The option as help writes it: `-d, --delay SECONDS`.
fn spelling(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes = arg.get_action().takes_values();
    let value = arg.get_value_names().filter(|_| takes).and_then(|names| names.first());
    names.join(", ") + &value.map_or(String::new(), |value| format!(" {value}"))
}

/// True if a table has an entry for this command and option.
fn says(table: &[(&str, &str, &str)], command: &str, option: &str) -> bool {
    table
        .iter()
        .any(|(commands, of, _)| *of == option && commands.split(", ").any(|c| c == command))
}

/// Every command with its uses of windows.
fn all() -> impl Iterator<Item = (&'static str, &'static [Reads])> {
    let commands = commands();
    let subjects = Subject::ALL.iter().map(move |subject| {
        let replays = option(&commands[subject.name()], "replay").is_some();
        let reads: &[Reads] =
            if replays { &[Printed, Measured, Either] } else { &[Printed, Measured] };
        (subject.name(), reads)
    });
    COMMANDS.iter().copied().chain(subjects)
}

/// Commands that read windows.
fn readers() -> impl Iterator<Item = (&'static str, &'static [Reads])> {
    all().filter(|(_, reads)| !reads.is_empty())
}

/// The tables of the reference page.
fn tables(commands: &BTreeMap<String, Command>) -> String {
    let mut text = String::from("| option | meaning | commands |\n|---|---|---|\n");
    for (long, meaning, _) in SHARED {
        let having: Vec<(&str, &Arg)> = readers()
            .filter_map(|(name, _)| Some((name, option(&commands[name], long)?)))
            .filter(|(name, _)| !says(DIFFERS, name, &format!("--{long}")))
            .collect();
        let names: Vec<&str> = having.iter().map(|(name, _)| *name).collect();
        let spelt = spelling(having[0].1).replace('|', "\\|");
        let (meaning, names) = (meaning.replace('|', "\\|"), names.join(", "));
        text += &format!("| `{spelt}` | {meaning} | {names} |\n");
    }
    text += "\n| command | option | why it differs |\n|---|---|---|\n";
    for (command, long, why) in LACKS {
        text += &format!("| {command} | no `--{long}` | {why} |\n");
    }
    for (command, option, why) in DIFFERS {
        text += &format!("| {command} | `{option}` | {why} |\n");
    }
    text
}

#[test]
fn every_command_says_whether_it_reads_windows() {
    let known = |path: &str| all().find(|(name, _)| *name == path);
    for path in commands().keys() {
        // Subcommands of a command that reads no windows read none.
        let above = path.split(' ').next().and_then(known);
        let is_said = known(path).is_some() || above.is_some_and(|(_, reads)| reads.is_empty());
        let has_more = all().any(|(name, _)| name.starts_with(&format!("{path} ")));
        assert!(is_said || has_more, "'{path}': add it to COMMANDS");
    }
}

#[test]
fn commands_that_read_windows_take_the_same_options() {
    let commands = commands();
    for (name, reads) in readers() {
        for (long, _, takers) in SHARED {
            let should = takers.iter().any(|taker| reads.contains(taker));
            let differs = says(DIFFERS, name, &format!("--{long}"));
            let lacks = says(LACKS, name, long);
            let has = option(&commands[name], long).is_some();
            assert!(should || !lacks, "{name} --{long}: LACKS has it for nothing");
            assert_eq!(has, (should && !lacks) || differs, "{name} --{long}");
        }
    }
}

#[test]
fn an_option_has_one_spelling() {
    let commands = commands();
    let mut spellings: BTreeMap<String, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for (name, _) in readers() {
        for arg in commands[name].get_arguments().filter(|arg| !arg.is_hide_set()) {
            let long = arg.get_long().filter(|long| *long != "help");
            let long = long.map(|long| (format!("--{long}"), spelling(arg)));
            // prstat's short options follow illumos's manual page.
            let short = arg.get_short().filter(|_| name != "prstat");
            let short = short.map(|short| (format!("-{short}"), format!("{:?}", arg.get_long())));
            let typed = long.into_iter().chain(short);
            for (typed, spelt) in typed.filter(|(typed, _)| !says(DIFFERS, name, typed)) {
                spellings.entry(typed).or_default().entry(spelt).or_default().push(name);
            }
        }
    }
    spellings.retain(|_, spelt| spelt.len() > 1);
    assert!(spellings.is_empty(), "spelt in two ways: {spellings:#?}");
}

#[test]
fn a_recording_is_the_argument_or_dir() {
    for (name, _) in readers().filter(|(_, reads)| reads.contains(&Recorded)) {
        let words: Vec<&str> = name.split(' ').collect();
        let more: &[&str] = match name {
            "record cut" => &["-t", "boot", "-o", "x"],
            "export parquet" | "export clickhouse" => &["--to", "x"],
            "diff" => &["-a", "03:05+15m", "-b", "03:20+15m"],
            _ => &[],
        };
        let read = |given: &[&str]| {
            let words = [&["exactop"], &words[..], given, more].concat();
            clap::Parser::try_parse_from(words).map(|_: Cli| ()).map_err(|e| e.to_string())
        };
        assert_eq!(read(&["/somewhere"]), Ok(()), "{name} DIR");
        assert_eq!(read(&["--dir", "/somewhere"]), Ok(()), "{name} --dir");
        let both = read(&["--dir", "/somewhere", "/elsewhere"]).expect_err(name);
        assert!(both.contains("cannot be used with"), "{name}: {both}");
    }
}

#[test]
fn old_names_of_options_are_still_read() {
    for old in [
        "waits --replay x --at 14:03",
        "prstat --replay x --at 14:03",
        "report --since boot",
        "report -n 3",
        "diff -n 3 a b",
        "fleet check --from x -n 3",
        "export parquet --to x",
    ] {
        let words = ["exactop"].into_iter().chain(old.split(' '));
        let read: Result<Cli, _> = clap::Parser::try_parse_from(words);
        assert!(read.is_ok(), "{old}: {}", read.expect_err("an error"));
    }
}

#[test]
fn the_reference_has_the_tables() {
    let (document, tables) =
        (include_str!("../../../docs/reference/options.md"), tables(&commands()));
    assert!(document.contains(&tables), "docs/reference/options.md needs these tables:\n{tables}");
}
