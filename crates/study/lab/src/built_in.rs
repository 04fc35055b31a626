//! Finds experiments: built-in TOML files, and the user's files.

use crate::definition::Experiment;
use crate::LabError;
use std::path::Path;

/// Built-in experiments, in the order of `list`.
const BUILT_IN: [(&str, &str); 11] = [
    ("cores", include_str!("../built_in/cores.toml")),
    ("nice-class", include_str!("../built_in/nice-class.toml")),
    ("nice-share", include_str!("../built_in/nice-share.toml")),
    ("progress", include_str!("../built_in/progress.toml")),
    ("progress-nice", include_str!("../built_in/progress-nice.toml")),
    ("weight", include_str!("../built_in/weight.toml")),
    ("bandwidth", include_str!("../built_in/bandwidth.toml")),
    ("contention", include_str!("../built_in/contention.toml")),
    ("herd", include_str!("../built_in/herd.toml")),
    ("ptop-cost", include_str!("../built_in/ptop-cost.toml")),
    ("ptop-sum", include_str!("../built_in/ptop-sum.toml")),
];

/// Controls that are added to every run: A/A, and with the ledger off.
///
/// # Panics
/// Never: a test reads the file.
pub fn controls() -> Experiment {
    let text = include_str!("../built_in/controls.toml");
    Experiment::read(text, "controls").unwrap_or_else(|error| panic!("built in: {error}"))
}

/// All built-in experiments.
///
/// # Panics
/// Never: a test reads them all.
pub fn all() -> Vec<Experiment> {
    let read = |(name, text): &(&str, &str)| {
        Experiment::read(text, name).unwrap_or_else(|error| panic!("built in: {error}"))
    };
    BUILT_IN.iter().map(read).collect()
}

/// The TOML text of a built-in experiment.
pub fn text_of(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// Finds a built-in experiment by name, or reads one from a file.
///
/// # Errors
/// [`LabError::Files`] and [`LabError::Definition`].
pub fn find(name: &str) -> Result<Experiment, LabError> {
    if let Some(text) = text_of(name) {
        return Experiment::read(text, name);
    }
    if !name.contains(['/', '.']) {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        return Err(LabError::Definition {
            from: name.into(),
            why: format!(
                "no such experiment: choose one of {}, or give a file, such as ./{name}.toml",
                names.join(", ")
            ),
        });
    }
    from_file(name).map(|(experiment, _)| experiment)
}

/// Reads an experiment from a file; also returns the file's text.
///
/// # Errors
/// [`LabError::Files`] and [`LabError::Definition`].
pub fn from_file(name: &str) -> Result<(Experiment, String), LabError> {
    let bytes = exactop_files::read(Path::new(name), exactop_files::CONFIGURATION)?;
    let text = String::from_utf8(bytes).map_err(|error| LabError::Definition {
        from: name.into(),
        why: format!("{}: write it as UTF-8", error.utf8_error()),
    })?;
    Ok((Experiment::read(&text, name)?, text))
}
