//! The daemon's settings, a TOML file. docs/how-to/service.md lists every key.

use super::exporting::Export;
use super::names::{Http, Machine};
use super::values::{
    blame_by, bytes, labels, length, listens, microseconds, pause, some_bytes, sync,
};
use crate::failure::Failure;
use crate::options::config::{line_of_key, parsed, Parsed};
use crate::options::time::{size, stretch};
use crate::priority::Priority;
use crate::recorded::{KEEP, MOST};
use exactop_metrics::otlp::endpoint;
use exactop_model::owner::Grouping;
use exactop_recording::{Options, Sync};
use exactop_sources::BLAME_FLOOR_NS;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Default port of HTTP.
const HTTP_PORT: u16 = 80;

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/how-to/service.md says it.
pub struct Settings {
    pub socket: PathBuf,
    pub group: String,
    pub machine: Machine,
    pub priority: Priority,
    #[serde(skip_serializing_if = "Option::is_none", with = "some_bytes")]
    pub memory: Option<u64>,
    pub blame: Blame,
    pub record: Record,
    pub metrics: Metrics,
    pub http: Http,
    pub otlp: Otlp,
    pub export: Export,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            socket: exactop_service::SOCKET.into(),
            group: "exactop".into(),
            machine: Machine::default(),
            priority: Priority::Nice,
            memory: None,
            blame: Blame::default(),
            record: Record::default(),
            metrics: Metrics::default(),
            http: Http::default(),
            otlp: Otlp::default(),
            export: Export::default(),
        }
    }
}

/// Settings of the blame book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/how-to/service.md says it.
pub struct Blame {
    pub enabled: bool,
    pub histograms: bool,
    #[serde(with = "microseconds")]
    pub floor: Duration,
    #[serde(with = "blame_by")]
    pub by: Grouping,
}

impl Default for Blame {
    fn default() -> Blame {
        Blame {
            enabled: true,
            histograms: false,
            floor: Duration::from_nanos(BLAME_FLOOR_NS),
            by: Grouping::Cgroup,
        }
    }
}

impl Blame {
    /// The settings as the ledger takes them.
    pub fn floor_ns(&self) -> Option<u64> {
        self.enabled.then_some(self.floor.as_nanos() as u64)
    }
}

/// Settings of `[record]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/how-to/service.md says it.
pub struct Record {
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    #[serde(with = "length")]
    pub interval: Duration,
    #[serde(with = "length")]
    pub keep: Duration,
    #[serde(with = "bytes")]
    pub max_size: u64,
    #[serde(with = "sync")]
    pub sync: Sync,
    pub command_lines: bool,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            enabled: true,
            dir: None,
            interval: Duration::from_secs(10),
            keep: stretch(KEEP).expect("a length of time"),
            max_size: size(MOST).expect("a size"),
            sync: Sync::Window,
            command_lines: true,
        }
    }
}

impl Record {
    /// The settings as the recorder takes them.
    pub fn options(&self) -> Options {
        Options {
            keep: Some(self.keep),
            max_bytes: Some(self.max_size),
            sync: self.sync,
            command_lines: self.command_lines,
            ..Options::default()
        }
    }
}

/// Settings of the metrics page over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/how-to/service.md says it.
pub struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listens")]
    pub listen: Option<SocketAddr>,
    #[serde(with = "labels")]
    pub by: Vec<Grouping>,
    pub groups: usize,
    #[serde(with = "pause")]
    pub zero_for: Duration,
    pub modes: bool,
    pub waits: bool,
    pub buckets: bool,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let defaults = exactop_metrics::Settings::default();
        Metrics {
            listen: None,
            by: defaults.by,
            groups: defaults.groups,
            zero_for: Duration::from_nanos(defaults.zero_for_ns),
            modes: defaults.modes,
            waits: defaults.waits,
            buckets: defaults.buckets,
        }
    }
}

impl Metrics {
    /// The settings as the metrics counters take them.
    pub fn counted(&self, blame: &Blame) -> exactop_metrics::Settings {
        exactop_metrics::Settings {
            by: self.by.clone(),
            groups: self.groups,
            zero_for_ns: self.zero_for.as_nanos() as u64,
            blame_by: blame.by,
            modes: self.modes,
            waits: self.waits,
            buckets: self.buckets,
        }
    }
}

/// Settings of reports to an OTLP collector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/how-to/service.md says it.
pub struct Otlp {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(with = "length")]
    pub interval: Duration,
}

impl Default for Otlp {
    fn default() -> Otlp {
        Otlp { url: None, interval: Duration::from_secs(10) }
    }
}

impl Otlp {
    /// Checks that the URL can be an OTLP endpoint.
    pub fn check(&self) -> Result<(), String> {
        let whole = self.url.as_ref().map(|url| endpoint(url)).transpose();
        whole.map(|_| ()).map_err(|error| error.to_string())
    }

    /// TCP port of the collector.
    pub fn port(&self) -> Option<u16> {
        let whole = endpoint(self.url.as_ref()?).ok()?;
        Some(whole.port_u16().unwrap_or(HTTP_PORT))
    }
}

impl Settings {
    /// Finds a value that parses but cannot be used. Returns its key and the text after it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let wrong = |key| move |what: String| (key, format!(": {what}"));
        self.otlp.check().map_err(wrong("otlp.url"))?;
        self.export.check(self.record.enabled)?;
        match self.metrics.groups {
            1..=100_000 => {}
            n => return Err(("metrics.groups", format!(" is {n}: write 1 to 100000"))),
        }
        // Length of sun_path (unix(7)), with its terminating null byte.
        match self.socket.as_os_str().len() {
            0 => Err(("socket", " is empty: name a file".into())),
            n @ 108.. => {
                Err(("socket", format!(" has {n} bytes: write a path of at most 107 bytes")))
            }
            _ => Ok(()),
        }
    }

    /// The settings as a TOML file.
    pub fn to_toml(&self) -> String {
        let mut told = self.clone();
        if told.export.to.is_some() {
            told.export.every = Some(told.export.every());
        }
        toml::to_string(&told).expect("settings are plain values")
    }

    /// Names of the settings that differ from those in force and need a restart.
    pub fn bound(&self, in_force: &Settings) -> Vec<&'static str> {
        let (was, is) = (in_force, self);
        let blame = |settings: &Settings| (settings.blame.floor_ns(), settings.blame.histograms);
        let record =
            |settings: &Settings| Record { interval: Duration::ZERO, ..settings.record.clone() };
        [
            ("socket", was.socket != is.socket),
            ("group", was.group != is.group),
            ("machine.host", was.machine != is.machine),
            ("priority", was.priority != is.priority),
            ("[blame] but its by", blame(was) != blame(is)),
            ("[record] but its interval", record(was) != record(is)),
            ("metrics.listen", was.metrics.listen != is.metrics.listen),
            ("http.hosts", was.http != is.http),
            ("[otlp]", was.otlp != is.otlp),
            ("[export]", was.export != is.export),
        ]
        .into_iter()
        .filter_map(|(what, differs)| differs.then_some(what))
        .collect()
    }
}

/// Settings of the named file; without a name, of the default file if it exists.
///
/// # Errors
/// File, line and the error.
pub fn load(named: Option<&Path>, usual: &Path) -> Result<Settings, Failure> {
    let path = named.unwrap_or(usual);
    match exactop_files::read_configuration(path) {
        Ok(bytes) => read(&bytes)
            .map_err(|(line, what)| Failure::usage(format!("{}:{line}: {what}", path.display()))),
        Err(error) if error.is_missing() && named.is_none() => Ok(Settings::default()),
        Err(error) => Err(Failure::usage(format!("cannot use the settings: {error}"))),
    }
}

/// Parses settings.
pub(super) fn read(bytes: &[u8]) -> Parsed<Settings> {
    let settings: Settings = parsed(bytes)?;
    match settings.check() {
        Ok(()) => Ok(settings),
        Err((key, what)) => {
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            Err((line_of_key(text, key), format!("{key}{what}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file that packages install: every key with its default.
    const PACKAGED: &str = include_str!("../../../../../packaging/config.toml");

    fn refused(text: &str) -> (usize, String) {
        read(text.as_bytes()).expect_err("refused")
    }

    #[test]
    fn the_packaged_file_sets_nothing_and_names_every_key() {
        assert_eq!(read(PACKAGED.as_bytes()), Ok(Settings::default()));
        let set: String = PACKAGED
            .lines()
            .map(|line| line.strip_prefix("#").filter(|key| !key.starts_with(' ')).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let all: toml::Table = toml::from_str(&set).expect("TOML");
        let example = read(set.as_bytes()).expect("usable");
        let again: toml::Table = toml::from_str(&example.to_toml()).expect("TOML");
        let keys = |table: &toml::Table| -> Vec<String> {
            table
                .iter()
                .flat_map(|(name, value)| match value {
                    toml::Value::Table(inner) => {
                        inner.keys().map(|key| format!("{name}.{key}")).collect()
                    }
                    _ => vec![name.clone()],
                })
                .collect()
        };
        assert_eq!(keys(&all), keys(&again));
        assert_eq!(keys(&all).len(), 32, "keys that have no default are set, too");
    }

    /// A value as the document writes it: one in backticks, or a list of them. `None`: the document has
    /// words.
    fn documented(default: &str) -> Option<String> {
        let values: Vec<&str> = default.split(", ").collect();
        let bare = |value: &&str| value.strip_prefix('`')?.strip_suffix('`').map(String::from);
        let bare: Vec<String> = values.iter().map(bare).collect::<Option<_>>()?;
        if bare.iter().any(|value| value.contains('`')) {
            return None;
        }
        let is_literal = |text: &str| toml::from_str::<toml::Table>(&format!("a = {text}")).is_ok();
        match &bare[..] {
            [one] if is_literal(one) => Some(one.clone()),
            [one] => Some(format!("{one:?}")),
            all => Some(format!("{all:?}")),
        }
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        let document = include_str!("../../../../../docs/how-to/service.md");
        let (_, table) = document.split_once("\n| `socket` |").expect("the table of settings");
        let (table, _) = table.split_once("\n\n").expect("its end");
        let mut compared = 0;
        for row in format!("| `socket` |{table}").lines() {
            let cells: Vec<&str> = row.split(" | ").collect();
            let key = cells[0].trim_matches(['|', ' ', '`']);
            // The directory's default depends on the user; `record` has it, not the settings.
            let Some(default) = documented(cells[1]).filter(|_| key != "record.dir") else {
                continue;
            };
            let settings = read(format!("{key} = {default}\n").as_bytes());
            assert_eq!(settings, Ok(Settings::default()), "{row}");
            compared += 1;
        }
        assert!(compared > 20, "{compared} rows");
    }

    #[test]
    fn printed_settings_parse_to_the_same_settings() {
        let mut settings = Settings::default();
        assert_eq!(read(settings.to_toml().as_bytes()), Ok(settings.clone()));
        settings.priority = Priority::RoundRobin;
        settings.memory = Some(96 << 20);
        settings.record.keep = Duration::from_secs(90);
        settings.record.max_size = 3 << 20;
        settings.record.sync = Sync::Never;
        settings.metrics.by = vec![Grouping::User];
        settings.metrics.zero_for = Duration::from_secs(60);
        settings.otlp.url = Some("http://here:4318".into());
        settings.export.to = Some("https://store:8443".into());
        settings.export.every = Some(Duration::from_secs(120));
        assert_eq!(read(settings.to_toml().as_bytes()), Ok(settings));
    }

    #[test]
    fn an_error_names_its_line_and_the_nearest_key() {
        assert_eq!(
            refused("[record]\n\nmaxsize = \"2G\"\n"),
            (3, "unknown field `maxsize`: did you mean `max_size`?".into())
        );
        let (line, what) = refused("[metrics]\nby = [\"pid\"]\n");
        assert_eq!((line, what.contains("'pid' is none of")), (2, true), "{what}");
        for (text, at) in [
            ("[record]\nkeep = \"7 days\"\n", 2),
            ("[record]\nmax_size = 3\n", 2),
            ("[record]\nsync = \"always\"\n", 2),
            ("socket = 1\n", 1),
            ("socket = \"\"\n", 1),
            ("priority = \"highest\"\n", 1),
            ("memory = \"1K\"\n", 1),
            ("[metrics]\nby = [\"user\"]\n\ngroups = 0\n", 4),
            ("[otlp]\nurl = \"https://c\"\n", 2),
            ("[export]\nto = \"store\"\n", 2),
            ("[record]\nenabled = false\n[export]\nto = \"http://s\"\n", 4),
            ("[export]\ngroups = 0\nto = \"http://s\"\n", 2),
            (&format!("group = \"x\"\nsocket = \"/{}\"\n", "s".repeat(107)), 2),
            ("[export]\nevery = \"never\"\n", 2),
            ("[metrics]\n\nlisten = \"here\"\n", 3),
            ("[machine]\nhost = \"a b\"\n", 2),
            ("[http]\nhosts = [\"http://a\"]\n", 2),
        ] {
            let (line, what) = refused(text);
            assert_eq!(line, at, "{text}");
            assert!(!what.contains("syntax"), "{what}");
        }
        assert_eq!(read(b"\n\xff").expect_err("refused").0, 2);
    }

    #[test]
    fn a_collector_s_port_is_the_one_of_its_address() {
        let port = |url: &str| Otlp { url: Some(url.into()), ..Otlp::default() }.port();
        assert_eq!(port("http://c:4318/v1/metrics"), Some(4318));
        assert_eq!(port("http://[::1]:5"), Some(5));
        assert_eq!((port("http://[::1]"), port("HTTP://c:7")), (Some(80), Some(7)));
        assert_eq!(port("http://c"), Some(80));
        assert_eq!(port("no address"), None);
        assert_eq!(Otlp::default().port(), None);
    }

    #[test]
    fn settings_that_need_a_restart_are_named() {
        let was = Settings::default();
        let mut is = was.clone();
        is.record.interval = Duration::from_secs(1);
        is.metrics.groups = 5;
        assert!(is.bound(&was).is_empty());
        is.record.keep = Duration::from_secs(3600);
        is.socket = "/run/other".into();
        assert_eq!(is.bound(&was), ["socket", "[record] but its interval"]);
    }
}
