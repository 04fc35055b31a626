//! `cargo xtask`: chores of this workspace that take more than one cargo command. It takes the name
//! of a chore and prints its measurements or findings. It is a program, so no crate may depend on
//! it.
//!
//! Each chore is a module with its own arguments; this file only dispatches.
//!
//! Modules: `vm` (programs on Debian's kernels in an emulated machine; `guest/` runs there),
//! `bench`, `hostile` (kills, crowds, names, limits, storms: the table of
//! docs/explanation/security.md), `children` (processes that end with xtask).

mod bench;
mod children;
mod hostile;
mod vm;

use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Chores of the exactop workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    Bench(bench::Args),
    Hostile(hostile::Args),
    Vm(vm::Args),
    VmKernels(vm::KernelsArgs),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Bench(args) => bench::run(&args),
        Task::Hostile(args) => hostile::run(&args),
        Task::Vm(args) => vm::run(&args),
        Task::VmKernels(args) => vm::get_kernels(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::from(vm::EXIT_NOT_STARTED)
    })
}

/// Directory of cargo's output and of our own files.
fn target_dir() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| workspace().join("target"))
}

/// Root of the clone.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}
