//! The command: it reads the command line, connects a source with a view, and returns an exit code.
//! It takes arguments, settings and signals, and gives text, screens and services. It may use every
//! crate except those of tests, and no crate may depend on it.
//!
//! Modules: `cli.rs` (the subcommands), `options/` (the options as typed and as resolved),
//! `commands/` (a file or folder each), `output/`, `rights/` (one table of the rights that each
//! command keeps after its source is open), `priority.rs` (thread priorities), `source.rs` (opens
//! the requested source).

mod cli;
mod commands;
mod descriptors;
mod exit_code;
mod failure;
#[cfg(test)]
mod fuzz;
mod help;
mod machine;
mod options;
mod output;
mod priority;
mod recorded;
mod rights;
mod source;
mod version;
#[cfg(all(test, feature = "bpf"))]
mod window_options;
mod wrong_use;

use cli::Subcommands;
#[cfg(feature = "bpf")]
use commands::{blame, lab, run, trace};
use commands::{
    cgroups, completions, daemon, diff, doctor, export, fleet, load, manual, prstat, record,
    replay, report, watch, web,
};
use exactop_views::reference;
use failure::Failure;
use options::resolved::OutputMode;
use rights::{Origin, Role};
use std::process::ExitCode;

fn main() -> ExitCode {
    descriptors::raise();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure::report(&failure),
    }
}

fn run() -> Result<(), Failure> {
    let args = prstat::arguments(std::env::args_os());
    let subcommand = cli::subcommand(&args);
    let help = cli::help_of(&subcommand);
    failure::speak_for(subcommand.clone());
    let cli = match help::parse(args.iter().cloned()) {
        Ok(cli) => cli,
        // --help and --version print to standard output and succeed.
        Err(error) if !error.use_stderr() => return output::print(error.to_string()),
        Err(error) => {
            let failure = wrong_use::from_clap(&error, &args, &help, &cli::below(&subcommand));
            return Err(of_command(&subcommand, failure));
        }
    };
    rights::setuid::check().map_err(|failure| of_command(&subcommand, failure))?;
    match cli.command {
        None => watch::run(OutputMode::watching(cli.watch)?),
        Some(Subcommands::Columns { json: true, .. }) => ready(reference::json()),
        Some(Subcommands::Columns { markdown: true, .. }) => ready(reference::markdown()),
        Some(Subcommands::Columns { .. }) => ready(reference::text()),
        Some(Subcommands::Doctor { json }) => doctor::run(json),
        Some(Subcommands::Prstat(options)) => prstat::run(&options),
        Some(Subcommands::Ptop(options)) => match options.of.replay.clone() {
            Some(path) => replay::precise(*options, &path),
            None => watch::run(OutputMode::precise(*options)?),
        },
        #[cfg(feature = "bpf")]
        Some(Subcommands::OnDemand(command)) => command.run(),
        #[cfg(feature = "bpf")]
        Some(Subcommands::Run(command)) => run::run(&command),
        #[cfg(feature = "bpf")]
        Some(Subcommands::Blame(command)) => blame::run(&command),
        Some(Subcommands::Cgroups(command)) => cgroups::run(&command),
        Some(Subcommands::Record(command)) => record::run(&command),
        Some(Subcommands::Daemon(command)) => daemon::run(&command),
        Some(Subcommands::Replay(command)) => replay::run(*command),
        Some(Subcommands::Diff(command)) => diff::run(&command),
        Some(Subcommands::Web(command)) => web::run(&command),
        Some(Subcommands::Report(command)) => report::run(&command),
        Some(Subcommands::Export { export }) => export::run(&export),
        Some(Subcommands::Fleet { fleet }) => fleet::run(&fleet),
        Some(Subcommands::Load { load }) => load::run(&load),
        #[cfg(feature = "bpf")]
        Some(Subcommands::Trace(command)) => trace::run(&command),
        #[cfg(feature = "bpf")]
        Some(Subcommands::Lab { lab }) => lab::run(&lab),
        Some(Subcommands::Man { list: true, .. }) => ready(manual::names(help::command())),
        Some(Subcommands::Man { of, .. }) => ready(manual::page(help::command(), of.as_deref())?),
        Some(Subcommands::Completions { shell }) => {
            ready(completions::script(shell, help::command()))
        }
    }
}

/// A failure before the command begins, with the exit code that this command has for its own.
fn of_command(subcommand: &str, failure: Failure) -> Failure {
    match subcommand {
        "prstat" => prstat::failed(failure),
        #[cfg(feature = "bpf")]
        "run" => run::as_its_own(failure),
        _ => failure,
    }
}

/// Prints a text that needs no rights.
fn ready(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    rights::reduce(Role::Text, Origin::None, &[]);
    output::print(text)
}
