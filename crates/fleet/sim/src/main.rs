//! A made-up fleet (docs/how-to/fleet.md): its books as Parquet, or its pages of metrics. It takes a number of hosts, a
//! time and a seed, and gives files or pages, and the truth about them. It is a program, so no crate may depend on
//! it.
//!
//! Each host is a made-up machine ([`machine`]) of one of some mixes ([`mixes`]): it makes snapshots as the ledger does.
//! Windows come out of the real `Book`, rows out of the real export, pages out of the real metrics. The same seed and
//! options make the same figures.
//!
//! Modules: its `books` as Parquet (`machine`s of `mixes`, or of a `recorded` machine, and what `deliver` makes of
//! their windows, by a `plan`), or its `pages` of metrics.

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
