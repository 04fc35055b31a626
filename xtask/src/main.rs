//! `cargo xtask`: the chores of this workspace that are more than one cargo command.
//!
//! Each chore is a module with its own arguments; this file only dispatches.

mod vm;
mod vm_deps;

use clap::Parser;
use std::process::ExitCode;

/// Chores of the exactop workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Vm(vm::Args),
    VmDeps(vm_deps::Args),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Vm(args) => vm::run(&args),
        Task::VmDeps(args) => vm_deps::run(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::from(vm::EXIT_NOT_STARTED)
    })
}
