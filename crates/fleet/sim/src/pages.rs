//! Serves the made-up hosts to a scraper. Each host has the real page of metrics on its own port.
//! Its windows are also written as tables, so that sums of the scraped series can be compared with
//! the books.

use crate::deliver::Boot;
use crate::options;
use crate::plan::Plan;
use anyhow::{ensure, Result};
use exactop_export::FleetTables;
use exactop_files::Directory;
use exactop_metrics::http::{Front, Server};
use exactop_metrics::{Clock, Metrics, Settings};
use exactop_model::owner::BookNames;
use serde_json::json;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Serve the metrics of simulated hosts to a Prometheus server, until standard input ends
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Number of hosts
    #[arg(long, default_value_t = 200)]
    hosts: u32,
    /// Number of windows; after them nothing changes
    #[arg(long, default_value_t = 60)]
    windows: u64,
    /// Length of a window, simulated seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    window: u64,
    /// Length of a window, real milliseconds
    #[arg(long, value_name = "MS", default_value_t = 500)]
    every: u64,
    /// Number of groups with their own series
    #[arg(long, default_value_t = 40)]
    groups: usize,
    /// Seed of all random values; the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output directory for targets.json, counted.json and books/; must be empty or missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// A host and its page.
struct Exporter<'a> {
    name: &'a str,
    boot: Boot<'a>,
    metrics: Arc<Mutex<Metrics>>,
    tables: FleetTables,
    server: Server,
}

impl<'a> Exporter<'a> {
    fn new(plan: &'a Plan, at: usize, groups: usize) -> Result<Exporter<'a>> {
        let host = &plan.hosts[at];
        let boot = Boot::new(plan, host, 0, 0);
        let clock = Clock::new(i128::from(boot.wall_offset_ns()));
        let settings = Settings { groups, ..Settings::default() };
        let metrics = Arc::new(Mutex::new(Metrics::new(settings, clock)));
        let page = Arc::clone(&metrics);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::start(address, Front::default(), move |format| {
            let page = page.lock().unwrap_or_else(PoisonError::into_inner).scrape(format);
            Some(page).filter(|page| !page.is_empty()).map(Into::into)
        })?;
        Ok(Exporter { name: &host.name, boot, metrics, tables: FleetTables::default(), server })
    }

    fn window(&mut self, n: u64) -> Result<()> {
        let Some(window) = self.boot.advance(n) else { return Ok(()) };
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.advance(&window, &self.boot.book, &BookNames(&self.boot.book));
        self.boot.put(&window, &mut self.tables)
    }

    fn boundary_ns(&self) -> u64 {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.boundary_ns().unwrap_or_default()
    }
}

pub fn run(args: &Args) -> Result<()> {
    let plan = Plan::from_args(&options::Args::sound(
        args.hosts,
        args.windows as f64 * args.window as f64 / 3600.0,
        args.window,
        args.seed,
        args.output.clone(),
    ))?;
    let into = Directory::open_or_make(&args.output)?;
    ensure!(into.names()?.is_empty(), "{} is not empty", args.output.display());
    let exporter = |at| Exporter::new(&plan, at, args.groups);
    let mut exporters = (0..plan.hosts.len()).map(exporter).collect::<Result<Vec<_>>>()?;
    into.replace("targets.json", targets(&exporters).as_bytes())?;
    for n in 0..plan.windows {
        for exporter in &mut exporters {
            exporter.window(n)?;
        }
        std::thread::sleep(Duration::from_millis(args.every));
    }
    let books = into.within("books")?;
    let counted = exporters
        .iter()
        .map(|exporter| json!({"host": exporter.name, "boundary_ns": exporter.boundary_ns()}));
    let counted = json!({ "hosts": counted.collect::<Vec<_>>() });
    let mut servers = Vec::new();
    for exporter in exporters {
        exporter.tables.write(&books.within(exporter.name)?)?;
        servers.push(exporter.server);
    }
    into.replace("counted.json", format!("{counted}\n").as_bytes())?;
    // The parent process holds the other end.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Targets in Prometheus's format (file_sd).
fn targets(exporters: &[Exporter]) -> String {
    let target = |exporter: &Exporter| {
        let address = exporter.server.address().to_string();
        json!({"targets": [address], "labels": {"host": exporter.name}})
    };
    format!("{}\n", json!(exporters.iter().map(target).collect::<Vec<_>>()))
}
