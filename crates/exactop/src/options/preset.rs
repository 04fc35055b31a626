//! Sets of columns by name: those that come with exactop, and the user's own.

use super::config;
use crate::failure::Failure;
use exactop_model::columns::{self, Column, COLUMNS, MICROSTATES, PTOP, TOP};
use exactop_tui::Settings;

/// The precise top, which as text has a row of units and one of sums.
pub const PRECISE: &str = "ptop";

/// Columns, and the one to sort by.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// In order.
    pub columns: Vec<&'static Column>,
    /// The order of rows.
    pub sort: &'static Column,
}

/// Those that come with exactop: name, columns, order.
const BUILT_IN: [(&str, &[&str], &str); 3] =
    [("top", TOP, "cpu_pct"), ("prstat", MICROSTATES, "cpu_pct"), (PRECISE, PTOP, "total_pct")];

/// The preset of this name.
///
/// # Errors
/// No such preset: which there are.
pub fn named(name: &str) -> Result<Preset, Failure> {
    if let Some((_, columns, sort)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
        return Ok(Preset { columns: known(columns), sort: column(sort) });
    }
    let settings = config::load()?;
    let Some(own) = settings.presets.get(name) else { return Err(unknown(name, &settings)) };
    let ids: Vec<&str> = own.columns.iter().map(String::as_str).collect();
    Ok(Preset { columns: known(&ids), sort: column(own.sort.as_deref().unwrap_or("cpu_pct")) })
}

fn unknown(name: &str, settings: &Settings) -> Failure {
    let built_in = BUILT_IN.iter().map(|(name, ..)| *name);
    let all: Vec<&str> = built_in.chain(settings.presets.keys().map(String::as_str)).collect();
    Failure::usage(format!(
        "no preset '{name}': there are {}, and those below [presets] in the configuration",
        all.join(", ")
    ))
}

/// Columns that are there for certain.
pub fn known(ids: &[&str]) -> Vec<&'static Column> {
    ids.iter().map(|id| column(id)).collect()
}

fn column(id: &str) -> &'static Column {
    columns::find(id).unwrap_or(&COLUMNS[0])
}
