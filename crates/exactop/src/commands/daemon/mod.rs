//! `exactop daemon`: one ledger for all readers. It closes a window when a reader asks for one,
//! serves windows on a socket and as metrics, and records them.
//!
//! `settings` holds the settings and `serving` the loop. `degraded` decides which detail to drop at
//! the memory bound and `saving` drops it. `kept` records, `names` names the host, `exporting`
//! sends windows to a store or into files, `published` counts metrics, `process` reads the daemon's
//! own use, and `supervisor` notifies systemd.

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
use crate::options::typed::FigureSource;
use crate::output::{print, Signals};
use crate::priority;
use crate::recorded::Shared;
use crate::rights::{self, ExtraAccess, Role};
use crate::source;
use clap::Args;
use exactop_recording::{Machine, Recorder};
use exactop_service::Server;
use exactop_sources::session::memory::keep_little;
use exactop_sources::session::Choice;
use exactop_sources::{passwd, SplitOptions};
use exporting::Exported;
use kept::PacedRecorder;
use published::Published;
use saving::Saving;
use serving::{Latest, Serving, SessionTap};
use settings::{load, Settings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use supervisor::Supervisor;

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
/etc/exactop/config.toml holds the settings and explains each (as does docs/how-to/service.md). Options override
them. SIGHUP reads the settings again, SIGTERM ends the daemon. Without a group 'exactop' only the socket's owner may connect.";

/// Path of the settings without `--config`.
const CONFIG: &str = "/etc/exactop/config.toml";

/// Options of `exactop daemon`.
#[derive(Debug, Args)]
pub struct DaemonArgs {
    /// Serve on this socket [default: /run/exactop/socket]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Record into this directory [default: the directory of 'exactop record']
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Serve metrics at this address over HTTP [default: off]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse::address)]
    metrics: Option<SocketAddr>,
    /// Send metrics to this URL as OTLP over HTTP [default: off]
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Send recorded windows to this target as they close: a ClickHouse server, https://HOST:8443,
    /// or files, parquet:DIR or parquet:https://HOST/DIR [default: off]
    #[arg(long, value_name = "URL|parquet:DIR")]
    export: Option<String>,
    /// Name this host in recordings, metrics and the fleet's tables [default: the kernel's name];
    /// EXACTOP_HOST overrides it
    #[arg(long, value_name = "NAME", value_parser = machine::parse)]
    host: Option<String>,
    /// Read the settings from this file [default: /etc/exactop/config.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read the settings, print them and exit; with 2 if a setting is wrong
    #[arg(long)]
    check: bool,
}

impl DaemonArgs {
    /// The settings; options override the file.
    ///
    /// # Errors
    /// The value that cannot be used, with its line.
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

/// Serves until a signal ends it.
///
/// # Errors
/// The failure.
pub fn run(typed: &DaemonArgs) -> Result<(), Failure> {
    let settings = typed.settings()?;
    // The password file is read here because the daemon gives up that right later.
    let onto = settings.export.onto()?;
    if typed.check {
        return print(settings.to_toml());
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
        whose: FigureSource::Own(Choice::Ledger),
        socket: None,
        split: SplitOptions {
            blame_floor_ns: settings.blame.floor_ns(),
            wait_sizes: settings.blame.histograms,
            ..SplitOptions::default()
        },
        root: None,
        record: None,
        names: true,
    })?;
    let saving = Saving::new();
    // Threads started before this keep their own priority. Raising needs a right that is given up
    // next.
    raise(&settings);
    give_up(&settings, typed, recorder.as_ref().map(|(_, dir)| dir.as_path()), origin);
    let dir = recorder.as_ref().map(|(_, dir)| dir.clone());
    let recorder = recorder.map(|(recorder, _)| recorder);
    let published = Published::start(&settings, &machine)?;
    let exported = priority::usual(|| Exported::start(onto, dir.as_deref(), &settings.export))?;
    let latest = Latest::default();
    let tap = SessionTap { latest: latest.clone(), recorder: recorder.clone() };
    let session = session.tapped(Box::new(tap));
    let kept = PacedRecorder::new(recorder, settings.record.interval);
    supervisor.ready();
    let outlets = (published, exported);
    let mut serving = Serving::new(session, latest, server, kept, outlets, saving, settings);
    let ended = serving.until_a_signal(&signals, &mut supervisor, || typed.settings());
    supervisor.ends();
    serving.finish();
    ended
}

/// Raises the thread that reads the ledger above other threads, and so the thread that serves
/// pages, which it starts.
fn raise(settings: &Settings) {
    if let Err(error) = priority::raise(settings.priority) {
        complain(&format!(
            "priority stays as it is: {error}: allow CAP_SYS_NICE or set LimitNICE=-10 (docs/how-to/service.md), or set \
             priority = \"usual\""
        ));
    }
}

/// Warns about settings that are probably not intended.
fn warn(settings: &Settings, group: Option<u32>) {
    if group.is_none() && settings.group != Settings::default().group {
        let group = &settings.group;
        complain(&format!("no group is called '{group}' in /etc/group: only root may connect"));
    }
    let Some(address) = settings.metrics.listen else { return };
    if !address.ip().is_loopback() {
        complain(&format!(
            "metrics on {address} need no password: everyone who reaches the address can read commands and users of all"
        ));
    } else if exactop_sources::probe::hides_processes().unwrap_or(false) {
        complain(
            "/proc hides others' processes here (hidepid), and the page of metrics tells every user of this machine \
             commands and users of all",
        );
    }
}

/// Attaches programs when a reader looks at a subject. They count all processes by thread, so one
/// set of programs serves every reader's choice.
fn with_programs(#[allow(unused_mut)] mut server: Server) -> Server {
    #[cfg(feature = "bpf")]
    server.attach_by(exactop_service::Attach::by(|subject| {
        use exactop_model::on_demand::{syscalls::SyscallsBy, Choice};
        // Runs in its own thread at normal priority: a reader must not run ahead of other
        // processes.
        crate::priority::lower();
        let choice = Choice { by: SyscallsBy::Thread, ..Choice::default() };
        exactop_sources::on_demand::open(subject, &choice).map_err(|error| error.to_string())
    }));
    server
}

/// The recorder and its directory, if recording is on.
fn recorder(settings: &Settings, machine: &Machine) -> Result<Option<(Shared, PathBuf)>, Failure> {
    if !settings.record.enabled {
        return Ok(None);
    }
    let dir = directory(settings.record.dir.as_ref())?;
    let recorder = Shared::open(&dir, machine.clone(), settings.record.options())?;
    recorder.tell();
    Ok(Some((recorder, dir)))
}

/// Gives up the rights that start-up needed. The daemon can still read the settings again and
/// remove the socket.
fn give_up(settings: &Settings, typed: &DaemonArgs, dir: Option<&Path>, origin: rights::Origin) {
    let exported = settings.export.written();
    let written = dir.into_iter().chain(above(&settings.socket)).chain(exported.as_deref());
    let written: Vec<&Path> = written.collect();
    let config = typed.config.as_deref().unwrap_or(Path::new(CONFIG));
    // The path itself and the target of a link.
    let real = std::fs::canonicalize(config).ok();
    let readable: Vec<&Path> = [Some(config), real.as_deref()].into_iter().flatten().collect();
    let readable: Vec<&Path> = readable.into_iter().filter_map(above).collect();
    let ports: Vec<u16> = settings.otlp.port().into_iter().chain(settings.export.port()).collect();
    rights::reduce_beside(
        Role::Daemon,
        origin,
        &ExtraAccess {
            readable: &readable,
            written: &written,
            listens: settings.metrics.listen.map(|address| address.port()),
            connects: &ports,
        },
    );
}

/// The directory that holds a file.
fn above(path: &Path) -> Option<&Path> {
    path.parent().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// Finishes the recording and prints the recorder's last notices.
fn finish(recorder: &Shared) {
    recorder.with(Recorder::finish);
    recorder.tell();
}
