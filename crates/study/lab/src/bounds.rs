//! Limits for experiments that are typed in or read back: lengths of names, numbers of parts, sizes
//! of figures.

use exactop_model::text::escape::harmless;
use std::ops::RangeInclusive;

/// Longest name of an experiment, bytes; it is part of file names.
pub const NAME: usize = 64;
/// Longest name of a condition or a worker, characters.
const LABEL: usize = 120;
/// Most conditions of an experiment.
pub const CONDITIONS: usize = 500;
/// Most kinds of workers in a condition.
pub const WORKERS: usize = 64;
/// Most control groups of a condition.
pub const GROUPS: usize = 100;
/// Largest figure; differences and squares of such figures stay finite and exact enough.
pub const FIGURE: f64 = 1e12;

/// Checks a name for tables: at least `least` characters, and none that moves a cursor or reorders
/// a line.
pub fn name(what: &str, name: &str, least: usize) -> Result<(), String> {
    if harmless(name) != name {
        return Err(format!("{what} = '{name}': write it without control characters"));
    }
    match (least..=LABEL).contains(&name.chars().count()) {
        true => Ok(()),
        false => Err(format!("{what} = '{name}': write {least} to {LABEL} characters")),
    }
}

/// Checks a count.
pub fn at_most(what: &str, found: usize, most: usize) -> Result<(), String> {
    match found <= most {
        true => Ok(()),
        false => Err(format!("{what}: there are {found}: write at most {most}")),
    }
}

/// Checks a figure, if there is one; refuses infinity and NaN.
pub fn within(what: &str, figure: Option<f64>, range: RangeInclusive<f64>) -> Result<(), String> {
    match figure.filter(|figure| !range.contains(figure)) {
        Some(found) => {
            Err(format!("{what} = {found:e}: write {} to {}", range.start(), range.end()))
        }
        None => Ok(()),
    }
}
