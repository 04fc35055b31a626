//! Sends recorded windows to a store or into files as they close: the settings, and the notices
//! about it.

use super::values::some_length;
use crate::failure::{complain, Failure};
use crate::options::parse::MOST_GROUPS;
use crate::options::time::shown;
use exactop_export::clickhouse::{Address, Client, Login, Patience};
use exactop_export::onward::{Destination, Exporter, Log, News, Pace};
use exactop_export::{Objects, Shelf, GROUPS};
use exactop_files::{Directory, FileError};
use exactop_metrics::Exporting;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for a store at the daemon's end.
const LAST: Duration = Duration::from_secs(2);

/// The database if the settings name none.
const DATABASE: &str = "exactop";

/// Settings of `[export]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/how-to/service.md says it.
pub struct Export {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub database: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    #[serde(with = "some_length", skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    pub groups: usize,
}

impl Default for Export {
    fn default() -> Export {
        Export {
            to: None,
            database: DATABASE.into(),
            login: None,
            ca: None,
            every: None,
            groups: GROUPS,
        }
    }
}

/// A parsed `export.to`.
enum ExportTarget {
    Clickhouse(Address),
    Directory(PathBuf),
    Server(Address),
}

impl ExportTarget {
    /// Parses `https://STORE`, `clickhouse:https://STORE`, `parquet:DIR` or
    /// `parquet:https://SERVER/DIR`.
    fn read(text: &str) -> Result<ExportTarget, String> {
        let address = |url: &str| Address::read(url).map_err(|error| error.to_string());
        match text.split_once(':') {
            Some(("parquet", "")) => Err("'parquet:' names no place: write parquet:DIR or parquet:https://HOST/DIR".into()),
            Some(("parquet", url)) if is_of_http(url) => address(url).map(ExportTarget::Server),
            Some(("parquet", url)) if url.contains("://") => {
                Err(format!("'{url}': cannot send files by this protocol: write a directory, or https://HOST/DIR"))
            }
            Some(("parquet", dir)) => std::path::absolute(dir)
                .map(ExportTarget::Directory)
                .map_err(|error| format!("cannot use '{dir}' as a directory: {error}")),
            Some(("clickhouse", url)) => address(url).map(ExportTarget::Clickhouse),
            _ => match address(text) {
                Err(why) => Err(format!("{why}, or parquet:DIR for files")),
                address => address.map(ExportTarget::Clickhouse),
            },
        }
    }
}

/// True if the text is an http or https address.
fn is_of_http(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
}

impl Export {
    /// Checks that the settings fit together. Reads no file.
    pub fn check(&self, is_recorded: bool) -> Result<(), (&'static str, String)> {
        let Some(to) = &self.to else { return Ok(()) };
        let to = ExportTarget::read(to).map_err(|error| ("export.to", format!(": {error}")))?;
        if !is_recorded {
            let what = ": needs a recording to send: set record.enabled = true";
            return Err(("export.to", what.into()));
        }
        let others = match to {
            ExportTarget::Directory(_) => {
                [self.login.is_some(), self.ca.is_some(), self.is_of_a_database()]
            }
            ExportTarget::Server(_) => [false, false, self.is_of_a_database()],
            ExportTarget::Clickhouse(_) => [false; 3],
        };
        let keys = ["export.login", "export.ca", "export.database"];
        if let Some((key, _)) = keys.into_iter().zip(others).find(|(_, is_set)| *is_set) {
            return Err((key, " does not fit the target of export.to: remove it".into()));
        }
        match self.groups {
            1..=MOST_GROUPS => Ok(()),
            n => Err(("export.groups", format!(" is {n}: write 1 to {MOST_GROUPS}"))),
        }
    }

    fn is_of_a_database(&self) -> bool {
        self.database != DATABASE
    }

    fn goal(&self) -> Option<ExportTarget> {
        ExportTarget::read(self.to.as_ref()?).ok()
    }

    /// Interval of sending. A store takes many inserts; files of one minute would be many files.
    pub fn every(&self) -> Duration {
        let usual = match self.goal() {
            Some(ExportTarget::Directory(_) | ExportTarget::Server(_)) => 600,
            _ => 60,
        };
        self.every.unwrap_or(Duration::from_secs(usual))
    }

    /// TCP port of the store or server.
    pub fn port(&self) -> Option<u16> {
        match self.goal()? {
            ExportTarget::Clickhouse(address) | ExportTarget::Server(address) => {
                Some(address.port())
            }
            ExportTarget::Directory(_) => None,
        }
    }

    /// The directory to which the daemon must be able to write.
    pub fn written(&self) -> Option<PathBuf> {
        match self.goal()? {
            ExportTarget::Directory(path) => Some(fenced(&path)),
            _ => None,
        }
    }

    /// The target, with the login and certificates from their files; `None`: nothing is sent.
    ///
    /// # Errors
    /// A file cannot be read or used, a password would be sent unencrypted, or others could change
    /// the directory.
    pub fn onto(&self) -> Result<Option<Destination>, Failure> {
        let Some(goal) = self.goal() else { return Ok(None) };
        let wrong = |error| Failure::usage(format!("[export]: {error}"));
        let login = self.login.as_deref().map(Login::read).transpose().map_err(wrong)?;
        let (ca, once) = (self.ca.as_deref(), Patience::ONCE);
        Ok(Some(match goal {
            ExportTarget::Clickhouse(address) => {
                let client = Client::new(address, &self.database, login, ca, once);
                Destination::Clickhouse(Box::new(client.map_err(wrong)?))
            }
            ExportTarget::Server(address) => {
                let objects = Objects::new(&address, login.as_ref(), ca, once).map_err(wrong)?;
                Destination::Files(Shelf::There(Box::new(objects)))
            }
            ExportTarget::Directory(path) => match Directory::ours(&path) {
                // A missing directory may appear later; a directory that others can change stays
                // unsafe.
                Ok(_) | Err(FileError::Io { .. }) => Destination::Files(Shelf::Here(path)),
                Err(error) => return Err(Failure::usage(format!("[export]: {error}"))),
            },
        }))
    }
}

/// The directory that Landlock must leave writable. A missing directory may be made later, and a
/// file system of its own may be mounted again. Then this is the directory above the existing part
/// or above the mount point.
fn fenced(dir: &Path) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| std::fs::metadata(path).map(|there| there.dev()).ok();
    let there = dir.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    let on = device(there);
    let mounted = there.ancestors().take_while(|path| device(path) == on).last().unwrap_or(there);
    let above = match mounted.parent() {
        // The directory is on the same file system as the root.
        None if there == dir => return dir.into(),
        None => there.parent(),
        above => above,
    };
    // Never the root directory.
    let within = |path: &&Path| path.parent().is_some();
    above.filter(within).or(Some(there)).filter(within).unwrap_or(dir).into()
}

/// The exporter, if the settings name a target.
pub struct Exported(Option<Exporter>);

impl Exported {
    /// Starts sending the recording.
    ///
    /// # Errors
    /// The state file cannot be written beside the log.
    pub fn start(
        onto: Option<Destination>,
        dir: Option<&Path>,
        export: &Export,
    ) -> Result<Exported, Failure> {
        let Some((onto, dir)) = onto.zip(dir) else { return Ok(Exported(None)) };
        let (pace, groups) = (Pace::every(export.every()), export.groups);
        let log = Log { path: dir.into(), groups, pace };
        Ok(Exported(Some(Exporter::start(onto, log).map_err(Failure::failed)?)))
    }

    /// Prints the exporter's notices on standard error, one per line.
    pub fn tell(&self) {
        let Some(exporter) = &self.0 else { return };
        exporter.news().iter().for_each(|news| complain(&words(news)));
    }

    /// The exporter's state for metrics.
    pub fn to_metrics(&self, created_ns: u64) -> Option<Exporting> {
        let status = self.0.as_ref()?.status();
        let now_ns = jiff::Timestamp::now().as_nanosecond();
        // If the clock was set back since, the lag is unknown.
        let behind_ns = status.until_wall_ns.and_then(|until| u64::try_from(now_ns - until).ok());
        Some(Exporting {
            sent: status.sent.windows,
            there: status.sent.there,
            overlapping: status.sent.overlapping,
            old: status.sent.old,
            batches: status.batches,
            failed: status.failed,
            losses: status.losses,
            lost_ns: status.lost_ns,
            pending_bytes: status.pending_bytes,
            behind_ns,
            created_ns,
        })
    }

    /// Sends the last windows if the store accepts them at once.
    pub fn finish(mut self) {
        if let Some(exporter) = self.0.take() {
            exporter.finish(LAST);
        }
    }
}

fn words(news: &News) -> String {
    match news {
        News::Away(why) => format!("export: {why}; retrying, windows wait in the log"),
        News::Again => "export: works again, all recorded windows are sent".into(),
        News::Lost { from_wall_ns, to_wall_ns, length_ns } => {
            let now = crate::options::time::now();
            let (from, to) = (shown(*from_wall_ns, &now), shown(*to_wall_ns, &now));
            let length = length_ns
                .map_or(String::new(), |ns| format!(" ({} s)", Duration::from_nanos(ns).as_secs()));
            format!("export: the log deleted its windows from {from} to {to}{length} before they were sent: the store has a gap")
        }
        News::LeftOut(sent) => {
            let what = sent.to_string();
            let what = what.split_once(", ").map_or(&*what, |(_, what)| what);
            format!("export: {what}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_goes_is_one_text() {
        let read = |text| ExportTarget::read(text);
        assert!(matches!(read("https://s:8443"), Ok(ExportTarget::Clickhouse(_))));
        assert!(matches!(read("clickhouse:http://s"), Ok(ExportTarget::Clickhouse(_))));
        assert!(matches!(read("parquet:https://s/books"), Ok(ExportTarget::Server(_))));
        let is = |text, path: &str| matches!(read(text), Ok(ExportTarget::Directory(dir)) if dir == Path::new(path));
        assert!(is("parquet:/srv/a:b/", "/srv/a:b/") && is("parquet:/", "/"));
        assert!(
            matches!(read("parquet:books"), Ok(ExportTarget::Directory(dir)) if dir.is_absolute())
        );
        for wrong in ["", "/srv/books", "parquet:", "parquet", "parquet:s3://b", "s:8443"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_more_is_left_open_than_has_to_be() {
        let dir = tempfile::tempdir().expect("a directory");
        let there = dir.path();
        let root = fenced(Path::new("/proc/self"));
        assert_eq!(root, Path::new("/proc/self"), "never all of it");
        assert_eq!(fenced(Path::new("/exactop-is/nowhere")), Path::new("/exactop-is/nowhere"));
        let is_on_its_own = fenced(there) != there;
        // A missing directory may be on a disk that is mounted later.
        if !is_on_its_own {
            assert_eq!(fenced(&there.join("books")), there.parent().expect("a directory above"));
            assert_eq!(fenced(&there.join("a/b/c")), there.parent().expect("a directory above"));
        }
    }
}
