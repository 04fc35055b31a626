//! Completion scripts: the command line as it is shown to people, with the words that a value may be.

use super::manual;
use crate::options::preset;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use exactop_model::columns::COLUMNS;

/// A script for a shell.
pub fn script(shell: Shell, command: Command) -> Vec<u8> {
    let pages = manual::names(command.clone());
    let words = Words { pages: pages.lines().map(String::from).collect() };
    let mut script = Vec::new();
    let mut shown = words.shown(&command);
    clap_complete::generate(shell, &mut shown, "exactop", &mut script);
    if shell == Shell::Fish {
        script.extend(fish_positionals(&shown).into_bytes());
    }
    script
}

/// For fish the generator writes no values of what has no option's name.
fn fish_positionals(command: &Command) -> String {
    let mut lines = String::new();
    for below in command.get_subcommands() {
        let when = format!("__fish_exactop_using_subcommand {}", below.get_name());
        lines += &fish_values(below, &when);
        for last in below.get_subcommands() {
            let name = last.get_name();
            lines += &fish_values(last, &format!("{when}; and __fish_seen_subcommand_from {name}"));
        }
    }
    lines
}

fn fish_values(command: &Command, when: &str) -> String {
    let mut values: Vec<PossibleValue> = Vec::new();
    for arg in command.get_arguments().filter(|arg| arg.is_positional()) {
        values.extend(arg.get_possible_values());
    }
    // Names of columns, presets, pages, experiments and calls: none has a quote in it.
    let words: Vec<String> = values.iter().map(|value| value.get_name().to_string()).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("complete -c exactop -n \"{when}\" -f -a \"{}\"\n", words.join(" ")),
    }
}

/// Words that are not in the command line's definition.
struct Words {
    /// The names of manual pages.
    pages: Vec<String>,
}

impl Words {
    /// A command and those below, without options that help does not tell of.
    fn shown(&self, command: &Command) -> Command {
        let name = command.get_name().to_string();
        let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let args: Vec<Arg> = args.map(|arg| self.with_values(&name, arg.clone())).collect();
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        let mut shown = Command::new(name)
            .disable_help_flag(command.is_disable_help_flag_set())
            .args(args)
            .subcommands(below.map(|below| self.shown(below)));
        if let Some(about) = command.get_about() {
            shown = shown.about(about.clone());
        }
        if let Some(version) = command.get_version() {
            shown = shown.version(version.to_string());
        }
        shown
    }

    fn with_values(&self, command: &str, arg: Arg) -> Arg {
        let id = arg.get_id().as_str().to_string();
        let plain = |name: &str| PossibleValue::new(name.to_string());
        let values: Vec<PossibleValue> = match (command, id.as_str()) {
            (_, "sort" | "columns") => COLUMNS
                .iter()
                .map(|column| PossibleValue::new(column.name).help(column.help))
                .collect(),
            (_, "preset") => preset::built_in().map(plain).collect(),
            ("man", "of") => {
                let short = |page: &String| plain(page.trim_start_matches("exactop-"));
                self.pages.iter().map(short).collect()
            }
            #[cfg(feature = "bpf")]
            ("show" | "run", "name" | "names") => {
                let all = exactop_lab::built_in::all();
                let names = all.iter().map(|experiment| plain(&experiment.name));
                let every = (command == "run").then(|| plain("all"));
                names.chain(every).collect()
            }
            #[cfg(feature = "bpf")]
            ("syscalls", "words") => exactop_model::SyscallNr::names().map(plain).collect(),
            ("run", "command") => return arg.value_hint(ValueHint::CommandWithArguments),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(values))
    }
}
