//! How much of the CPU time of a busy machine gets a name, when most of it is of processes that
//! live for a millisecond.

use super::named_by::{self, Said, WINDOW};
use super::report::{Check, Section};
use super::spread::Spread;
use super::table::Table;
use super::{peers, Bench};
use anyhow::Result;
use exactop_workloads::workloads::ForkStorm;
use serde_json::{json, Value};
use std::time::Duration;

const ROUNDS: usize = 5;
/// Shells that start `true` in a loop.
const SHELLS: usize = 2;
/// The shells have to get going.
const SETTLING: Duration = Duration::from_millis(500);

/// How a tool is asked.
type Ask = fn(&Bench) -> Result<Said>;

/// A tool, what has to be installed for it, and how it is asked.
const TOOLS: [(&str, &[&str], Ask, &str); 4] = [
    ("exactop", &[], named_by::exactop, "exactop --json -i -n 2 -d 3 --source ledger"),
    ("top", &["top"], named_by::top, "top -b -w 512 -d 3 -n 2"),
    ("atop", &["atop"], named_by::atop, "atop -P CPU,PRC 3 2"),
    ("htop", &["htop", "tmux"], named_by::htop, "htop -d 30, captured by tmux"),
];

/// Asks everyone in turns, while the storm goes on.
pub fn measure(bench: &Bench) -> Result<Section> {
    let mut shares = TOOLS.map(|_| Spread::default());
    let _storm = ForkStorm::start(SHELLS)?;
    std::thread::sleep(SETTLING);
    for _ in 0..bench.rounds(ROUNDS) {
        for ((name, needs, ask, _), shares) in TOOLS.iter().zip(&mut shares) {
            if needs.iter().any(|program| peers::find(program).is_none()) {
                continue;
            }
            match ask(bench) {
                Ok(said) => shares.add(100.0 * said.named / said.busy),
                Err(error) => eprintln!("bench: {name}: {error:#}"),
            }
        }
    }
    Ok(section(&shares))
}

fn section(shares: &[Spread; TOOLS.len()]) -> Section {
    let mut table = Table::new(["tool", "named, % of the CPU time used"]);
    for ((name, ..), share) in TOOLS.iter().zip(shares) {
        table.row([(*name).to_string(), share.text(1)]);
    }
    Section {
        name: "named",
        title: "CPU time that gets a name".into(),
        how: format!(
            "{SHELLS} shells start `true` in a loop. Of the CPU time that was used in {WINDOW} s, \
             the part that a tool's rows add up to. What was used is what /proc/stat says, in \
             ticks, of the same window: user, nice, system and interrupts, as in top's and atop's \
             lines of the machine and in exactop's system.ticks; for htop it is read beside it. \
             The rows of exactop: tasks and exited of its books. top: column %CPU. atop: lines \
             PRC of processes, those that exited included as far as it knows them (process \
             accounting). htop: column CPU% of a screen tall enough for everyone, without \
             userland threads, whose time is in their process's row."
        ),
        commands: TOOLS.iter().map(|(.., command)| (*command).to_string()).collect(),
        tables: vec![table],
        pictures: Vec::new(),
        checks: vec![Check {
            target: "exactop names at least 99 % of it, by the kernel's ticks".into(),
            found: format!("{} %", shares[0].text(1)),
            met: shares[0].median().map(|share| share >= 99.0),
        }],
        json: TOOLS
            .iter()
            .zip(shares)
            .map(|(tool, share)| (tool.0.to_string(), json!(share.json())))
            .collect::<Value>(),
    }
}
