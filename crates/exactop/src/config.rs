//! The configuration file: what the live view keeps between two starts.

use crate::failure::Failure;
use exactop_tui::Settings;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where it is: `$XDG_CONFIG_HOME/exactop/config.toml`, else below `~/.config`. `None` where
/// neither is set. A relative XDG_CONFIG_HOME does not count (XDG Base Directory Specification).
pub fn path() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some(base.join("exactop/config.toml"))
}

/// The settings kept, or the defaults where there is no file.
///
/// # Errors
/// File, line and what is wrong.
pub fn load() -> Result<Settings, Failure> {
    let Some(path) = path() else { return Ok(Settings::default()) };
    match fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(|(line, what)| {
            let path = path.display();
            Failure::usage(format!("{path}:{line}: {what} (correct it or delete the file)"))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Reads settings; an error comes with its line.
fn parse(text: &str) -> Result<Settings, (usize, String)> {
    let settings: Settings = toml::from_str(text).map_err(|error: toml::de::Error| {
        (error.span().map_or(1, |span| line_at(text, span.start)), error.message().to_string())
    })?;
    match settings.check() {
        Ok(()) => Ok(settings),
        Err(what) => Err((line_refused(text).unwrap_or(1), what)),
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&b| b == b'\n').count()
}

/// The line of the setting that cannot be used: the one that is refused on its own, too.
fn line_refused(text: &str) -> Option<usize> {
    let all: toml::Table = toml::from_str(text).ok()?;
    let refused = |(key, value): (String, toml::Value)| {
        let alone = toml::Table::from_iter([(key.clone(), value)]);
        let settings: Settings = alone.try_into().ok()?;
        settings.check().is_err().then_some(key)
    };
    let key = all.into_iter().find_map(refused)?;
    let starts = |line: &str| {
        let rest = line.trim_start().trim_start_matches('"').strip_prefix(&key)?;
        rest.trim_start_matches('"').trim_start().starts_with('=').then_some(())
    };
    text.lines().position(|line| starts(line).is_some()).map(|at| at + 1)
}

/// Keeps the settings; yields where. The file is whole at every instant: it is written beside
/// and renamed.
///
/// # Errors
/// Where and why not.
pub fn save(settings: &Settings) -> Result<PathBuf, String> {
    let path = path().ok_or("cannot save: neither XDG_CONFIG_HOME nor HOME is set")?;
    // A link to a file kept elsewhere stays a link.
    let path = fs::canonicalize(&path).unwrap_or(path);
    let text = toml::to_string(settings).map_err(|error| format!("cannot save: {error}"))?;
    replace(&path, text.as_bytes())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let beside = path.with_extension(format!("toml.{}", std::process::id()));
    let written = write_new(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_survive_the_file() {
        let text = toml::to_string(&Settings::default()).expect("TOML");
        assert_eq!(parse(&text), Ok(Settings::default()));
        assert_eq!(parse(""), Ok(Settings::default()));
    }

    #[test]
    fn what_is_wrong_comes_with_its_line() {
        let line = |text: &str| parse(text).map_err(|(line, _)| line);
        assert_eq!(line("threads = true\ninterval_s = \"two\"\n"), Err(2));
        assert_eq!(line("threads = true\n\nno_such_key = 1\n"), Err(3));
        assert_eq!(line("threads = true\n\n\ninterval_s = -1.0\n"), Err(4));
        assert_eq!(line("columns = [\n  \"pid\",\n  \"nonsense\",\n]\n"), Err(1));
        assert_eq!(line("threads = tru\n"), Err(1));
    }
}
