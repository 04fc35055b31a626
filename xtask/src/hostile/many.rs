//! Many at once: each keeps books of its own.

use super::output::exact_windows;
use super::{command, Line};
use anyhow::Result;
use std::path::Path;
use std::process::{Child, Stdio};

const WINDOWS: usize = 5;
const ROUNDS: usize = 2;

/// Instances started together.
pub fn at_once(exactop: &Path, instances: usize) -> Result<Line> {
    let mut line = Line::new(format!("{instances} instances at once: windows that close"));
    let words = ["--json", "-n", &WINDOWS.to_string(), "-d", "0.5", "--source", "ledger"];
    let mut exact = 0;
    for _ in 0..ROUNDS {
        let start = || command(exactop, &words).stdout(Stdio::piped()).spawn();
        let children: Vec<Child> = (0..instances).map(|_| start()).collect::<Result<_, _>>()?;
        for child in children {
            let output = child.wait_with_output()?;
            let closed = exact_windows(&output.stdout, WINDOWS);
            for _ in 0..WINDOWS {
                line.count(closed.clone().map(drop));
            }
            exact += closed.unwrap_or(0);
        }
    }
    line.notes.push(format!("{exact} of {} exact", line.tried));
    Ok(line)
}
