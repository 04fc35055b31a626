//! The configuration file: settings of the live view that persist between starts.

use crate::failure::{complain, Failure};
use exactop_files::FileError;
use exactop_model::text::did_you_mean::nearest;
use exactop_model::text::escape::escape_str;
use exactop_tui::{Preset, Settings};
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Once;

/// Path of the file: `$XDG_CONFIG_HOME/exactop/config.toml`, else below `~/.config`. `None` if
/// neither variable is set. A relative XDG_CONFIG_HOME is ignored (XDG Base Directory
/// Specification).
pub fn path() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some(base.join("exactop/config.toml"))
}

/// The saved settings, or the defaults if there is no file; and the unknown keys, which are
/// reported on standard error once.
///
/// # Errors
/// File, line and the error.
pub fn load() -> Result<(Settings, Vec<String>), Failure> {
    static COMPLAINED: Once = Once::new();
    let Some(path) = path() else { return Ok(Default::default()) };
    let bytes = match exactop_files::read_configuration(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return Ok(Default::default()),
        Err(error) => return Err(Failure::usage(format!("cannot use the configuration: {error}"))),
    };
    let shown = path.display();
    let (settings, unknown) = text(&bytes).and_then(parse).map_err(|(line, what)| {
        Failure::usage(format!("{shown}:{line}: {what}: correct it, or delete the file"))
    })?;
    let unknown_in =
        |file: String| unknown.iter().map(move |(line, what)| format!("{what} ({file}:{line})"));
    COMPLAINED.call_once(|| unknown_in(shown.to_string()).for_each(|line| complain(&line)));
    // A screen has room only for the file's name; standard error shows the whole path.
    let name = path.file_name().unwrap_or(path.as_os_str());
    let unknown = unknown_in(name.to_string_lossy().into_owned()).collect();
    Ok((settings, unknown))
}

/// A parsed value, or the line of an error and its text.
pub type Parsed<T> = Result<T, (usize, String)>;

/// Parses TOML; an unknown key is refused with the nearest known one.
///
/// # Errors
/// The line and the error.
pub fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Parsed<T> {
    let text = text(bytes)?;
    if let Some(line) = exactop_files::too_deep(text) {
        return Err((line, "more than 64 brackets are open: close some of them".into()));
    }
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        (line, with_remedy(error.message()))
    })
}

/// The line on which a key (`metrics.groups`) is set in valid TOML; 1 if it is not set.
pub fn line_of_key(text: &str, key: &str) -> usize {
    let Ok(all) = toml::de::DeTable::parse(text) else { return 1 };
    let mut names = key.split('.');
    let Some(mut value) = names.next().and_then(|name| all.get_ref().get(name)) else { return 1 };
    for name in names {
        let inner = value.get_ref().as_table().and_then(|table| table.get(name));
        let Some(inner) = inner else { break };
        value = inner;
    }
    line_at(text, value.span().start)
}

/// An error with what to do: an unknown key has the nearest known one instead of a list of all.
fn with_remedy(message: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match (message.starts_with("unknown field "), words.split_first()) {
        (true, Some((unknown, known))) => match nearest(unknown, known.iter().copied()) {
            Some(meant) => format!("unknown field `{unknown}`: did you mean `{meant}`?"),
            None => message.to_string(),
        },
        // A value that is refused comes with what to write.
        _ if message.contains(": ") => message.to_string(),
        _ => format!("{message}: correct this line (KEY = VALUE)"),
    }
}

fn text(bytes: &[u8]) -> Result<&str, (usize, String)> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        (line, "a byte is not UTF-8: save the file as UTF-8".into())
    })
}

/// Settings, and the lines of unknown keys with a suggestion for each.
type Read = (Settings, Vec<(usize, String)>);

/// Parses settings; an error comes with its line.
fn parse(text: &str) -> Parsed<Read> {
    let unknown = unknown(text);
    let settings: Settings = match parsed(text.as_bytes()) {
        Ok(settings) => settings,
        // A preset whose `columns` is misspelt is dropped, and the unknown key is reported.
        Err(refused) if unknown.is_empty() => return Err(refused),
        Err(refused) => without_empty_presets(text).ok_or(refused)?,
    };
    match settings.check() {
        Ok(()) => Ok((settings, unknown)),
        Err(what) => Err((line_refused(text).unwrap_or(1), what)),
    }
}

/// The settings without presets that lack columns, if that makes them usable.
fn without_empty_presets(text: &str) -> Option<Settings> {
    if exactop_files::too_deep(text).is_some() {
        return None;
    }
    let mut all: toml::Table = toml::from_str(text).ok()?;
    let presets = all.get_mut("presets")?.as_table_mut()?;
    let has_columns = |preset: &toml::Value| {
        preset.as_table().is_none_or(|preset| preset.contains_key("columns"))
    };
    presets.retain(|_, preset| has_columns(preset));
    all.try_into().ok()
}

/// Unknown keys, perhaps of a newer exactop. They do not stop the start.
fn unknown(text: &str) -> Vec<(usize, String)> {
    if exactop_files::too_deep(text).is_some() {
        return Vec::new();
    }
    let Ok(all) = toml::from_str::<toml::Table>(text) else { return Vec::new() };
    let (of_settings, of_preset) = known();
    let mut found = strangers(&all, &of_settings);
    let presets = all.get("presets").and_then(toml::Value::as_table);
    for preset in presets.into_iter().flatten().filter_map(|(_, preset)| preset.as_table()) {
        found.extend(strangers(preset, &of_preset));
    }
    let told = |(key, what): (String, String)| (line_of(text, &key).unwrap_or(1), what);
    found.into_iter().map(told).collect()
}

/// Known keys of settings, and those of a preset.
fn known() -> (Vec<String>, Vec<String>) {
    let preset = Preset { columns: Vec::new(), sort: Some(Settings::default().sort) };
    let keys = |table: Result<toml::Table, _>| {
        table.map_or(Vec::new(), |table: toml::Table| {
            table.into_iter().map(|(key, _)| key).collect()
        })
    };
    let of_preset = keys(toml::Table::try_from(&preset));
    let presets = [("own".to_string(), preset)].into();
    let all = Settings { user: Some(String::new()), presets, ..Settings::default() };
    (keys(toml::Table::try_from(all)), of_preset)
}

fn strangers(table: &toml::Table, known: &[String]) -> Vec<(String, String)> {
    let strange = |key: &&String| !known.contains(key);
    let told = |key: &String| {
        let near = nearest(key, known.iter().map(String::as_str));
        let near = near
            .map_or("docs/reference/configuration.md lists the settings".into(), |near| {
                format!("did you mean '{near}'?")
            });
        (key.clone(), format!("{}: {near}", escape_str(key)))
    };
    table.keys().filter(strange).map(told).collect()
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&b| b == b'\n').count()
}

/// The line of the setting that is refused, also if it stands alone.
fn line_refused(text: &str) -> Option<usize> {
    let all: toml::Table = toml::from_str(text).ok()?;
    let refused = |(key, value): (String, toml::Value)| {
        let alone = toml::Table::from_iter([(key.clone(), value)]);
        let settings: Settings = alone.try_into().ok()?;
        settings.check().is_err().then_some(key)
    };
    line_of(text, &all.into_iter().find_map(refused)?)
}

/// The line on which a key is set, or its table begins.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let starts = |line: &str| {
        let rest = line.trim_start().trim_start_matches(['"', '[']).strip_prefix(key)?;
        rest.trim_start_matches(['"', ']', '.']).trim_start().starts_with(['=', ']']).then_some(())
    };
    let is_head = |line: &str| line.trim() == format!("[{key}]");
    text.lines().position(|line| starts(line).is_some() || is_head(line)).map(|at| at + 1)
}

/// Saves the settings and returns the path. The file is complete at every instant and readable only
/// by its owner. If it is a link, the link stays.
///
/// # Errors
/// The file cannot be written; the text names it and the reason.
pub fn save(settings: &Settings) -> Result<PathBuf, String> {
    let path =
        path().ok_or("cannot save: neither XDG_CONFIG_HOME nor HOME is set: set one of them")?;
    let text = toml::to_string(settings).map_err(|error| format!("cannot save: {error}"))?;
    exactop_files::replace(&path, text.as_bytes()).map_err(|error: FileError| error.to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_fuzzing::{corpus, Target};
    use exactop_model::columns::COLUMNS;
    use exactop_tui::AutoSwitch;

    #[test]
    fn defaults_survive_the_file() {
        let text = toml::to_string(&Settings::default()).expect("TOML");
        assert_eq!(parse(&text), Ok((Settings::default(), Vec::new())));
        assert_eq!(parse(""), Ok((Settings::default(), Vec::new())));
    }

    #[test]
    fn per_cpu_and_command_line_take_true_false_and_auto() {
        for switch in [AutoSwitch::Auto, AutoSwitch::Always, AutoSwitch::Never] {
            let settings =
                Settings { per_cpu: switch, command_line: switch, ..Settings::default() };
            let text = toml::to_string(&settings).expect("TOML");
            assert_eq!(parse(&text), Ok((settings, Vec::new())), "{text}");
        }
        let of = |value: &str| parse(&format!("\nper_cpu = {value}\n")).map(|(s, _)| s.per_cpu);
        assert_eq!(of("true"), Ok(AutoSwitch::Always));
        assert_eq!(of("\"auto\""), Ok(AutoSwitch::Auto));
        let (line, what) = of("\"sometimes\"").expect_err("it is refused");
        assert!(line == 2 && what.contains("true, false or \"auto\""), "{what}");
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
                Ok((settings, unknown)) => {
                    assert!(settings.columns.len() <= COLUMNS.len());
                    assert!(unknown.iter().all(|(line, what)| *line >= 1 && !what.is_empty()));
                    let kept = toml::to_string(&settings).expect("TOML");
                    let again = Ok((settings, Vec::new()));
                    assert_eq!(parse(&kept), again, "what is kept is read again");
                }
                Err((line, what)) => assert!(line >= 1 && !what.is_empty()),
            });
    }

    #[test]
    fn an_error_names_its_line() {
        let line = |text: &str| parse(text).map_err(|(line, _)| line);
        assert_eq!(line("threads = true\ninterval_s = \"two\"\n"), Err(2));
        assert_eq!(line("threads = true\n\n\ninterval_s = -1.0\n"), Err(4));
        assert_eq!(line("columns = [\n  \"pid\",\n  \"nonsense\",\n]\n"), Err(1));
        assert_eq!(line("threads = tru\n"), Err(1));
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_line_and_the_rest_applies() {
        let own = "[presets.own]\ncolumns = [\"pid\"]\nsrot = \"pid\"\n";
        let text =
            format!("threads = true\n\nmicrostate = true\nzzzzzzzz = 1\n{own}[colours]\nx = 1\n");
        let (settings, unknown) = parse(&text).expect("settings");
        assert!(settings.threads && !settings.microstates && settings.presets.len() == 1);
        let said = |line, words: &str| {
            let found = unknown.iter().find(|told| told.1.contains(words));
            assert_eq!(found.map(|told| told.0), Some(line), "{words}: {unknown:?}");
        };
        said(3, "microstate: did you mean 'microstates'?");
        said(4, "zzzzzzzz: docs/reference/configuration.md lists the settings");
        said(7, "srot: did you mean 'sort'?");
        said(8, "colours: ");
        assert_eq!(unknown.len(), 4, "{unknown:?}");
    }

    #[test]
    fn a_preset_with_misspelt_columns_is_dropped_and_reported() {
        let whole = "[presets.two]\ncolumns = [\"pid\"]\n";
        let text = format!("threads = true\n[presets.one]\ncolums = [\"pid\"]\n{whole}");
        let (settings, unknown) = parse(&text).expect("settings");
        assert!(settings.threads);
        assert_eq!(settings.presets.keys().collect::<Vec<_>>(), ["two"]);
        assert_eq!(unknown, [(3, "colums: did you mean 'columns'?".into())]);
        // Without a misspelt key, only the refusal is reported.
        let refused = parse("[presets.one]\nsort = \"pid\"\n").expect_err("no columns");
        assert!(refused.1.contains("columns"), "{refused:?}");
        // An error in another section is still reported at its own line.
        let text = "[presets.one]\ncolums = [\"pid\"]\n[x]\n".to_string() + "y = 1\n";
        assert!(parse(&text).is_ok());
        let text = format!("interval_s = \"two\"\n{text}");
        assert_eq!(parse(&text).expect_err("no number").0, 1);
    }

    #[test]
    fn every_key_is_documented() {
        let document = include_str!("../../../../docs/reference/configuration.md");
        let (of_settings, of_preset) = known();
        assert!(of_settings.len() > 10 && of_preset.len() == 2, "{of_settings:?} {of_preset:?}");
        for key in of_settings.iter().chain(&of_preset) {
            assert!(
                document.contains(&format!("| `{key}` |")),
                "docs/reference/configuration.md lacks {key}"
            );
        }
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        let document = include_str!("../../../../docs/reference/configuration.md");
        let (table, _) = document.split_once("\nA preset:\n").expect("the presets follow");
        let mut compared = 0;
        for row in table.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let (key, default) =
                (cells[0].trim_matches(['|', ' ', '`']), cells[2].trim_matches('`'));
            // Some defaults are words, such as the columns of top.
            if let Ok((settings, _)) = parse(&format!("{key} = {default}\n")) {
                assert_eq!(settings, Settings::default(), "{row}");
                compared += 1;
            }
        }
        assert!(compared > 14, "{compared} rows");
    }
}
