//! A simulated fleet (docs/how-to/fleet.md): its books as Parquet, or its pages of metrics. It
//! takes a number of hosts, a time and a seed. It gives files or pages, and a list of the planted
//! faults. It is a program, so no crate may depend on it.
//!
//! Each host is a simulated machine ([`machine`]) with a mix of services ([`mixes`]). It makes
//! snapshots like the ledger's. Windows come from the real `Book`, rows from the real export, and
//! pages from the real metrics. The same seed and options give the same figures.
//!
//! Modules: `books` as Parquet, or `pages` of metrics. A `machine` has one of the `mixes` or a
//! `recorded` mix. `deliver` writes the windows, with the faults of the `plan`.

mod blame;
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
