//! Many instances at once: each keeps its own books.

use super::watched::{count_windows, watch};
use super::Line;
use anyhow::Result;
use std::path::Path;

const WINDOWS: usize = 5;
const ROUNDS: usize = 2;

/// Instances started together.
pub fn at_once(exactop: &Path, instances: usize) -> Result<Line> {
    let mut line = Line::new(format!("{instances} instances at once: windows that close"));
    let mut exact = 0;
    for _ in 0..ROUNDS {
        let start = |_| watch(exactop, WINDOWS);
        for child in (0..instances).map(start).collect::<Result<Vec<_>, _>>()? {
            exact += count_windows(child, WINDOWS, &mut line)?;
        }
    }
    line.notes.push(format!("{exact} of {} exact", line.tried));
    Ok(line)
}
