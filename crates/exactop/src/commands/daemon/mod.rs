//! `exactop daemon`: one ledger for all who look. It closes windows when somebody wants one, serves
//! them on a socket and as metrics, and records.
//!
//! `settings` is what is set, `serving` the loop, `degraded` which detail is given up for want of memory and `saving` how,
//! `kept` what is recorded, `names` how it is called, `exporting` what goes on to a store or into files, `published` what metrics count,
//! `process` what it takes itself, `supervisor` what systemd is told.

mod degraded;
mod exporting;
mod kept;
mod names;
mod process;
mod published;
mod saving;
mod serving;
mod settings;
mod supervisor;
mod values;

use crate::failure::{complain, Failure};
use crate::machine;
use crate::options::of_recording::directory;
use crate::options::parse;
use crate::options::resolved::SourceOptions;
use crate::options::typed::Whose;
use crate::output::{print, Signals};
use crate::priority;
use crate::recorded::Shared;
use crate::rights::{self, Beside, Role};
use crate::source;
use clap::Args;
use exactop_recording::{Machine, Recorder};
use exactop_service::Server;
use exactop_sources::session::memory::keep_little;
use exactop_sources::session::Choice;
use exactop_sources::{passwd, SplitOptions};
use exporting::Exported;
use kept::Kept;
use published::Published;
use saving::Saving;
use serving::{Latest, Serving, Told};
use settings::{load, Settings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use supervisor::Supervisor;

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  exactop daemon                             serve on /run/exactop/socket, record into /var/log/exactop
  exactop daemon --metrics 127.0.0.1:9464    and a page for Prometheus
  exactop daemon --export https://store:8443 and send what is recorded to ClickHouse (docs/how-to/fleet.md)
  exactop daemon --export parquet:/srv/books and write it as Parquet, every ten minutes
  exactop daemon --check                     say what is set, and start nothing
  exactop --source daemon                    the live view on it, for the group 'exactop'

Settings are in /etc/exactop/config.toml, which says what each is (so does docs/how-to/service.md); an option goes before
them. SIGHUP reads them anew, SIGTERM ends it. Where there is no group 'exactop', the socket is its owner's alone.";

/// Where settings are unless someone says otherwise.
const CONFIG: &str = "/etc/exactop/config.toml";

/// The service.
#[derive(Debug, Args)]
pub struct DaemonArgs {
    /// The socket to serve on [default: /run/exactop/socket]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Where to record [default: where 'exactop record' records]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Serve a page of metrics there, over HTTP [default: nowhere]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse::address)]
    metrics: Option<SocketAddr>,
    /// Send metrics there, as OTLP over HTTP [default: nowhere]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Send what is recorded there as windows close: a ClickHouse, https://HOST:8443, or files, parquet:DIR or
    /// parquet:https://HOST/DIR [default: nowhere]
    #[arg(long, value_name = "URL|parquet:DIR")]
    export: Option<String>,
    /// The name of this host, as recordings, metrics and the fleet's tables have it [default: the kernel's];
    /// EXACTOP_HOST goes before it
    #[arg(long, value_name = "NAME", value_parser = machine::parse)]
    host: Option<String>,
    /// The settings [default: /etc/exactop/config.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read the settings, say what is set, and end: with 2 if something is wrong
    #[arg(long)]
    check: bool,
}

impl DaemonArgs {
    /// What is set, options before the file.
    ///
    /// # Errors
    /// What cannot be used, with its line.
    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = load(self.config.as_deref(), Path::new(CONFIG))?;
        if let Some(socket) = &self.socket {
            settings.socket.clone_from(socket);
        }
        if let Some(dir) = &self.dir {
            settings.record.dir = Some(dir.clone());
        }
        if self.metrics.is_some() {
            settings.metrics.listen = self.metrics;
        }
        if let Some(url) = &self.otlp {
            settings.otlp.url = Some(url.clone());
        }
        if let Some(url) = &self.export {
            settings.export.to = Some(url.clone());
        }
        let host = self.host.as_deref().or(settings.machine.host.as_deref());
        settings.machine.host = machine::host(host)?;
        settings.check().map_err(|(key, what)| Failure::usage(format!("{key}{what}")))?;
        Ok(settings)
    }
}

/// Serves until a signal comes.
///
/// # Errors
/// What failed.
pub fn run(typed: &DaemonArgs) -> Result<(), Failure> {
    let settings = typed.settings()?;
    // With the rights it has now: a password is in a file that others cannot read.
    let onto = settings.export.onto()?;
    if typed.check {
        return print(settings.told());
    }
    keep_little();
    let mut supervisor = Supervisor::new();
    let signals = Signals::of_a_service()?;
    let machine = machine::this(settings.machine.host.as_deref())?;
    let group = passwd::group_id(&settings.group);
    warn(&settings, group);
    let server =
        Server::listen(&settings.socket, group, machine.clone()).map_err(Failure::failed)?;
    let server = with_programs(server);
    let recorder = recorder(&settings, &machine)?;
    let (session, origin) = source::session(&SourceOptions {
        whose: Whose::Own(Choice::Ledger),
        socket: None,
        split: SplitOptions::default(),
        root: None,
        record: None,
        names: true,
    })?;
    let saving = Saving::new();
    // Threads that were started by now have priorities of their own; this takes a right that is given up next.
    raise(&settings);
    give_up(&settings, typed, recorder.as_ref().map(|(_, dir)| dir.as_path()), origin);
    let dir = recorder.as_ref().map(|(_, dir)| dir.clone());
    let recorder = recorder.map(|(recorder, _)| recorder);
    let published = Published::start(&settings, &machine)?;
    let exported = priority::usual(|| Exported::start(onto, dir.as_deref(), &settings.export))?;
    let latest = Latest::default();
    let tap = Told { latest: latest.clone(), recorder: recorder.clone() };
    let session = session.tapped(Box::new(tap));
    let kept = Kept::new(recorder, settings.record.interval);
    supervisor.ready();
    let outlets = (published, exported);
    let mut serving = Serving::new(session, latest, server, kept, outlets, saving, settings);
    let ended = serving.until_a_signal(&signals, &mut supervisor, || typed.settings());
    supervisor.ends();
    serving.finish();
    ended
}

/// The thread that reads the ledger goes before others, and so does the one that serves pages, which it starts.
fn raise(settings: &Settings) {
    if let Err(error) = priority::raise(settings.priority) {
        complain(&format!(
            "priority stays as it is: {error}: allow CAP_SYS_NICE or set LimitNICE=-10 (docs/how-to/service.md), or set \
             priority = \"usual\""
        ));
    }
}

/// Says what is set and will hardly be meant.
fn warn(settings: &Settings, group: Option<u32>) {
    if group.is_none() && settings.group != Settings::default().group {
        let group = &settings.group;
        complain(&format!("no group is called '{group}' in /etc/group: only root may connect"));
    }
    let Some(address) = settings.metrics.listen else { return };
    if !address.ip().is_loopback() {
        complain(&format!(
            "metrics on {address} are for everyone who reaches it, without a password: commands and users of all"
        ));
    } else if exactop_sources::probe::hides_processes().unwrap_or(false) {
        complain(
            "/proc hides others' processes here (hidepid), and the page of metrics tells every user of this machine \
             commands and users of all",
        );
    }
}

/// A reader that looks at a subject has programs attached: of everyone, by thread, so that one set of them has
/// what each reader may choose.
fn with_programs(#[allow(unused_mut)] mut server: Server) -> Server {
    #[cfg(feature = "bpf")]
    server.attach_by(exactop_service::Attach::by(|subject| {
        use exactop_model::on_demand::{syscalls::SyscallsBy, Choice};
        // In a thread of its own: a reader is no reason to go before others.
        crate::priority::lower();
        let choice = Choice { by: SyscallsBy::Thread, ..Choice::default() };
        exactop_sources::on_demand::open(subject, &choice).map_err(|error| error.to_string())
    }));
    server
}

/// Who records, and where.
fn recorder(settings: &Settings, machine: &Machine) -> Result<Option<(Shared, PathBuf)>, Failure> {
    if !settings.record.enabled {
        return Ok(None);
    }
    let dir = directory(settings.record.dir.as_ref())?;
    let recorder = Shared::open(&dir, machine.clone(), settings.record.options())?;
    recorder.tell();
    Ok(Some((recorder, dir)))
}

/// Gives up the rights that it took. The settings are read again; the socket is taken away at the
/// end.
fn give_up(settings: &Settings, typed: &DaemonArgs, dir: Option<&Path>, origin: rights::Origin) {
    let exported = settings.export.written();
    let written = dir.into_iter().chain(above(&settings.socket)).chain(exported.as_deref());
    let written: Vec<&Path> = written.collect();
    let config = typed.config.as_deref().unwrap_or(Path::new(CONFIG));
    // Where it is, and where a link leads.
    let real = std::fs::canonicalize(config).ok();
    let readable: Vec<&Path> = [Some(config), real.as_deref()].into_iter().flatten().collect();
    let readable: Vec<&Path> = readable.into_iter().filter_map(above).collect();
    let ports: Vec<u16> = settings.otlp.port().into_iter().chain(settings.export.port()).collect();
    rights::reduce_beside(
        Role::Daemon,
        origin,
        &Beside {
            readable: &readable,
            written: &written,
            listens: settings.metrics.listen.map(|address| address.port()),
            connects: &ports,
        },
    );
}

/// The directory that a file is in.
fn above(path: &Path) -> Option<&Path> {
    path.parent().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// A recorder's last words.
fn finish(recorder: &Shared) {
    recorder.with(Recorder::finish);
    recorder.tell();
}
