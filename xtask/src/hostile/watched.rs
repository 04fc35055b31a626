//! An exactop that closes windows of the ledger during an attack.

use super::output::exact_windows;
use super::{command, Line};
use std::io;
use std::path::Path;
use std::process::{Child, Stdio};

/// Starts an exactop that prints this number of windows.
pub fn watch(exactop: &Path, windows: usize) -> io::Result<Child> {
    let words = ["--json", "-n", &windows.to_string(), "-d", "0.5", "--source", "ledger"];
    command(exactop, &words).stdout(Stdio::piped()).spawn()
}

/// Counts its windows that closed. Returns the number of exact ones.
pub fn count_windows(child: Child, windows: usize, line: &mut Line) -> io::Result<usize> {
    let closed = exact_windows(&child.wait_with_output()?.stdout, windows);
    for _ in 0..windows {
        line.count(closed.clone().map(drop));
    }
    Ok(closed.unwrap_or(0))
}
