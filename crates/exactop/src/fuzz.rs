//! Fuzz targets: the command line as words, and single values.

use crate::cli::Cli;
use crate::commands::prstat;
use crate::options::{pace, parse};
use clap::{CommandFactory, Parser};
use exactop_fuzzing::{corpus, Target};
use exactop_model::columns::COLUMNS;

/// Command lines, one word per line.
const LINES: &[&str] = &[
    "-b\n-n\n3\n-o\nTIME+",
    "--json\n--once\n-d\n10\n--filter\n%CPU>5\n-p\n1,2",
    "--csv\n--columns\npid,cpu_pct\n-w\n80\n--budget\n0.5%\n-u\n!root",
    "prstat\n-mL\n-s\ncpu\n1\n5",
    "ptop\n--rows\n5\n0.5\n2",
    "syscalls\n-p\n7\n--by\nthread\nclose\n1\n2",
    "waits\n--by\nthread\n0.1",
    "cgroups\n/a\n--max\n40%\n--weight\n100",
    "load\nspin\n--seconds\n1",
    "completions\nbash",
];

#[test]
fn fuzz_command_line() {
    let mut cli = Cli::command();
    cli.build();
    let mut words: Vec<String> = Vec::new();
    for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
        words.push(format!("\n{}\n", command.get_name()));
        let long = command.get_arguments().filter_map(|argument| argument.get_long());
        words.extend(long.map(|name| format!("\n--{name}\n")));
    }
    Target::new(corpus!("command_line")).examples(LINES).words(words).cases(500).run(|input| {
        let text = String::from_utf8_lossy(input);
        let words = std::iter::once("exactop").chain(text.lines()).map(Into::into);
        match Cli::try_parse_from(prstat::arguments(words)) {
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

#[test]
fn fuzz_option_values() {
    Target::new(corpus!("option_values"))
        .examples(["1", "0.5", "-1", "40%", "80", "7", "%CPU>5", "+pid", "pid,cpu_pct,command"])
        .words(COLUMNS.iter().flat_map(|column| [column.name, column.title]))
        .words([",", "+", "-", "%", "1e308", "inf", "NaN"])
        .run(|input| {
            let text = &*String::from_utf8_lossy(input);
            assert!(parse::count(text).is_ok_and(|n| n > 0) || parse::count(text).is_err());
            if let Ok(seconds) = parse::seconds(text) {
                // The length must be usable as a duration that moves a clock.
                let length = std::time::Duration::from_secs_f64(seconds);
                assert!(!length.is_zero());
                assert!(std::time::Instant::now().checked_add(length * 2).is_some(), "{seconds}");
            }
            assert!(parse::width(text).is_err() || parse::width(text).is_ok_and(|n| n >= 3));
            assert!(parse::percent(text).map_or(true, |p| (0.0..=100.0).contains(&p)));
            assert!(parse::pid(text).map_or(true, |pid| pid >= 1));
            let _ = parse::filter(text);
            let _ = parse::sort_field(text);
            if let Ok(list) = parse::columns(text) {
                assert!(!list.0.is_empty() && list.0.len() <= COLUMNS.len());
            }
            let words: Vec<String> = text.split(' ').map(String::from).collect();
            let _ = pace::pace(&words);
        });
}
