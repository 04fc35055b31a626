//! Metrics: a page over HTTP and reports to a collector. Each has its own thread, which gets every
//! window that closes. These threads request a newer window from the thread that owns the ledger,
//! and do not wait long for it.

use super::exporting::Exported;
use super::process;
use super::settings::Settings;
use crate::failure::{complain, Failure};
use crate::priority;
use exactop_metrics::http::{Front, Pulse, Server};
use exactop_metrics::otlp::{request, Host, Sender};
use exactop_metrics::{Clock, DaemonInfo, LastWindow, Metrics};
use exactop_model::owner::{BookNames, CgroupNames, Names};
use exactop_model::{Book, Degraded, Window};
use exactop_recording::Machine;
use exactop_sources::passwd;
use rustix::fd::{AsFd, BorrowedFd};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Longest time for a collector to accept the last report.
const LAST: Duration = Duration::from_secs(2);

/// Names of groups from the book and of users from /etc/passwd.
struct HostNames<'a>(&'a Book);

impl Names for HostNames<'_> {
    fn cgroup(&self, id: u64) -> Option<CgroupNames> {
        BookNames(self.0).cgroup(id)
    }

    fn user(&self, uid: u32) -> Option<String> {
        let name = passwd::entry(uid)?.name;
        Some(String::from_utf8_lossy(&name).into_owned())
    }
}

/// Metrics, if a page or a collector is set.
pub struct Published(Option<Counting>);

struct Counting {
    last: Arc<LastWindow>,
    /// Readable when a thread requests a window.
    woken: UnixStream,
    host: Arc<Host>,
    own: DaemonInfo,
    pulse: Arc<Pulse>,
    /// Start of the daemon on CLOCK_MONOTONIC, ns.
    begun_ns: u64,
    sender: Option<Sender>,
    /// The last error that was reported.
    told: Option<String>,
    _server: Option<Server>,
}

impl Published {
    /// Starts to count, and to listen and send as the settings say.
    ///
    /// # Errors
    /// The address is invalid or cannot be used.
    pub fn start(settings: &Settings, machine: &Machine) -> Result<Published, Failure> {
        if settings.metrics.listen.is_none() && settings.otlp.url.is_none() {
            return Ok(Published(None));
        }
        let (wake, woken) = UnixStream::pair().map_err(Failure::cannot("make a socket"))?;
        for end in [&wake, &woken] {
            end.set_nonblocking(true).map_err(Failure::cannot("make a socket"))?;
        }
        let own = own(machine);
        let metrics = metrics(settings.metrics.counted(&settings.blame), &own);
        let last = Arc::new(LastWindow::new(metrics, exactop_service::SHORTEST_NS, move || {
            // A full socket is enough to wake the reader.
            let _ = (&wake).write(&[1]);
        }));
        let host = Arc::new(host(machine));
        let pulse = Arc::new(Pulse::new(settings.record.interval));
        let front = Front { names: settings.http.hosts.clone(), pulse: Arc::clone(&pulse) };
        let server = settings.metrics.listen.map(|address| {
            let last = Arc::clone(&last);
            Server::start(address, front, move |format| last.page(format))
        });
        let sender = settings.otlp.url.as_ref().map(|url| {
            let (last, host) = (Arc::clone(&last), Arc::clone(&host));
            let report = move || last.report(|metrics| request(metrics, &host));
            priority::usual(|| Sender::start(url, settings.otlp.interval, Box::new(report)))
        });
        Ok(Published(Some(Counting {
            last,
            woken,
            host,
            own,
            pulse,
            begun_ns: exactop_service::now_ns(),
            told: None,
            sender: sender.transpose().map_err(Failure::failed)?,
            _server: server.transpose().map_err(Failure::failed)?,
        })))
    }

    /// Restarts all counters with new settings from the next window on; each series carries its
    /// start time.
    pub fn set(&mut self, settings: &exactop_metrics::Settings) {
        if let Some(counting) = &mut self.0 {
            counting.last.begin_anew(metrics(settings.clone(), &counting.own));
        }
    }

    /// Sets the interval at which windows close.
    pub fn set_interval(&mut self, interval: Duration) {
        if let Some(counting) = &self.0 {
            counting.pulse.set_interval(interval);
        }
    }

    /// Readable when a thread requests a window.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|counting| counting.woken.as_fd())
    }

    /// True from a thread's request for a window until one closes.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|counting| counting.last.is_wanted())
    }

    /// Clears the wake-ups for requests.
    pub fn hear(&mut self) {
        let Some(counting) = &mut self.0 else { return };
        let mut bytes = [0; 64];
        while (&counting.woken).read(&mut bytes).is_ok_and(|n| n > 0) {}
    }

    /// Counts a window that closed; the book is at its end.
    pub fn take(&mut self, window: &Window, book: &Book, exported: &Exported, degraded: Degraded) {
        if let Some(counting) = &mut self.0 {
            counting.pulse.closes();
            let exporting = exported.to_metrics(counting.begun_ns);
            counting.last.close(window, book, &HostNames(book), (exporting, Some(degraded)));
        }
    }

    /// Reports on standard error when sending starts to fail or works again.
    pub fn tell(&mut self) {
        let Some(counting) = &mut self.0 else { return };
        let Some(sender) = &counting.sender else { return };
        let error = sender.status().error;
        counting.tell(error);
    }

    /// Sends the figures since the last report if the collector accepts them at once.
    pub fn finish(self) {
        let Some(mut counting) = self.0 else { return };
        let Some(sender) = counting.sender.take() else { return };
        let report = counting.last.last_report(|metrics| request(metrics, &counting.host));
        let Some(report) = report else { return };
        let error = sender.finish(report, LAST).error;
        counting.tell(error);
    }
}

impl Counting {
    fn tell(&mut self, error: Option<String>) {
        if error != self.told {
            match &error {
                Some(error) => complain(&format!("the collector does not accept metrics: {error}")),
                None => complain("the collector accepts metrics again"),
            }
            self.told = error;
        }
    }
}

/// Metrics with all counters at zero.
fn metrics(settings: exactop_metrics::Settings, own: &DaemonInfo) -> Metrics {
    let mut metrics = Metrics::new(settings, Clock::read());
    metrics.set_own(own.clone());
    metrics
}

/// The daemon's own labels on the page.
fn own(machine: &Machine) -> DaemonInfo {
    DaemonInfo {
        version: env!("CARGO_PKG_VERSION"),
        commit: crate::version::COMMIT,
        host: machine.host.clone(),
        boot_id: machine.boot_id.clone(),
        process: process::read,
    }
}

/// The host that the figures describe.
fn host(machine: &Machine) -> Host {
    let id = std::fs::read_to_string("/etc/machine-id").ok();
    let id = id.map(|text| text.trim().to_string()).filter(|text| !text.is_empty());
    Host { id, name: Some(machine.host.clone()).filter(|name| !name.is_empty()) }
}
