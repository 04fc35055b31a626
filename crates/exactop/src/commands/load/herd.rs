//! `exactop load herd`: runs a thundering herd as a demonstration.

use crate::failure::Failure;
use crate::options::parse::{self, Word};
use crate::output::Signals;
use clap::Args;
use exactop_workloads::herd::{Options, Server, Totals, Wake};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Write;
use std::time::{Duration, Instant};

/// Options of `exactop load herd`.
#[derive(Debug, Args)]
pub struct Herd {
    /// Start N workers
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = super::some)]
    threads: usize,
    /// Wake these workers at each connection
    #[arg(long, value_parser = parse::one_of(WAKE))]
    wake: Wake,
    /// Try to make N connections per second, one after the other
    #[arg(long, value_name = "N", default_value_t = 100.0, value_parser = super::rate("connections per second"), allow_hyphen_values = true)]
    rate: f64,
    /// Stop after this time
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = parse::seconds, allow_hyphen_values = true)]
    duration: f64,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

const WAKE: &[Word<Wake>] = &[
    ("all", Wake::All, "Every worker (pthread_cond_broadcast)"),
    ("one", Wake::One, "One worker (pthread_cond_signal)"),
];

/// Runs until its time is over or a signal ends it.
///
/// # Errors
/// A resource that the herd needs is missing.
pub fn run(options: &Herd) -> Result<(), Failure> {
    let name = match options.wake {
        Wake::All => c"herd-all",
        Wake::One => c"herd-one",
    };
    // The name in process lists; threads inherit it.
    rustix::thread::set_name(name).map_err(Failure::cannot("take a name"))?;
    let server = Server::start(&Options {
        threads: options.threads,
        wake: options.wake,
        rate: options.rate,
    });
    let server = server.map_err(Failure::failed)?;
    // Handlers are installed only now, so that the client does not inherit them.
    let signals = Signals::new()?;
    tell(options);
    let began = Instant::now();
    let ended = serve(&server, &signals, began + Duration::from_secs_f64(options.duration));
    let seconds = began.elapsed().as_secs_f64();
    let totals = server.stop();
    match ended {
        Ok(()) | Err(Failure::Signal(SIGINT | SIGTERM)) => {}
        Err(failure) => return Err(failure),
    }
    let said = match options.json {
        true => as_json(options, seconds, &totals),
        false => as_text(options, seconds, &totals),
    };
    signals.write(said.as_bytes())
}

fn serve(server: &Server, signals: &Signals, end: Instant) -> Result<(), Failure> {
    while signals.wait(end, &[server.listener()])?.is_some() {
        server.accept().map_err(|error| Failure::failed(format!("cannot accept: {error}")))?;
    }
    Ok(())
}

/// Prints the process to look at. A write error is ignored: standard error may be closed.
fn tell(options: &Herd) {
    let (pid, threads, seconds) = (std::process::id(), options.threads, options.duration);
    let _ = writeln!(
        std::io::stderr(),
        "herd: process {pid}, {threads} workers, each connection wakes {}; stops after \
         {seconds} s or at Ctrl-C",
        options.wake
    );
}

fn as_text(options: &Herd, seconds: f64, totals: &Totals) -> String {
    let each = |n: u64| if totals.served > 0 { n as f64 / totals.served as f64 } else { 0.0 };
    let cpu_s = totals.cpu_ns as f64 / 1e9;
    format!(
        "herd         {} workers, each connection wakes {}, {seconds:.1} s\n\
         connections  {} accepted, {} served, {:.1} a second\n\
         wake-ups     {}, {:.1} a connection; {} found nothing to do\n\
         server's CPU {cpu_s:.3} s, {:.2} % of a CPU, {:.0} us a connection\n",
        options.threads,
        options.wake,
        totals.accepted,
        totals.served,
        totals.served as f64 / seconds,
        totals.wakeups,
        each(totals.wakeups),
        totals.futile,
        cpu_s / seconds * 100.0,
        each(totals.cpu_ns) / 1000.0,
    )
}

fn as_json(options: &Herd, seconds: f64, totals: &Totals) -> String {
    let object = json!({
        "schema": { "name": "exactop.load", "version": 1 },
        "load": "herd",
        "threads": options.threads,
        "wake": options.wake.to_string(),
        "rate": options.rate,
        "duration_s": seconds,
        "accepted": totals.accepted,
        "served": totals.served,
        "wakeups": totals.wakeups,
        "futile_wakeups": totals.futile,
        "server_cpu_ns": totals.cpu_ns,
        "client": { "connected": totals.connected, "failed": totals.failed },
    });
    format!("{object}\n")
}
