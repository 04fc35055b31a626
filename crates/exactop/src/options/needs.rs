//! Options that need another option. clap refuses them without it; it names only the missing one,
//! so [`unmet`] finds the option that needs it.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;

/// An option and the option that it needs, by their ids, in each command that has both.
const NEEDS: &[(&str, &str)] =
    &[("time", "replay"), ("keep_env", "run_user"), ("warmup", "repeat"), ("compare", "repeat")];

/// Makes clap refuse options without those that they need.
pub fn required(command: Command) -> Command {
    pairs(&command).fold(command, |command, (option, needed)| {
        command.mut_arg(option, |arg| arg.requires(needed))
    })
}

/// The pairs of [`NEEDS`] that this command has.
fn pairs(command: &Command) -> impl Iterator<Item = (&'static str, &'static str)> {
    let ids: Vec<String> =
        command.get_arguments().map(|arg| arg.get_id().as_str().to_string()).collect();
    let has = move |id: &str| ids.iter().any(|known| known == id);
    NEEDS.iter().copied().filter(move |(option, needed)| has(option) && has(needed))
}

/// The error of the first option in `args` that lacks the one that it needs. `command`: the whole
/// command line.
pub fn unmet(command: Command, args: &[OsString]) -> Option<String> {
    in_subcommand(command, args, |command, matches| {
        let (option, needed) = pairs(command)
            .find(|(option, needed)| is_given(matches, option) && !is_given(matches, needed))?;
        let arg = |id: &str| command.get_arguments().find(|arg| arg.get_id() == id);
        let (option, needed) = (arg(option)?, arg(needed)?);
        let long = option.get_long()?;
        Some(format!("{} needs {needed}: add it, or leave --{long} out", typed(option, matches)))
    })
}

/// The option, such as `--output`, that the command requires and that `args` lack.
pub fn required_option(command: Command, args: &[OsString]) -> Option<String> {
    in_subcommand(command, args, |command, matches| {
        let mut options = command.get_opts().filter(|option| option.is_required_set());
        let missing = options.find(|option| !is_given(matches, option.get_id().as_str()));
        missing?.get_long().map(|long| format!("--{long}"))
    })
}

/// Asks about the subcommand of a command line that has an error.
fn in_subcommand<R>(
    command: Command,
    args: &[OsString],
    ask: impl FnOnce(&Command, &ArgMatches) -> Option<R>,
) -> Option<R> {
    let mut command = command.ignore_errors(true);
    let matches = command.try_get_matches_from_mut(args).ok()?;
    let (mut command, mut matches) = (&command, &matches);
    while let Some((name, below)) = matches.subcommand() {
        (command, matches) = (command.find_subcommand(name)?, below);
    }
    ask(command, matches)
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// An option with its values: `--warmup 3`.
fn typed(option: &Arg, matches: &ArgMatches) -> String {
    let values = matches.get_raw(option.get_id().as_str()).into_iter().flatten();
    let values = values.filter(|_| option.get_action().takes_values());
    let name = option.get_long().map(|long| format!("--{long}"));
    let words = name.into_iter().chain(values.map(|value| value.to_string_lossy().into_owned()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{pairs, NEEDS};
    use crate::help;
    use clap::Command;

    /// All commands, the first is exactop itself.
    fn all() -> Vec<Command> {
        let mut all = vec![help::command()];
        let mut at = 0;
        while let Some(one) = all.get(at).cloned() {
            all.extend(one.get_subcommands().cloned());
            at += 1;
        }
        all
    }

    #[test]
    fn help_begins_with_the_needed_option() {
        for command in all() {
            let arg = |id: &str| command.get_arguments().find(|arg| arg.get_id() == id);
            for (option, needed) in pairs(&command) {
                let (option, needed) = (arg(option).expect("it has"), arg(needed).expect("it has"));
                let help = option.get_help().expect("help").to_string();
                let with = format!("With --{}: ", needed.get_long().expect("a long name"));
                assert!(help.starts_with(&with), "{}: {help}", command.get_name());
            }
        }
    }

    #[test]
    fn help_that_begins_with_an_option_states_a_need() {
        for command in all() {
            let with = |arg: &&clap::Arg| {
                arg.get_help().is_some_and(|help| help.to_string().starts_with("With --"))
            };
            for arg in command.get_arguments().filter(with) {
                let is_in_table = pairs(&command).any(|(option, _)| arg.get_id() == option);
                assert!(is_in_table, "{}: {}", command.get_name(), arg.get_id());
            }
        }
        let used = |pair| all().iter().any(|command| pairs(command).any(|one| one == pair));
        // Without BPF, `run` is missing.
        assert!(NEEDS.iter().all(|pair| used(*pair)) || cfg!(not(feature = "bpf")));
    }
}
