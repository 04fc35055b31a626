//! A made-up fleet (docs/how-to/fleet.md): its books as Parquet, or its pages of metrics. It takes
//! a number of hosts, a time and a seed, and gives files or pages, and the truth about them. It is
//! a program, so no crate may depend on it.
//!
//! Each host is a made-up machine ([`machine`]) with a mix of services ([`mixes`]); it makes
//! snapshots like the ledger's. Windows come from the real `Book`, rows from the real export, and
//! pages from the real metrics. The same seed and options give the same figures.
//!
//! Modules: `books` as Parquet (`machine`s with `mixes` or a `recorded` mix; a `plan` decides what
//! `deliver` does with their windows), or `pages` of metrics.

mod books;
mod deliver;
mod machine;
mod mixes;
mod options;
mod pages;
mod plan;
mod recorded;
mod service;

use clap::Parser;
use std::process::ExitCode;

/// Simulate a fleet.
#[derive(Parser)]
#[command(name = "exactop-fleet-sim", version)]
enum Simulation {
    Books(options::Args),
    Pages(pages::Args),
}

fn main() -> ExitCode {
    let done = match Simulation::parse() {
        Simulation::Books(args) => books::run(&args),
        Simulation::Pages(args) => pages::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("exactop-fleet-sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}
