//! `exactop web`: the page over HTTP, live or of a recording.

use super::page;
use super::record::{DETAILS, NEEDS};
use crate::failure::{complain, Failure};
use crate::options::parse;
use crate::options::resolved::SourceOptions;
use crate::options::typed::{Whose, SOURCES};
use crate::output::{print, Signals};
use crate::rights::{self, Beside, Origin, Role};
use crate::source;
use clap::Args;
use exactop_model::{AccountId, Ask, Detail, Feed, FrameOptions, Needs, Row};
use exactop_page::{beginning, html, policy, Live, Measured};
use exactop_recording::{Clocks, Machine};
use exactop_sources::session::Session;
use exactop_sources::{Request, SplitOptions};
use exactop_web::{Content, Door, Hub, Server};
use std::collections::HashMap;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What `--help` ends with.
pub const NOTES: &str = "\
Examples:
  exactop web                              live, on http://127.0.0.1:9465/
  exactop web --replay DIR -t '03:05+15m'  what is recorded, a stretch of it
  exactop web --listen 10.0.0.5:9465       for other machines, with a token and without encryption

Who can reach the address and knows the token, where there is one, sees names and command lines of all processes.
docs/web.md says what is on the page; 'exactop replay --html' makes a file of it.";

/// Bytes of a token; it is written with two letters for each.
const TOKEN: usize = 16;

/// What to serve, and where.
#[derive(Debug, Args)]
pub struct WebArgs {
    /// Where to listen: another address than this machine's own is for others, and then a token is needed
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9465", value_parser = parse::address)]
    listen: SocketAddr,
    /// Demand a token, which is a part of the page's address, from this machine's own users, too
    #[arg(long)]
    token: bool,
    /// Length of a window
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = parse::seconds, allow_hyphen_values = true)]
    delay: f64,
    /// Where the figures come from
    #[arg(long, value_parser = parse::one_of(SOURCES), default_value = "auto")]
    source: Whose,
    /// The daemon's socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Show command names, but no command lines
    #[arg(long)]
    no_command_lines: bool,
    /// Show what is recorded there, and measure nothing
    #[arg(long, value_name = "DIR|FILE", conflicts_with_all = ["delay", "source", "socket", "no_command_lines"])]
    replay: Option<PathBuf>,
    /// From a time on, or a stretch: '14:03', '03:05+15m'
    #[arg(short, long, value_name = "TIME", requires = "replay")]
    time: Option<String>,
}

/// Serves until a signal comes.
///
/// # Errors
/// What failed, or the signal.
pub fn run(typed: &WebArgs) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let (listener, address) = Server::bind(typed.listen).map_err(Failure::failed)?;
    let token = (typed.token || !address.ip().is_loopback()).then(token).transpose()?;
    let door = Door { address, token };
    match &typed.replay {
        Some(path) => {
            let opened = page::open(path, typed.time.as_deref())?;
            give_up(Origin::None, &[path], address);
            let page = opened.page()?;
            let content = Content { page, policy: policy(false), hub: None };
            let _server = serve(listener, door, content)?;
            loop {
                signals.sleep_until(Instant::now() + Duration::from_secs(3600))?;
            }
        }
        None => {
            let (session, origin) = source::session(&typed.source())?;
            give_up(origin, &[], address);
            let machine = Machine::this(env!("CARGO_PKG_VERSION"));
            let begin = beginning(&machine);
            let hub = Arc::new(Hub::new(&begin.json().map_err(Failure::failed)?));
            let page = html(&format!("exactop: {}", begin.host()), None);
            let content = Content { page, policy: policy(true), hub: Some(Arc::clone(&hub)) };
            let _server = serve(listener, door, content)?;
            windows(session, &machine, &hub, typed, &signals)
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

    /// What is read for rows.
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
    let beside = Beside { readable: &readable, listens: Some(address.port()), ..Beside::default() };
    rights::reduce_beside(Role::Web, origin, &beside);
}

/// Begins to answer, and says where.
fn serve(listener: TcpListener, door: Door, content: Content) -> Result<Server, Failure> {
    let (address, token) = (door.address, door.token.clone());
    let server = Server::start(listener, door, content).map_err(Failure::failed)?;
    if !address.ip().is_loopback() {
        complain(
            "whoever reaches this address and has its token, which is sent without encryption, sees names and command \
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

/// What nobody can guess.
fn token() -> Result<String, Failure> {
    let mut bytes = [0; TOKEN];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut bytes))
        .map_err(Failure::cannot("draw a token from /dev/urandom"))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Measures until a signal comes.
fn windows(
    mut session: Session,
    machine: &Machine,
    hub: &Hub,
    typed: &WebArgs,
    signals: &Signals,
) -> Result<(), Failure> {
    let request = Request { needs: NEEDS, watch: None, interval_ns: None };
    let interval = Duration::from_secs_f64(typed.delay);
    let (mut due, mut live) = (Instant::now(), Live::default());
    loop {
        let advanced = session.advance(&request);
        if advanced.map_err(|error| signals.or(Failure::failed(error)))? {
            let details = details(&mut session, typed.details());
            if let Some(window) = session.window() {
                let wall_offset_ns = Clocks::now().wall_offset_ns;
                let details = &details;
                let book = session.book();
                let measured = Measured { window, book, wall_offset_ns, machine, details };
                let document = live.measured(&measured);
                hub.publish(&document.json().map_err(Failure::failed)?);
            }
        }
        due = (due + interval).max(Instant::now());
        signals.sleep_until(due)?;
    }
}

/// Of everyone who did something.
fn details(session: &mut Session, needs: Needs) -> HashMap<AccountId, Detail> {
    let options = FrameOptions::default();
    let ask = Ask { options, needs: NEEDS, ..Ask::default() };
    let Some(mut frame) = session.same_frame(&ask) else { return HashMap::new() };
    let mut rows: Vec<&mut Row> = frame.rows.iter_mut().collect();
    session.details(&mut rows, needs);
    frame.rows.into_iter().filter_map(|row| Some((row.account?, row.detail))).collect()
}
