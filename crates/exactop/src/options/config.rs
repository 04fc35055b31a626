//! The configuration file: what the live view keeps between two starts.

use crate::failure::Failure;
use exactop_files::FileError;
use exactop_tui::Settings;
use std::path::PathBuf;

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
    let bytes = match exactop_files::read_configuration(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return Ok(Settings::default()),
        Err(error) => return Err(Failure::usage(format!("the configuration: {error}"))),
    };
    text(&bytes).and_then(parse).map_err(|(line, what)| {
        let path = path.display();
        Failure::usage(format!("{path}:{line}: {what} (correct it or delete the file)"))
    })
}

fn text(bytes: &[u8]) -> Result<&str, (usize, String)> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        (line, "a byte that is not UTF-8".into())
    })
}

/// Reads settings; an error comes with its line.
fn parse(text: &str) -> Result<Settings, (usize, String)> {
    if let Some(line) = exactop_files::too_deep(text) {
        return Err((line, "more than 64 brackets are open here".into()));
    }
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

/// Keeps the settings; yields where. The file is whole at every instant, for its owner alone, and
/// a link of his to a file kept elsewhere stays one.
///
/// # Errors
/// Where and why not.
pub fn save(settings: &Settings) -> Result<PathBuf, String> {
    let path = path().ok_or("cannot save: neither XDG_CONFIG_HOME nor HOME is set")?;
    let text = toml::to_string(settings).map_err(|error| format!("cannot save: {error}"))?;
    exactop_files::replace(&path, text.as_bytes()).map_err(|error: FileError| error.to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_fuzzing::{corpus, Target};
    use exactop_model::columns::COLUMNS;

    #[test]
    fn defaults_survive_the_file() {
        let text = toml::to_string(&Settings::default()).expect("TOML");
        assert_eq!(parse(&text), Ok(Settings::default()));
        assert_eq!(parse(""), Ok(Settings::default()));
    }

    #[test]
    fn fuzz_configuration() {
        let defaults = toml::to_string(&Settings::default()).expect("TOML");
        let own = "[presets.waits]\ncolumns = [\"pid\", \"lat_pct\"]\nsort = \"lat_pct\"\n";
        Target::new(corpus!("configuration"))
            .examples([&defaults, own])
            .words(COLUMNS.iter().map(|column| column.name))
            .words(["interval_s", "nan", "1e308", "filters", "[", "]", "\"pid>1\"", "presets."])
            .run(|bytes| match text(bytes).and_then(parse) {
                Ok(settings) => {
                    assert!(settings.columns.len() <= COLUMNS.len());
                    let kept = toml::to_string(&settings).expect("TOML");
                    assert_eq!(parse(&kept), Ok(settings), "what is kept is read again");
                }
                Err((line, what)) => assert!(line >= 1 && !what.is_empty()),
            });
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
