//! Shells that run `true` in an endless loop.

use super::{desk, number};
use crate::children;
use crate::error::Refusal;
use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let shells = number(args, 0)?;
    // By its path: a name alone would be the shell's builtin, which does not fork.
    let program = find_true()
        .ok_or(Refusal::Other("cannot find `true` in PATH or /bin: install coreutils".into()))?;
    let script = format!("while :; do '{}'; done", program.display());
    let pids = children::make(shells, || children::run(Command::new("sh").args(["-c", &script])))?;
    desk::serve(pids, |_| None)
}

fn find_true() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fallback = ["/bin", "/usr/bin"].map(PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(fallback).map(|dir| dir.join("true"));
    places.find(|file| file.is_absolute() && is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
