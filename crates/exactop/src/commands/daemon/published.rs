//! What metrics count, and who asks for them: a page over HTTP, reports to a collector. Both have a
//! thread of their own, which asks the one that owns the ledger; each answer is of one instant.

use super::exporting::Exported;
use super::process;
use super::settings::Settings;
use crate::failure::{complain, Failure};
use exactop_metrics::http::{Front, Pulse, Server};
use exactop_metrics::otlp::{request, Host, Sender};
use exactop_metrics::{Clock, Format, Metrics, Own};
use exactop_model::merged::Merged;
use exactop_model::owner::{BookNames, CgroupNames, Names};
use exactop_model::{Book, Snapshot};
use exactop_recording::Machine;
use exactop_sources::passwd;
use rustix::fd::{AsFd, BorrowedFd};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::time::Duration;

/// Whoever asks waits so long for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// At its end a collector has so long to take the last report.
const LAST: Duration = Duration::from_secs(2);

/// What came is counted at least so often.
const COUNTED_NS: u64 = 10_000_000_000;

/// What is asked for.
enum What {
    Page(Format),
    Report,
}

struct Asked {
    what: What,
    answer: SyncSender<Vec<u8>>,
}

/// How one asks from another thread.
#[derive(Clone)]
struct Asking {
    sender: std::sync::mpsc::Sender<Asked>,
    wake: Arc<UnixStream>,
}

impl Asking {
    /// The answer; `None`: the ledger's thread has ended, or something holds it.
    fn ask(&self, what: What) -> Option<Vec<u8>> {
        let (answer, answered) = sync_channel(1);
        self.sender.send(Asked { what, answer }).ok()?;
        // Full: it is awake already.
        let _ = (&*self.wake).write(&[1]);
        answered.recv_timeout(PATIENCE).ok().filter(|page| !page.is_empty())
    }
}

/// Names of groups as the book has them, of users as /etc/passwd has.
struct Known<'a>(&'a Book);

impl Names for Known<'_> {
    fn cgroup(&self, id: u64) -> Option<CgroupNames> {
        BookNames(self.0).cgroup(id)
    }

    fn user(&self, uid: u32) -> Option<String> {
        let name = passwd::entry(uid)?.name;
        Some(String::from_utf8_lossy(&name).into_owned())
    }
}

/// Counts, as long as somebody may ask.
pub struct Published(Option<Counting>);

struct Counting {
    metrics: Metrics,
    merged: Merged,
    book: Book,
    asked: Receiver<Asked>,
    woken: UnixStream,
    host: Host,
    own: Own,
    pulse: Arc<Pulse>,
    /// When the daemon began, on the monotonic clock.
    begun_ns: u64,
    sender: Option<Sender>,
    /// The last error that was told of it.
    told: Option<String>,
    _server: Option<Server>,
}

impl Published {
    /// Begins to count, and to listen and to send, where that is set.
    ///
    /// # Errors
    /// The address cannot be had, or is none.
    pub fn start(settings: &Settings, machine: &Machine) -> Result<Published, Failure> {
        if settings.metrics.listen.is_none() && settings.otlp.url.is_none() {
            return Ok(Published(None));
        }
        let (wake, woken) = UnixStream::pair().map_err(Failure::cannot("make a socket"))?;
        for end in [&wake, &woken] {
            end.set_nonblocking(true).map_err(Failure::cannot("make a socket"))?;
        }
        let (sender, asked) = channel();
        let asking = Asking { sender, wake: Arc::new(wake) };
        let pulse = Arc::new(Pulse::new(settings.record.interval));
        let front = Front { names: settings.http.hosts.clone(), pulse: Arc::clone(&pulse) };
        let server = settings.metrics.listen.map(|address| {
            let asking = asking.clone();
            Server::start(address, front, move |format| asking.ask(What::Page(format)))
        });
        let sender = settings.otlp.url.as_ref().map(|url| {
            let report = Box::new(move || asking.ask(What::Report));
            Sender::start(url, settings.otlp.interval, report)
        });
        let own = own(machine);
        Ok(Published(Some(Counting {
            metrics: metrics(settings.metrics.counted(), &own),
            merged: Merged::new(),
            book: Book::new(),
            asked,
            woken,
            host: host(machine),
            own,
            pulse,
            begun_ns: exactop_service::now_ns(),
            told: None,
            sender: sender.transpose().map_err(Failure::failed)?,
            _server: server.transpose().map_err(Failure::failed)?,
        })))
    }

    /// Counts anew, with other settings: each series says when it began.
    pub fn set(&mut self, settings: &exactop_metrics::Settings) {
        if let Some(counting) = &mut self.0 {
            counting.count();
            counting.metrics = metrics(settings.clone(), &counting.own);
        }
    }

    /// Windows close at another interval from now on.
    pub fn set_interval(&mut self, interval: Duration) {
        if let Some(counting) = &self.0 {
            counting.pulse.set_interval(interval);
        }
    }

    /// Has something to read when somebody asks.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|counting| counting.woken.as_fd())
    }

    /// Takes a snapshot.
    pub fn take(&mut self, now: &Snapshot) {
        if let Some(counting) = &mut self.0 {
            // The first one opens the book, and closes no window.
            if counting.book.at_ns().is_some() {
                counting.pulse.closes();
            }
            counting.merged.add(now.clone());
            // From the first one on, and however seldom somebody asks: what is merged grows.
            let counted_ns = counting.book.at_ns();
            if counted_ns.is_none_or(|at_ns| now.at_ns.saturating_sub(at_ns) >= COUNTED_NS) {
                counting.count();
            }
        }
    }

    /// Answers all who ask, as of the last snapshot.
    pub fn answer(&mut self, exported: &Exported) {
        let Some(counting) = &mut self.0 else { return };
        let mut bytes = [0; 64];
        while (&counting.woken).read(&mut bytes).is_ok_and(|n| n > 0) {}
        let asked: Vec<Asked> = counting.asked.try_iter().collect();
        if asked.is_empty() {
            return;
        }
        counting.count();
        counting.metrics.set_exporting(exported.told(counting.begun_ns));
        for Asked { what, answer } in asked {
            // Whoever has gone does not hear it.
            let _ = answer.send(counting.told(&what));
        }
    }

    /// Says on standard error how sending goes, if that is news.
    pub fn tell(&mut self) {
        let Some(counting) = &mut self.0 else { return };
        let Some(sender) = &counting.sender else { return };
        let error = sender.status().error;
        counting.tell(error);
    }

    /// Sends what came since the last report, if the collector takes it at once.
    pub fn finish(self, exported: &Exported) {
        let Some(mut counting) = self.0 else { return };
        let Some(sender) = counting.sender.take() else { return };
        counting.count();
        if counting.metrics.boundary_ns().is_none() {
            return;
        }
        counting.metrics.set_exporting(exported.told(counting.begun_ns));
        let report = counting.told(&What::Report);
        // Whoever asks just now is not answered any more.
        counting.asked = channel().1;
        let error = sender.finish(report, LAST).error;
        counting.tell(error);
    }
}

impl Counting {
    fn tell(&mut self, error: Option<String>) {
        if error != self.told {
            match &error {
                Some(error) => complain(&format!("metrics are not taken: {error}")),
                None => complain("metrics are taken again"),
            }
            self.told = error;
        }
    }

    /// Counts what came since the last time.
    fn count(&mut self) {
        let Some(now) = self.merged.take() else { return };
        if let Some(window) = self.book.advance(now) {
            self.metrics.advance(&window, &self.book, &Known(&self.book));
        }
    }

    fn told(&mut self, what: &What) -> Vec<u8> {
        match what {
            // Nothing was counted yet.
            What::Page(_) if self.metrics.boundary_ns().is_none() => Vec::new(),
            What::Page(format) => self.metrics.scrape(*format),
            What::Report => {
                self.metrics.look();
                request(&self.metrics, &self.host)
            }
        }
    }
}

/// Nothing counted yet.
fn metrics(settings: exactop_metrics::Settings, own: &Own) -> Metrics {
    let mut metrics = Metrics::new(settings, Clock::read());
    metrics.set_own(own.clone());
    metrics
}

/// What the page says of this daemon.
fn own(machine: &Machine) -> Own {
    Own {
        version: env!("CARGO_PKG_VERSION"),
        commit: crate::version::COMMIT,
        host: machine.host.clone(),
        boot_id: machine.boot_id.clone(),
        process: process::read,
    }
}

/// Whose figures they are.
fn host(machine: &Machine) -> Host {
    let id = std::fs::read_to_string("/etc/machine-id").ok();
    let id = id.map(|text| text.trim().to_string()).filter(|text| !text.is_empty());
    Host { id, name: Some(machine.host.clone()).filter(|name| !name.is_empty()) }
}
