//! The command: reads the command line, puts source and view together, ends with a code.

mod cli;
mod commands;
mod descriptors;
mod failure;
#[cfg(test)]
mod fuzz;
mod options;
mod output;
mod passwd;
mod rights;
mod source;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command, Ptop, Shell, Watch};
use commands::watch::{live, windows};
use commands::{cgroups, doctor, load, manual, prstat};
#[cfg(feature = "bpf")]
use commands::{lab, on_demand, run, trace};
use exactop_model::columns::{COLUMNS, TOP};
use exactop_model::sort::SortBy;
use exactop_views::{json, reference, Plan, Selection, User};
use failure::Failure;
use options::preset;
use rights::{Role, Source};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    descriptors::raise();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure::report(&failure),
    }
}

fn run() -> Result<(), Failure> {
    let args = prstat::arguments(std::env::args_os());
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        // --help and --version are answers, not errors.
        Err(error) if !error.use_stderr() => return output::print(error.to_string()),
        Err(error) if prstat::is_meant(&args) => {
            return Err(prstat::failed(failure::from_clap(&error, "exactop prstat --help")))
        }
        Err(error) => return Err(failure::from_clap(&error, "exactop --help")),
    };
    rights::setuid::check().map_err(|failure| match &cli.command {
        #[cfg(feature = "bpf")]
        Some(Command::Run(_)) => run::as_its_own(failure),
        _ => failure,
    })?;
    match cli.command {
        None => watch(&cli.watch),
        Some(Command::Columns { json: true, .. }) => ready(reference::json()),
        Some(Command::Columns { markdown: true, .. }) => ready(reference::markdown()),
        Some(Command::Columns { .. }) => ready(reference::text()),
        Some(Command::Doctor { json }) => doctor::run(json),
        Some(Command::Prstat(options)) => prstat::run(&options),
        Some(Command::Ptop(options)) => ptop(*options),
        #[cfg(feature = "bpf")]
        Some(Command::Syscalls(command)) => on_demand::syscalls::run(&command),
        #[cfg(feature = "bpf")]
        Some(Command::Wakeups(command)) => on_demand::wakeups::run(&command),
        #[cfg(feature = "bpf")]
        Some(Command::Waits(command)) => on_demand::waits::run(&command),
        #[cfg(feature = "bpf")]
        Some(Command::Run(command)) => run::run(&command),
        Some(Command::Cgroups(command)) => cgroups::run(&command),
        Some(Command::Load { load }) => load::run(&load),
        #[cfg(feature = "bpf")]
        Some(Command::Trace(command)) => trace::run(&command),
        #[cfg(feature = "bpf")]
        Some(Command::Lab { lab }) => lab::run(&lab),
        Some(Command::Man) => ready(manual::page(Cli::command())),
        Some(Command::Completions { shell }) => ready(completions(shell)),
    }
}

/// Prints what takes no rights.
fn ready(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    rights::reduce(Role::Text, Source::None, &[]);
    output::print(text)
}

fn completions(shell: Shell) -> Vec<u8> {
    use clap_complete::shells::{Bash, Fish, Zsh};
    let (mut command, mut script) = (Cli::command(), Vec::new());
    match shell {
        Shell::Bash => clap_complete::generate(Bash, &mut command, "exactop", &mut script),
        Shell::Zsh => clap_complete::generate(Zsh, &mut command, "exactop", &mut script),
        Shell::Fish => clap_complete::generate(Fish, &mut command, "exactop", &mut script),
    }
    script
}

fn watch(watch: &Watch) -> Result<(), Failure> {
    if watch.list_fields {
        let lines = COLUMNS.iter().map(|c| format!("{:<14} {}\n", c.id, c.title));
        return output::print(lines.collect::<String>());
    }
    if !watch.prints() {
        live::check(watch)?;
        let settings = live::settings(watch)?;
        source::check_pids(watch)?;
        user(watch)?;
        return live::run(source::open(watch, Role::Live)?, watch, settings);
    }
    let plan = plan(watch)?;
    source::check_pids(watch)?;
    let pace = windows::Pace {
        interval: Duration::from_secs_f64(watch.delay.unwrap_or(DEFAULT_DELAY_S)),
        windows: if watch.once { Some(1) } else { watch.iterations },
    };
    windows::run(
        &mut *source::open(watch, Role::Windows)?,
        &plan,
        windows::Format::new(watch),
        pace,
    )
}

const DEFAULT_DELAY_S: f64 = 2.0;

/// Whether windows are the precise top's table, which has no rows for those that did nothing.
fn prints_precise(watch: &Watch) -> bool {
    watch.preset.as_deref() == Some(preset::PRECISE) && !watch.json && !watch.csv
}

/// The precise top is batch mode with columns of its own.
fn ptop(options: Ptop) -> Result<(), Failure> {
    let mut watch = options.watch;
    if watch.preset.is_some() || watch.columns.is_some() {
        return Err(Failure::usage(
            "ptop has columns of its own: leave --preset and --columns out",
        ));
    }
    watch.batch = true;
    watch.preset = Some(preset::PRECISE.into());
    watch.delay = watch.delay.or(Some(options.interval));
    watch.iterations = watch.iterations.or(options.count);
    watch.rows = options.rows;
    self::watch(&watch)
}

/// What the options ask of every printed window.
fn plan(watch: &Watch) -> Result<Plan, Failure> {
    let preset = watch.preset.as_deref().map(preset::named).transpose()?;
    let columns = match (&watch.columns, &preset) {
        (Some(columns), _) => columns.0.clone(),
        (None, Some(preset)) => preset.columns.clone(),
        (None, None) if watch.json || watch.csv => json::default_columns(),
        (None, None) => preset::known(TOP),
    };
    let natural = || SortBy::column(preset.map_or(preset::known(&["cpu_pct"])[0], |p| p.sort));
    Ok(Plan {
        columns,
        sort: watch.sort.map_or_else(natural, |field| field.0),
        threads: watch.threads,
        command_line: watch.command_line,
        selection: Selection {
            pids: watch.pid.clone(),
            user: user(watch)?,
            hide_idle: watch.hide_idle,
            filters: watch.filter.clone(),
        },
        only_active: prints_precise(watch),
    })
}

fn user(watch: &Watch) -> Result<Option<User>, Failure> {
    let Some(text) = &watch.user else { return Ok(None) };
    let (name, others) = match text.strip_prefix('!') {
        Some(name) => (name, true),
        None => (text.as_str(), false),
    };
    let unknown =
        || Failure::usage(format!("no user '{name}' in /etc/passwd: write a name or a number"));
    let uid = passwd::id(name).ok_or_else(unknown)?;
    Ok(Some(User { uid, others }))
}
