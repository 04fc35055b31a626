//! What is recorded goes on to a store as windows close: what is set for that, and what is said of it.

use super::settings::{length, Record};
use crate::failure::{complain, Failure};
use crate::options::time::shown;
use exactop_export::clickhouse::{Address, Client, Exporter, Log, Login, News, Pace, Patience};
use exactop_export::GROUPS;
use exactop_metrics::Exporting;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// At the end so long is waited for a store.
const LAST: Duration = Duration::from_secs(2);

/// Where recorded windows go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // docs/service.md says it.
pub struct Export {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub database: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    #[serde(with = "length")]
    pub every: Duration,
    pub groups: usize,
}

impl Default for Export {
    fn default() -> Export {
        Export {
            to: None,
            database: "exactop".into(),
            login: None,
            ca: None,
            every: Duration::from_secs(60),
            groups: GROUPS,
        }
    }
}

impl Export {
    /// Whether it can be done at all; no file is looked at.
    pub fn check(&self, record: &Record) -> Result<(), (&'static str, String)> {
        let Some(to) = &self.to else { return Ok(()) };
        Address::read(to).map_err(|error| ("export.to", format!(": {error}")))?;
        if !record.enabled {
            let what = ": what is sent is what is recorded: it takes record.enabled";
            return Err(("export.to", what.into()));
        }
        match self.groups {
            1..=100_000 => Ok(()),
            n => Err(("export.groups", format!(" is {n}: 1 to 100000 groups can have rows"))),
        }
    }

    /// The store's port.
    pub fn port(&self) -> Option<u16> {
        Some(Address::read(self.to.as_ref()?).ok()?.port())
    }

    /// Who speaks to the store, with what files say of it; `None`: nothing is sent.
    ///
    /// # Errors
    /// A file cannot be read or used, or a password would go in the clear.
    pub fn client(&self) -> Result<Option<Client>, Failure> {
        let Some(to) = &self.to else { return Ok(None) };
        let wrong = |error| Failure::usage(format!("[export]: {error}"));
        let login = self.login.as_deref().map(Login::read).transpose().map_err(wrong)?;
        let address = Address::read(to).map_err(wrong)?;
        let ca = self.ca.as_deref();
        Client::new(address, &self.database, login, ca, Patience::ONCE).map(Some).map_err(wrong)
    }
}

/// Sends, where that is set.
pub struct Exported(Option<Exporter>);

impl Exported {
    /// Begins to send what is recorded there.
    ///
    /// # Errors
    /// How far it is has no place beside the log.
    pub fn start(
        client: Option<Client>,
        dir: Option<&Path>,
        export: &Export,
    ) -> Result<Exported, Failure> {
        let Some((client, dir)) = client.zip(dir) else { return Ok(Exported(None)) };
        let (pace, groups) = (Pace::every(export.every), export.groups);
        let log = Log { path: dir.into(), groups, pace };
        Ok(Exported(Some(Exporter::start(client, log).map_err(Failure::failed)?)))
    }

    /// Says on standard error what there is to know, a line each.
    pub fn tell(&self) {
        let Some(exporter) = &self.0 else { return };
        exporter.news().iter().for_each(|news| complain(&words(news)));
    }

    /// For metrics: how it goes.
    pub fn told(&self, created_ns: u64) -> Option<Exporting> {
        let status = self.0.as_ref()?.status();
        let now_ns = jiff::Timestamp::now().as_nanosecond();
        // A clock that was set back since says nothing of it.
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

    /// Sends the last windows, if the store takes them at once.
    pub fn finish(mut self) {
        if let Some(exporter) = self.0.take() {
            exporter.finish(LAST);
        }
    }
}

fn words(news: &News) -> String {
    match news {
        News::Away(why) => format!("export: {why}; it is tried again, windows wait in the log"),
        News::Again => "export: all that was recorded is in the store again".into(),
        News::Lost { from_wall_ns, to_wall_ns, length_ns } => {
            let now = crate::options::time::now();
            let (from, to) = (shown(*from_wall_ns, &now), shown(*to_wall_ns, &now));
            let length = length_ns
                .map_or(String::new(), |ns| format!(" ({} s)", Duration::from_nanos(ns).as_secs()));
            format!("export: the log lost what it had from {from} to {to}{length} before it was sent: that is a gap in the store")
        }
        News::LeftOut(sent) => {
            let what = sent.to_string();
            let what = what.split_once(", ").map_or(&*what, |(_, what)| what);
            format!("export: {what}")
        }
    }
}
