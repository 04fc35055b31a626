//! Extra cost of a context switch while the ledger is attached.

use super::bpf_stats::{self, Measured, Runs};
use super::empty::{self, Attached};
use super::pipe::{Pace, Pipe};
use super::report::{Check, Section};
use super::running::{Running, Surface};
use super::spread::Spread;
use super::table::Table;
use super::Bench;
use anyhow::{bail, Result};
use serde_json::{json, Value};
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
/// Rounds with the kernel's statistics on.
const STATISTICS_ROUNDS: usize = 3;

/// Pairs of rounds with and without the blame book at once, in each order of the two.
const BLAME_ROUNDS: usize = 5;

/// The blame book may lengthen a round by at most this much, points.
const BLAME_POINTS: f64 = 4.0;
/// Longest round beside the ledger alone, as a multiple of one beside nothing.
const LEDGER_TIMES: f64 = 1.16;
/// The same beside a live view.
const LIVE_VIEW_TIMES: f64 = 1.22;
const ARGUMENTS: [&str; 4] = ["-d", "10", "--source", "ledger"];

/// Programs attached while the tasks switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttachedPrograms {
    Nothing,
    Empty,
    Ledger,
    LedgerWithoutBlame,
    LiveView,
    SplitLedger,
}

const ALL: [AttachedPrograms; 6] = [
    AttachedPrograms::Nothing,
    AttachedPrograms::Empty,
    AttachedPrograms::Ledger,
    AttachedPrograms::LedgerWithoutBlame,
    AttachedPrograms::LiveView,
    AttachedPrograms::SplitLedger,
];

impl AttachedPrograms {
    fn name(self) -> &'static str {
        match self {
            AttachedPrograms::Nothing => "nothing",
            AttachedPrograms::Empty => "empty programs",
            AttachedPrograms::Ledger => "exactop --split sampled --irq off",
            AttachedPrograms::LedgerWithoutBlame => "exactop --split sampled --irq off --blame off",
            AttachedPrograms::LiveView => "exactop",
            AttachedPrograms::SplitLedger => "exactop --split exact",
        }
    }

    /// Options of exactop; `None`: it does not run.
    fn options(self) -> Option<impl Iterator<Item = &'static str>> {
        let words = self.name().strip_prefix("exactop")?;
        Some(words.split_whitespace())
    }
}

/// Results with one kind of programs.
#[derive(Default)]
struct Figures {
    wall_ns: Spread,
    cpu_ns: Spread,
    /// The kernel's figures, from separate rounds.
    ns_each: Spread,
    runs_each: Spread,
}

/// Attached programs.
enum Live {
    Nothing,
    Empty(Attached),
    Ledger(Running),
}

impl Live {
    fn start(bench: &Bench, with: AttachedPrograms, pipe: &Pipe) -> Result<Live> {
        Ok(match (with, with.options()) {
            (_, Some(options)) => Live::Ledger(calibrated(bench, options, pipe)?),
            (AttachedPrograms::Empty, None) => Live::Empty(Attached::new()?),
            (_, None) => Live::Nothing,
        })
    }

    fn runs(&self) -> Option<Runs> {
        match self {
            Live::Nothing => None,
            Live::Empty(attached) => attached.runs(),
            Live::Ledger(running) => bpf_stats::of_process(running.pid()),
        }
    }
}

/// An exactop that has finished calibrating its programs. It starts with the kernel's statistics
/// on, until it has seen enough events.
fn calibrated(
    bench: &Bench,
    options: impl Iterator<Item = &'static str>,
    pipe: &Pipe,
) -> Result<Running> {
    let mut command = Command::new(&bench.exactop);
    command.args(ARGUMENTS).args(options).env("TERM", "xterm-256color").env("HOME", "/dev/null");
    let mut running = Running::start_looking_for(&mut command, Surface::LargeTerminal, "COMMAND")?;
    running.found(Duration::from_secs(10))?;
    let deadline = Instant::now() + Duration::from_secs(20);
    // Its first screen shows figures since boot, before any program is attached.
    while bpf_stats::of_process(running.pid()).is_none() {
        if Instant::now() > deadline {
            bail!("exactop attached nothing");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    while bpf_stats::is_measuring(running.pid()) {
        if Instant::now() > deadline {
            bail!("exactop did not stop calibrating");
        }
        pipe.run()?;
        // Closes the window now.
        running.press(b" ")?;
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(running)
}

/// Measures all kinds in turns, each round beginning with another one.
pub fn measure(bench: &Bench) -> Result<Section> {
    let pipe = Pipe::new()?;
    let strangers = bpf_stats::attached_to("sched_switch");
    let mut figures = ALL.map(|_| Figures::default());
    for round in 0..if bench.quick { 2 } else { ROUNDS } {
        for turn in 0..ALL.len() {
            let at = (round + turn) % ALL.len();
            let _live = Live::start(bench, ALL[at], &pipe)?;
            let Pace { wall_ns, cpu_ns, .. } = pipe.run()?;
            figures[at].wall_ns.add(wall_ns);
            figures[at].cpu_ns.add(cpu_ns);
        }
    }
    for _ in 0..if bench.quick { 1 } else { STATISTICS_ROUNDS } {
        for (with, figures) in ALL.into_iter().zip(&mut figures) {
            with_statistics(bench, with, &pipe, figures)?;
        }
    }
    let strangers = strangers.max(bpf_stats::attached_to("sched_switch"));
    let blame_ns = blame_ns(bench, &pipe)?;
    Ok(section(&pipe, strangers, &figures, &blame_ns))
}

/// What the blame book adds to a round, ns, by the kernel's figures: a ledger with it and one
/// without measure the same switches. The first one at a switch fills the caches for both, so each
/// is first as often.
fn blame_ns(bench: &Bench, pipe: &Pipe) -> Result<Spread> {
    let rounds = if bench.quick { 1 } else { BLAME_ROUNDS };
    let mut added = [Spread::default(), Spread::default()];
    for (with_first, added) in [true, false].into_iter().zip(&mut added) {
        let mut order = [AttachedPrograms::Ledger, AttachedPrograms::LedgerWithoutBlame];
        if !with_first {
            order.reverse();
        }
        let lives = [Live::start(bench, order[0], pipe)?, Live::start(bench, order[1], pipe)?];
        let _statistics = Measured::on()?;
        for _ in 0..rounds {
            let before = lives.each_ref().map(Live::runs);
            let rounds = pipe.run()?.rounds as f64;
            let after = lives.each_ref().map(Live::runs);
            if let ([Some(a0), Some(b0)], [Some(a1), Some(b1)]) = (before, after) {
                let [first, second] = [a1.since(a0).time_ns as f64, b1.since(b0).time_ns as f64];
                added.add(if with_first { first - second } else { second - first } / rounds);
            }
        }
    }
    let [first, second] = added;
    Ok(first.all().iter().zip(second.all()).map(|(a, b)| (a + b) / 2.0).collect())
}

fn with_statistics(
    bench: &Bench,
    with: AttachedPrograms,
    pipe: &Pipe,
    figures: &mut Figures,
) -> Result<()> {
    let live = Live::start(bench, with, pipe)?;
    let Some(before) = live.runs() else { return Ok(()) };
    let statistics = Measured::on()?;
    let pace = pipe.run()?;
    drop(statistics);
    let Some(after) = live.runs() else { return Ok(()) };
    let runs = after.since(before);
    if let Some(ns) = runs.ns_each() {
        figures.ns_each.add(ns);
        figures.runs_each.add(runs.count as f64 / pace.rounds as f64);
    }
    Ok(())
}

fn section(
    pipe: &Pipe,
    strangers: usize,
    figures: &[Figures; ALL.len()],
    blame_ns: &Spread,
) -> Section {
    let bare = &figures[0];
    let mut table =
        Table::new(["attached", "ns a round", "slower, %", "ns an event", "events a round"]);
    for (with, of) in ALL.into_iter().zip(figures) {
        let more = |mine: &Spread, other: &Spread| match with {
            AttachedPrograms::Nothing => String::new(),
            _ => mine.over(other).map(|ratio| 100.0 * (ratio - 1.0)).text(1),
        };
        let known = |spread: &Spread, decimals| match with {
            AttachedPrograms::Nothing => String::new(),
            _ => spread.text(decimals),
        };
        table.row([
            with.name().to_string(),
            of.wall_ns.text(0),
            more(&of.wall_ns, &bare.wall_ns),
            known(&of.ns_each, 1),
            of.runs_each.median().map_or(String::new(), |runs| format!("{runs:.2}")),
        ]);
    }
    Section {
        name: "switches",
        title: "Context switches".into(),
        how: format!(
            "Two tasks on one CPU pass a byte there and back. A round is two switches, two wake-ups and four \
             system calls. *Empty programs* have two instructions at each event of the ledger. The time of an \
             event comes from separate rounds. `--split auto` detaches the exact split above `--budget`. \
             The blame book, by a ledger with it and one without beside the same switches, adds {} to a \
             round.{}",
            blame_ns.text_in("ns", 0),
            match strangers {
                0 => String::new(),
                _ => format!(" Programs of others at sched_switch slow down every row: {strangers}."),
            }
        ),
        commands: vec![pipe.command(), format!("exactop {} [the options of the row]", ARGUMENTS.join(" "))],
        tables: vec![table],
        pictures: Vec::new(),
        checks: checks(figures, blame_ns).into(),
        json: json_of(figures, strangers, blame_ns),
    }
}

fn checks(figures: &[Figures; ALL.len()], blame_ns: &Spread) -> [Check; 4] {
    let [bare, _, ledger, _, live_view, exact] = figures;
    let times = |with: &Figures, most: f64, what: &str| {
        let found = with.wall_ns.over(&bare.wall_ns);
        Check {
            target: format!("context switches, {what}: at most {most} times as long"),
            found: found.text_in("times", 2),
            met: found.median().map(|times| times <= most),
        }
    };
    let of = |bare_ns| blame_ns.map(|ns| 100.0 * ns / bare_ns);
    let blame = bare.wall_ns.median().map_or_else(Spread::default, of);
    [
        times(ledger, LEDGER_TIMES, "`--split sampled --irq off`"),
        times(live_view, LIVE_VIEW_TIMES, "live view"),
        times(exact, 1.4, "exact split"),
        Check {
            target: format!("context switches, blame book: at most {BLAME_POINTS} points"),
            found: blame.text_in("points", 1),
            met: blame.median().map(|points| points <= BLAME_POINTS),
        },
    ]
}

fn json_of(figures: &[Figures; ALL.len()], strangers: usize, blame_ns: &Spread) -> Value {
    let one = |of: &Figures| {
        json!({
            "wall_ns": of.wall_ns.json(),
            "cpu_ns": of.cpu_ns.json(),
            "ns_each_event": of.ns_each.json(),
            "events_each_round": of.runs_each.json(),
        })
    };
    let mut all: Value =
        ALL.into_iter().zip(figures).map(|(with, of)| (with.name().to_string(), one(of))).collect();
    all["blame book, ns a round"] = blame_ns.json();
    all["programs of others"] = json!(strangers);
    all["empty programs at"] = json!(empty::EVENTS);
    all
}
