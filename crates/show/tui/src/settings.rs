//! Settings that the user can change and save: a plain struct that the command reads and writes.

use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, Column, ColumnId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorMode {
    /// As many colours as the terminal has; none if `NO_COLOR` is set.
    #[default]
    Auto,
    /// Colours even if `NO_COLOR` is set.
    Always,
    /// Bold and reverse only.
    Never,
}

/// Colour theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThemeName {
    /// For a dark background.
    #[default]
    Default,
    /// For a light one.
    Light,
    /// Bold and reverse only.
    Mono,
    /// Bright, and nothing is dimmed.
    HighContrast,
}

impl ThemeName {
    /// All themes.
    pub const ALL: [ThemeName; 4] =
        [ThemeName::Default, ThemeName::Light, ThemeName::Mono, ThemeName::HighContrast];

    /// Name in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            ThemeName::Default => "default",
            ThemeName::Light => "light",
            ThemeName::Mono => "mono",
            ThemeName::HighContrast => "high-contrast",
        }
    }

    pub(crate) fn next(self) -> ThemeName {
        let at = ThemeName::ALL.iter().position(|&name| name == self).unwrap_or(0);
        ThemeName::ALL[(at + 1) % ThemeName::ALL.len()]
    }
}

/// A switch of the view that can follow the size of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "WrittenSwitch", into = "WrittenSwitch")]
pub enum AutoSwitch {
    /// On if the screen has room. CPUs: above the table, if they take few of its lines. Command
    /// lines: from [`COMMAND_LINES_FROM`](crate::layout::COMMAND_LINES_FROM) columns on.
    #[default]
    Auto,
    /// On.
    Always,
    /// Off.
    Never,
}

/// Form in the file: true, false or "auto".
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "write true, false or \"auto\"")]
enum WrittenSwitch {
    Switch(bool),
    Word(SwitchWord),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SwitchWord {
    Auto,
}

impl From<WrittenSwitch> for AutoSwitch {
    fn from(written: WrittenSwitch) -> AutoSwitch {
        match written {
            WrittenSwitch::Switch(true) => AutoSwitch::Always,
            WrittenSwitch::Switch(false) => AutoSwitch::Never,
            WrittenSwitch::Word(SwitchWord::Auto) => AutoSwitch::Auto,
        }
    }
}

impl From<AutoSwitch> for WrittenSwitch {
    fn from(switch: AutoSwitch) -> WrittenSwitch {
        match switch {
            AutoSwitch::Always => WrittenSwitch::Switch(true),
            AutoSwitch::Never => WrittenSwitch::Switch(false),
            AutoSwitch::Auto => WrittenSwitch::Word(SwitchWord::Auto),
        }
    }
}

/// Settings of the live view. Key `W` gives them to the host to save.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // Their names say it.
pub struct Settings {
    /// Seconds between two looks.
    pub interval_s: f64,
    pub columns: Vec<ColumnId>,
    /// Columns while microstates are shown.
    pub microstate_columns: Vec<ColumnId>,
    /// Show microstates instead of the usual columns.
    pub microstates: bool,
    pub sort: ColumnId,
    /// Reverse the column's natural order, which is largest first for figures.
    pub reverse: bool,
    /// Per cent of the whole machine instead of one CPU (top's Solaris mode).
    pub of_machine: bool,
    /// One row per thread instead of one per process.
    pub threads: bool,
    /// Hide rows that used no CPU.
    pub hide_idle: bool,
    /// Hide kernel threads; the header still counts them.
    pub hide_kernel_threads: bool,
    /// Command lines instead of names.
    pub command_line: AutoSwitch,
    pub tree: bool,
    /// A bar for each CPU; from 32 CPUs on, a character.
    pub per_cpu: AutoSwitch,
    /// Show a line below the balance with the window's findings.
    pub findings: bool,
    /// Show a line of the most used keys at the bottom.
    pub footer: bool,
    /// Only this user's rows: a name or a number; with `!` in front, all other users'.
    pub user: Option<String>,
    /// Filter expressions; all must hold.
    pub filters: Vec<String>,
    pub color: ColorMode,
    pub theme: ThemeName,
    /// Handle mouse clicks. The terminal's own selection then needs the Shift key.
    pub mouse: bool,
    /// Named sets of columns, for `--preset`.
    pub presets: BTreeMap<String, Preset>,
}

/// A set of columns and a sort column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    /// In the order of the screen.
    pub columns: Vec<ColumnId>,
    /// The sort column; without it %CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<ColumnId>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            interval_s: 2.0,
            columns: columns::TOP.into(),
            microstate_columns: columns::MICROSTATES.into(),
            microstates: false,
            sort: ColumnId::CpuPct,
            reverse: false,
            of_machine: false,
            threads: false,
            hide_idle: false,
            hide_kernel_threads: false,
            command_line: AutoSwitch::Auto,
            tree: false,
            per_cpu: AutoSwitch::Auto,
            findings: true,
            footer: true,
            user: None,
            filters: Vec::new(),
            color: ColorMode::Auto,
            theme: ThemeName::Default,
            mouse: true,
            presets: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Checks that all values are valid.
    ///
    /// # Errors
    /// One line naming the setting, the value found and what to write instead.
    pub fn check(&self) -> Result<(), String> {
        check_interval(self.interval_s)?;
        check_columns("columns", &self.columns)?;
        check_columns("microstate_columns", &self.microstate_columns)?;
        for (name, preset) in &self.presets {
            check_columns(&format!("presets.{name}.columns"), &preset.columns)?;
        }
        if self.filters.len() > MOST_FILTERS {
            let n = self.filters.len();
            return Err(format!("filters: there are {n}: write at most {MOST_FILTERS}"));
        }
        self.filter_list().map(|_| ())
    }

    pub(crate) fn column_list(&self) -> Vec<&'static Column> {
        columns::by_ids(if self.microstates { &self.microstate_columns } else { &self.columns })
    }

    /// Saves the chosen columns as those of the current kind of columns.
    pub(crate) fn set_columns(&mut self, columns: &[&Column]) {
        let list = if self.microstates { &mut self.microstate_columns } else { &mut self.columns };
        *list = columns.iter().map(|c| c.id).collect();
    }

    pub(crate) fn sort_by(&self) -> SortBy {
        let natural = SortBy::column(self.sort.column());
        SortBy { descending: natural.descending != self.reverse, ..natural }
    }

    pub(crate) fn filter_list(&self) -> Result<Vec<Filter>, String> {
        self.filters.iter().map(|f| Filter::parse(f).map_err(|e| e.to_string())).collect()
    }

    /// Interval between two looks.
    pub fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.interval_s.clamp(MIN_INTERVAL_S, MAX_INTERVAL_S))
    }
}

/// Checks that each column occurs once, so that the list always fits a layout.
fn check_columns(name: &str, list: &[ColumnId]) -> Result<(), String> {
    if list.is_empty() {
        return Err(format!("{name}: the list is empty: write at least one name"));
    }
    let mut seen = BTreeSet::new();
    match list.iter().find(|id| !seen.insert(*id)) {
        Some(id) => {
            let column = id.column().name;
            Err(format!("{name}: column '{column}' occurs twice: write it once"))
        }
        None => Ok(()),
    }
}

/// Most filters.
pub const MOST_FILTERS: usize = 32;
/// The shortest interval in seconds; below it a look costs more than it shows.
pub const MIN_INTERVAL_S: f64 = 0.01;
/// The longest interval in seconds: a day.
pub const MAX_INTERVAL_S: f64 = 86_400.0;

/// Parses an interval in seconds as a person types it (`2`, `0.5`, `0,5`).
///
/// # Errors
/// The text is refused; the error is the reason.
pub fn parse_interval(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_end_matches('s').trim_end();
    let seconds = text
        .replace(',', ".")
        .parse::<f64>()
        .map_err(|_| "not a number of seconds: write one, such as 2 or 0.5".to_string())?;
    check_interval(seconds)?;
    Ok(seconds)
}

fn check_interval(seconds: f64) -> Result<(), String> {
    if seconds.is_nan() {
        Err("the interval is not a number of seconds: write one, such as 2 or 0.5".into())
    } else if seconds <= 0.0 {
        Err(format!("the interval is {seconds} s: write more than 0"))
    } else if seconds < MIN_INTERVAL_S {
        Err(format!("the interval is {seconds} s: write at least {MIN_INTERVAL_S}"))
    } else if seconds > MAX_INTERVAL_S {
        Err(format!("the interval is {seconds} s: write at most a day (86400)"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_bound_and_nothing_twice() {
        let refused = |settings: Settings| settings.check().expect_err("it is refused");
        let many = vec![ColumnId::Pid; 100_000];
        let preset = Preset { columns: many.clone(), sort: None };
        for settings in [
            Settings { columns: many.clone(), ..Settings::default() },
            Settings { microstate_columns: many, ..Settings::default() },
            Settings { presets: [("own".into(), preset)].into(), ..Settings::default() },
        ] {
            assert!(refused(settings).contains("'pid' occurs twice"));
        }
        let filters = vec!["pid>1".to_string(); MOST_FILTERS + 1];
        let said = refused(Settings { filters, ..Settings::default() });
        assert!(said.contains("there are 33: write at most 32"), "{said}");
    }

    #[test]
    fn defaults_are_usable() {
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn intervals_are_read_or_refused_with_the_reason() {
        assert_eq!(parse_interval(" 0,5 s"), Ok(0.5));
        assert_eq!(parse_interval("0.01"), Ok(0.01));
        for bad in ["0", "-1", "nan", "inf", "86401", "1e99", "0.001", "", "two"] {
            assert!(parse_interval(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        let bad = Settings { filters: vec!["%CPU>x".into()], ..Settings::default() };
        assert!(bad.check().is_err());
        let bad = Settings { interval_s: f64::NAN, ..Settings::default() };
        assert!(bad.check().is_err());
    }
}
