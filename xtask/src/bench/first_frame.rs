//! Time until the first figures appear.

use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::{thousands, Table};
use super::{peers, Bench};
use anyhow::{Context, Result};
use exactop_workloads::workloads::Sleepers;
use serde_json::{json, Value};
use std::process::Command;
use std::time::{Duration, Instant};

const POPULATIONS: [usize; 2] = [100, 1_000];
const ROUNDS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(10);
/// The target.
const AT_ONCE_MS: f64 = 120.0;

/// Each tool with a word of its table's heading, which comes with the first frame.
const TOOLS: [(&str, &[&str], &str); 4] = [
    ("exactop", &["-d", "2", "--source", "ledger"], "COMMAND"),
    ("top", &["-d", "2"], "COMMAND"),
    ("htop", &["-d", "20"], "Command"),
    ("atop", &["2"], "CMD"),
];

/// Starts all tools in turns.
pub fn measure(bench: &Bench) -> Result<Section> {
    let mut waits = Vec::new();
    for population in POPULATIONS {
        let _sleepers = Sleepers::start(population)?;
        let mut of_tools = TOOLS.map(|_| Spread::default());
        for _ in 0..bench.rounds(ROUNDS) {
            for (tool, waits) in TOOLS.iter().zip(&mut of_tools) {
                match first_frame_ms(bench, tool) {
                    Ok(ms) => ms.into_iter().for_each(|ms| waits.add(ms)),
                    Err(error) => eprintln!("bench: {}: {error:#}", tool.0),
                }
            }
        }
        waits.push(of_tools);
    }
    Ok(section(&waits))
}

/// Time from before the fork to the table's heading on the terminal; `None`: not installed.
fn first_frame_ms(bench: &Bench, tool: &(&str, &[&str], &'static str)) -> Result<Option<f64>> {
    let (name, arguments, needle) = *tool;
    let program = match name {
        "exactop" => bench.exactop.clone(),
        peer => match peers::find(peer) {
            Some(program) => program,
            None => return Ok(None),
        },
    };
    let mut command = Command::new(program);
    command.args(arguments).env("TERM", "xterm-256color");
    command.env("HOME", "/dev/null").env_remove("XDG_CONFIG_HOME").env_remove("HTOPRC");
    let began = Instant::now();
    let running = Running::start_looking_for(&mut command, Surface::LargeTerminal, needle)?;
    let found = running.found(PATIENCE).context("no first frame")?;
    Ok(Some((found - began).as_secs_f64() * 1e3))
}

fn section(waits: &[[Spread; TOOLS.len()]]) -> Section {
    let titles = POPULATIONS.iter().map(|&n| format!("{} processes, ms", thousands(n)));
    let mut table = Table::new(["tool".into()].into_iter().chain(titles));
    for (at, (name, _, _)) in TOOLS.iter().enumerate() {
        let cells = waits.iter().map(|of_tools| of_tools[at].text(0));
        table.row([(*name).to_string()].into_iter().chain(cells));
    }
    let ours = &waits[1][0];
    let limit = AT_ONCE_MS;
    let check = Check {
        target: format!("first frame, 1,000 processes: within {limit} ms"),
        found: ours.text_in("ms", 0),
        met: ours.median().map(|ms| ms <= limit),
    };
    let of_tools = |spreads: &[Spread; TOOLS.len()]| -> Value {
        TOOLS.iter().zip(spreads).map(|(t, s)| (t.0.to_string(), json!(s.json()))).collect()
    };
    Section {
        name: "start",
        title: "First frame".into(),
        how: "From the start of the program to the header of its table on a terminal of 200x50. The first figures \
              of exactop and atop are since boot."
            .into(),
        commands: TOOLS
            .iter()
            .map(|(name, args, _)| format!("{name} {}", args.join(" ")))
            .collect(),
        tables: vec![table],
        pictures: Vec::new(),
        checks: vec![check],
        json: POPULATIONS.iter().zip(waits).map(|(n, w)| (n.to_string(), of_tools(w))).collect(),
    }
}
