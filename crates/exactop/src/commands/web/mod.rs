//! `exactop web`: serves the page over HTTP, live or of a recording.

#[cfg(feature = "bpf")]
mod looking;

use super::page;
use super::record::{DETAILS, NEEDS};
use crate::failure::{complain, Failure};
use crate::machine;
#[cfg(feature = "bpf")]
use crate::options::looking::Places;
use crate::options::parse;
use crate::options::resolved::SourceOptions;
#[cfg(feature = "bpf")]
use crate::options::typed::AUTO;
use crate::options::typed::{FigureSource, SOURCES};
use crate::output::{print, Signals};
use crate::rights::{self, ExtraAccess, Origin, Role};
use crate::source;
use clap::Args;
use exactop_model::{AccountId, Ask, Detail, Feed, Frame, FrameOptions, Needs, Row};
use exactop_recording::{Clocks, Machine};
#[cfg(feature = "bpf")]
use exactop_service::SOCKET;
use exactop_sources::session::Session;
use exactop_sources::SplitOptions;
use exactop_web::page::{beginning, html, policy, Live, Measured};
use exactop_web::{Content, Door, Hub, Looks, Server};
use std::collections::HashMap;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
Anyone who can reach the address and knows its token, if it has one, sees names and command lines of all processes.
docs/how-to/web.md describes the page; 'exactop replay --html' writes it to a file.";

/// Bytes of a token; each is written as two hexadecimal digits.
const TOKEN: usize = 16;

/// Options of `exactop web`.
#[derive(Debug, Args)]
pub struct WebArgs {
    /// Listen at this address; an address that other machines can reach needs a token
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9465", value_parser = parse::address)]
    listen: SocketAddr,
    /// Require a token in the page's address also from users of this machine
    #[arg(long)]
    token: bool,
    /// Set the length of a window
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = parse::seconds, allow_hyphen_values = true)]
    delay: f64,
    /// Take the figures from this source
    #[arg(long, value_parser = parse::one_of(SOURCES), default_value = "auto")]
    source: FigureSource,
    /// Use the daemon's socket at this path
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Show command names, but no command lines
    #[arg(long)]
    no_command_lines: bool,
    /// Show this recording, and measure nothing
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["delay", "source", "socket", "no_command_lines"])]
    replay: Option<PathBuf>,
    /// With --replay: show from this time on: '14:03', 'yesterday 14:00', '2h ago', RFC 3339, or
    /// boot; with +LENGTH a time range: '03:05+15m'
    #[arg(short, long, value_name = "FROM[+LENGTH]")]
    time: Option<String>,
}

/// Serves until a signal ends it.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(typed: &WebArgs) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let (listener, address) = Server::bind(typed.listen).map_err(Failure::failed)?;
    let token = (typed.token || !address.ip().is_loopback()).then(token).transpose()?;
    let has_token = token.is_some();
    let door = Door { address, token };
    match &typed.replay {
        Some(path) => {
            let opened = page::open(path, typed.time.as_deref())?;
            give_up(Origin::None, &[path], address);
            let page = opened.page()?;
            let content = Content { page, policy: policy(false), hub: None, looks: None };
            let _server = serve(listener, door, content)?;
            loop {
                signals.sleep_until(Instant::now() + Duration::from_secs(3600))?;
            }
        }
        None => {
            let (session, origin) = source::session(&typed.source())?;
            give_up(origin, &[], address);
            let machine = machine::this(None)?;
            let begin = beginning(&machine);
            let hub = Arc::new(Hub::new(&begin.json().map_err(Failure::failed)?));
            let page = html(&format!("exactop: {}", begin.host()), None);
            // Without a token any user of this machine could read what programs count in other
            // users' processes.
            let looks = if has_token { typed.looks()? } else { None };
            let content = Content {
                page,
                policy: policy(true),
                hub: Some(Arc::clone(&hub)),
                looks: looks.clone(),
            };
            let _server = serve(listener, door, content)?;
            let served = Served { machine, hub, looks };
            windows(session, &served, typed, &signals)
        }
    }
}

impl WebArgs {
    fn source(&self) -> SourceOptions {
        SourceOptions {
            whose: self.source,
            socket: self.socket.clone(),
            split: SplitOptions::default(),
            root: None,
            record: None,
            names: true,
        }
    }

    /// The processes that browsers look at, if programs can be attached for them.
    #[cfg(feature = "bpf")]
    fn looks(&self) -> Result<Option<Arc<Looks>>, Failure> {
        let looks = Arc::new(Looks::new(token()?));
        looking::begin(&looks, self.places(), Duration::from_secs_f64(self.delay))?;
        Ok(Some(looks))
    }

    #[cfg(not(feature = "bpf"))]
    fn looks(&self) -> Result<Option<Arc<Looks>>, Failure> {
        Ok(None)
    }

    /// The programs that report on a process: those of the source.
    #[cfg(feature = "bpf")]
    fn places(&self) -> Places {
        let socket = self.socket.as_deref().unwrap_or(SOCKET.as_ref());
        match self.source {
            FigureSource::Daemon => Places::Socket(socket.into()),
            AUTO if self.socket.is_some() => Places::Socket(socket.into()),
            AUTO if socket.exists() => Places::Either(socket.into()),
            FigureSource::Own(_) => Places::Own,
        }
    }

    /// Details to read for rows.
    fn details(&self) -> Needs {
        let names = Needs::USER.with(Needs::CGROUP).with(Needs::NAMES);
        if self.no_command_lines {
            names
        } else {
            DETAILS
        }
    }
}

fn give_up(origin: Origin, readable: &[&PathBuf], address: SocketAddr) {
    let readable: Vec<&std::path::Path> = readable.iter().map(|path| path.as_path()).collect();
    let beside = ExtraAccess {
        readable: &readable,
        listens: Some(address.port()),
        ..ExtraAccess::default()
    };
    rights::reduce_beside(Role::Web, origin, &beside);
}

/// Starts to answer, and prints the address.
fn serve(listener: TcpListener, door: Door, content: Content) -> Result<Server, Failure> {
    let (address, token) = (door.address, door.token.clone());
    let server = Server::start(listener, door, content).map_err(Failure::failed)?;
    if !address.ip().is_loopback() {
        complain(
            "anyone who reaches this address and has its token, which is sent without encryption, sees names and command \
             lines of all processes: a tunnel to 127.0.0.1 is safer (ssh -L)",
        );
    }
    let place = match address.ip().is_unspecified() {
        true => format!("ADDRESS-OF-THIS-MACHINE:{}", address.port()),
        false => address.to_string(),
    };
    let token = token.map_or_else(String::new, |token| format!("?token={token}"));
    print(format!("http://{place}/{token}\n"))?;
    Ok(server)
}

/// A random token.
fn token() -> Result<String, Failure> {
    let mut bytes = [0; TOKEN];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut bytes))
        .map_err(Failure::cannot("draw a token from /dev/urandom"))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The machine that is served, and the readers.
struct Served {
    machine: Machine,
    hub: Arc<Hub>,
    looks: Option<Arc<Looks>>,
}

/// Measures until a signal ends it.
fn windows(
    mut session: Session,
    served: &Served,
    typed: &WebArgs,
    signals: &Signals,
) -> Result<(), Failure> {
    let Served { machine, hub, looks } = served;
    let interval = Duration::from_secs_f64(typed.delay);
    // A daemon keeps measuring the requested figures until the next request is due.
    let interval_ns = u64::try_from(interval.as_nanos()).ok();
    let (mut due, mut live) = (Instant::now(), Live::default());
    loop {
        let options = FrameOptions { findings: true, ..FrameOptions::default() };
        // The kernel's files of control groups are read only while a browser shows them.
        let groups = hub.is_read();
        let ask = Ask { options, needs: NEEDS, groups, interval_ns, ..Ask::default() };
        let frame = session.next_frame(&ask);
        if let Some(mut frame) = frame.map_err(|error| signals.or(Failure::failed(error)))? {
            let details = details(&mut session, &mut frame, typed.details());
            if let Some(window) = session.window() {
                let watched =
                    looks.as_ref().map(|looks| looks.open_processes().into_keys().collect());
                let watched: Vec<u32> = watched.unwrap_or_default();
                // Figures read during an earlier look do not belong to this window.
                let groups = frame.groups.as_ref().and_then(|groups| groups.as_ref().ok());
                let groups = groups.filter(|groups| groups.t1_ns == window.t1_ns);
                let document = live.measured(&Measured {
                    window,
                    book: session.book(),
                    wall_offset_ns: Clocks::now().wall_offset_ns,
                    machine,
                    details: &details,
                    groups: groups.map(|groups| groups.rows.as_slice()),
                    findings: &frame.findings,
                    watched: &watched,
                });
                hub.publish(&document.json().map_err(Failure::failed)?);
            }
        }
        due = (due + interval).max(Instant::now());
        signals.sleep_until(due)?;
    }
}

/// Details of all active processes.
fn details(session: &mut Session, frame: &mut Frame, needs: Needs) -> HashMap<AccountId, Detail> {
    let mut rows: Vec<&mut Row> = frame.rows.iter_mut().collect();
    session.details(&mut rows, needs);
    let rows = frame.rows.iter_mut();
    rows.filter_map(|row| Some((row.account?, std::mem::take(&mut row.detail)))).collect()
}
