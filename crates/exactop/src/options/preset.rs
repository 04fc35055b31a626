//! Named sets of columns: the built-in ones and the user's own.

use super::config;
use crate::failure::Failure;
use exactop_model::columns::{self, Column, ColumnId, MICROSTATES, PTOP, TOP};
use exactop_tui::Settings;

/// The precise top; as text it also has a row of units and a row of sums.
pub const PRECISE: &str = "ptop";

/// Columns and the sort column.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// In order of display.
    pub columns: Vec<&'static Column>,
    /// The sort column.
    pub sort: &'static Column,
}

/// Built-in presets: name, columns, sort column.
const BUILT_IN: [(&str, &[ColumnId], ColumnId); 3] = [
    ("top", TOP, ColumnId::CpuPct),
    ("prstat", MICROSTATES, ColumnId::CpuPct),
    (PRECISE, PTOP, ColumnId::TotalPct),
];

/// Names of the built-in presets.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, ..)| *name)
}

/// The preset of this name.
///
/// # Errors
/// No such preset exists; the text lists those that do.
pub fn named(name: &str) -> Result<Preset, Failure> {
    if let Some((_, columns, sort)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
        return Ok(Preset { columns: columns::by_ids(columns), sort: sort.column() });
    }
    let (settings, _) = config::load()?;
    let Some(own) = settings.presets.get(name) else { return Err(unknown(name, &settings)) };
    let sort = own.sort.unwrap_or(ColumnId::CpuPct).column();
    Ok(Preset { columns: columns::by_ids(&own.columns), sort })
}

fn unknown(name: &str, settings: &Settings) -> Failure {
    let built_in = BUILT_IN.iter().map(|(name, ..)| *name);
    let all: Vec<&str> = built_in.chain(settings.presets.keys().map(String::as_str)).collect();
    Failure::usage(format!(
        "no preset '{name}': choose one of {}, or add it below [presets] in the configuration",
        all.join(", ")
    ))
}
