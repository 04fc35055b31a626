//! Completion scripts: the command line as help shows it, with the words that a value may be.

mod bash;
mod fish;
mod zsh;

use super::manual;
use crate::options::preset;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use exactop_model::columns::COLUMNS;

/// The completion script for a shell.
pub fn script(shell: Shell, command: Command) -> Vec<u8> {
    let pages = manual::names(command.clone());
    let words = Words { shell, pages: pages.lines().map(String::from).collect() };
    let mut script = Vec::new();
    let mut shown = words.shown(&command);
    clap_complete::generate(shell, &mut shown, "exactop", &mut script);
    let script = String::from_utf8_lossy(&script);
    let script = match shell {
        Shell::Bash => bash::with_system_values(&script),
        Shell::Zsh => zsh::with_system_values(&script),
        Shell::Fish => fish::with_system_values(&script, &shown),
        _ => script.into_owned(),
    };
    script.into_bytes()
}

/// Words that the command line's definition does not hold.
struct Words {
    shell: Shell,
    /// Names of manual pages.
    pages: Vec<String>,
}

impl Words {
    /// A command and its subcommands, without options that help hides.
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
        if let Some(asked) = CompletionValue::from_arg(&arg) {
            return self.with_value_hint(asked, arg);
        }
        let plain = |name: &str| PossibleValue::new(name.to_string());
        let values: Vec<PossibleValue> = match (command, id.as_str()) {
            (_, "sort") => COLUMNS
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

    /// The argument, marked for completion from the machine, or at least as not a file.
    fn with_value_hint(&self, asked: CompletionValue, arg: Arg) -> Arg {
        // Only bash's generator cannot express a value that is neither a word nor a file.
        if asked == CompletionValue::Number && self.shell != Shell::Bash {
            return arg.value_hint(ValueHint::Other);
        }
        let mark = PossibleValue::new(asked.mark());
        // The mark must not become the option's default value.
        let nothing = None::<&'static str>;
        let arg = arg.default_value(nothing).default_missing_value(nothing);
        arg.value_parser(PossibleValuesParser::new([mark]))
    }
}

/// Kinds of values that are not one of a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompletionValue {
    /// PIDs, separated by commas.
    Pids,
    /// Users, separated by commas.
    Users,
    /// Columns, separated by commas.
    Columns,
    /// A column, an operator and a value.
    Filter,
    /// A number: completion offers nothing, and no file.
    Number,
}

impl CompletionValue {
    const ALL: [CompletionValue; 5] = [
        CompletionValue::Pids,
        CompletionValue::Users,
        CompletionValue::Columns,
        CompletionValue::Filter,
        CompletionValue::Number,
    ];

    fn from_arg(arg: &Arg) -> Option<CompletionValue> {
        /// Value names that help uses for numbers.
        const NUMBERS: [&str; 8] =
            ["N", "SECONDS", "PCT", "TIME", "SIZE", "MICROSECONDS", "COLUMNS", "CPULIST"];
        if arg.is_positional() || !arg.get_action().takes_values() {
            return None;
        }
        let is_number = arg
            .get_value_names()
            .is_some_and(|names| names.iter().any(|name| NUMBERS.contains(&name.as_str())));
        match arg.get_id().as_str() {
            "pid" | "pids" => Some(CompletionValue::Pids),
            "user" | "effective" | "real" => Some(CompletionValue::Users),
            "columns" => Some(CompletionValue::Columns),
            "filter" | "filters" => Some(CompletionValue::Filter),
            _ if is_number && arg.get_possible_values().is_empty() => Some(CompletionValue::Number),
            _ => None,
        }
    }

    /// The mark that the generator writes for this kind. No real word looks like it.
    fn mark(self) -> &'static str {
        match self {
            CompletionValue::Pids => "@pids",
            CompletionValue::Users => "@users",
            CompletionValue::Columns => "@columns",
            CompletionValue::Filter => "@filter",
            CompletionValue::Number => "@number",
        }
    }
}

#[cfg(test)]
mod tests;
