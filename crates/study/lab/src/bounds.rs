//! How long names, how many parts and how large figures may be in what is typed in or read back.

use exactop_model::text::escape::harmless;
use std::ops::RangeInclusive;

/// Bytes of an experiment's name, which is part of file names.
pub const NAME: usize = 64;
/// Characters of a condition's or a worker's name.
const LABEL: usize = 120;
/// Conditions of an experiment.
pub const CONDITIONS: usize = 500;
/// Kinds of workers of a condition.
pub const WORKERS: usize = 64;
/// Control groups of a condition.
pub const GROUPS: usize = 100;
/// The largest figure: differences and squares of such are exact enough and finite.
pub const FIGURE: f64 = 1e12;

/// A name for tables: so long at least, and nothing in it that moves a cursor or reorders a line.
pub fn name(what: &str, name: &str, least: usize) -> Result<(), String> {
    if harmless(name) != name {
        return Err(format!("{what} = '{name}': write it without control characters"));
    }
    match (least..=LABEL).contains(&name.chars().count()) {
        true => Ok(()),
        false => Err(format!("{what} = '{name}': write {least} to {LABEL} characters")),
    }
}

/// A count.
pub fn at_most(what: &str, found: usize, most: usize) -> Result<(), String> {
    match found <= most {
        true => Ok(()),
        false => Err(format!("{what}: there are {found}: write at most {most}")),
    }
}

/// A figure, where there is one; never infinite or not a number.
pub fn within(what: &str, figure: Option<f64>, range: RangeInclusive<f64>) -> Result<(), String> {
    match figure.filter(|figure| !range.contains(figure)) {
        Some(found) => {
            Err(format!("{what} = {found:e}: write {} to {}", range.start(), range.end()))
        }
        None => Ok(()),
    }
}
