//! Compares the ledger with independent measurements of a load's CPU time over the same time.
//!
//! perf's task-clock is the reference: like the ledger it is taken at switches, but by other code
//! and from another clock. The kernel's own run time (the control group, /proc) is not, because it
//! charges the time from a wake-up to the switch to the woken task (docs/explanation/accuracy.md).

mod held;
mod loads;
mod witness;

use super::report::{Check, Section};
use super::spread::Spread;
use super::table::Table;
use super::Bench;
use anyhow::Result;
use held::RunFigures;
use loads::Load;
use serde_json::{json, Value};

const ROUNDS: usize = 3;
const SECONDS: u32 = 4;
/// Larger differences are marked, and docs/explanation/accuracy.md explains them.
const AT_MOST: f64 = 0.01;

/// Measures every load, one after the other.
pub fn measure(bench: &Bench) -> Result<Section> {
    let mut rows = Vec::new();
    for load in loads::all(if bench.quick { 1 } else { SECONDS }) {
        let mut row = Row::default();
        for round in 0..bench.rounds(ROUNDS) {
            eprintln!("bench: truth, {}, round {}", load.name, round + 1);
            match held::run(&bench.exactop, &load.script) {
                Ok(said) => row.add(&said),
                Err(error) => eprintln!("bench: {}: {error:#}", load.command),
            }
        }
        rows.push((load, row));
    }
    Ok(section(&rows))
}

/// Figures of one load, by round.
#[derive(Default)]
struct Row {
    /// Seconds.
    task_clock: Spread,
    inherited: Spread,
    ledger: Spread,
    group: Spread,
    proc: Spread,
    steal: Spread,
    unnamed: Spread,
    /// Thousands.
    dispatches: Spread,
    exits: Spread,
    /// Time beyond task-clock, ns for each time that a task came onto a CPU.
    ledger_more: Spread,
    group_more: Spread,
}

impl Row {
    fn add(&mut self, said: &RunFigures) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let more = |ns: u64| (ns as f64 - said.task_clock as f64) / said.dispatches as f64;
        self.task_clock.add(seconds(said.task_clock));
        self.inherited.add(seconds(said.inherited));
        self.ledger.add(seconds(said.ledger));
        self.group.add(seconds(said.group));
        self.proc.add(seconds(said.proc));
        self.steal.add(seconds(said.steal));
        self.unnamed.add(seconds(said.unnamed));
        self.dispatches.add(said.dispatches as f64 / 1e3);
        self.exits.add(said.exits as f64 / 1e3);
        self.ledger_more.add(more(said.ledger));
        self.group_more.add(more(said.group));
    }

    /// Median of the rounds' ratios to task-clock.
    fn ratio(&self, of: &Spread) -> Option<f64> {
        of.over(&self.task_clock).median()
    }

    fn json(&self) -> Value {
        json!({
            "task_clock_s": self.task_clock.json(), "ledger_s": self.ledger.json(),
            "perf_stat_s": self.inherited.json(),
            "group_s": self.group.json(), "proc_s": self.proc.json(), "steal_s": self.steal.json(),
            "unnamed_on_the_machine_s": self.unnamed.json(),
            "dispatches_k": self.dispatches.json(), "exits_k": self.exits.json(),
            "ledger_more_ns_each": self.ledger_more.json(),
            "group_more_ns_each": self.group_more.json(),
            "ratio": {
                "ledger": self.ratio(&self.ledger), "group": self.ratio(&self.group),
                "proc": self.ratio(&self.proc), "perf_stat": self.ratio(&self.inherited),
            },
        })
    }
}

fn is_marked(ratio: f64) -> bool {
    (ratio - 1.0).abs() > AT_MOST
}

/// A figure, or `-` if there is none.
fn figure(of: &Spread, decimals: usize) -> String {
    of.median().map_or("-".into(), |median| format!("{median:.decimals$}"))
}

fn section(rows: &[(Load, Row)]) -> Section {
    let mut table = Table::new([
        "load",
        "task-clock, s",
        "ledger, s",
        "ratio",
        "cgroup, s",
        "ratio",
        "/proc, s",
        "ratio",
        "perf stat, s",
        "ratio",
        "dispatches, k",
        "exits, k",
        "ledger more, ns each",
        "cgroup more, ns each",
    ]);
    for (load, row) in rows {
        let ratio = |of: &Spread| match row.ratio(of) {
            Some(ratio) if is_marked(ratio) => format!("**{ratio:.3}**"),
            Some(ratio) => format!("{ratio:.3}"),
            None => "-".into(),
        };
        table.row([
            load.name.clone(),
            figure(&row.task_clock, 3),
            figure(&row.ledger, 3),
            ratio(&row.ledger),
            figure(&row.group, 3),
            ratio(&row.group),
            figure(&row.proc, 2),
            ratio(&row.proc),
            figure(&row.inherited, 3),
            ratio(&row.inherited),
            figure(&row.dispatches, 1),
            figure(&row.exits, 1),
            figure(&row.ledger_more, 0),
            figure(&row.group_more, 0),
        ]);
    }
    let json: serde_json::Map<String, Value> =
        rows.iter().map(|(load, row)| (load.command.clone(), row.json())).collect();
    Section {
        name: "truth",
        title: "CPU time of a load by four counts".into(),
        how: HOW.into(),
        commands: rows.iter().map(|(load, _)| load.command.clone()).collect(),
        tables: vec![table],
        pictures: Vec::new(),
        checks: vec![check(rows)],
        json: Value::Object(json),
    }
}

const HOW: &str = "`exactop run` runs each load below a shell that waits before and after it. The table compares four \
    counts of the CPU time in between: perf's task-clock, inherited by all tasks of the load; the usage of the \
    shell's control group; /proc (utime, stime, cutime and cstime of the shell, in ticks); and the ledger's charges \
    to the tree, with the steal. Figures are medians of the rounds. Ratios are to the task-clock of the same round; \
    those off by more than 1 % are bold. *Dispatches*: how often a task of the tree got a CPU. *Exits*: processes of \
    the tree that ended. *More*: the excess over task-clock, for each dispatch.";

fn check(rows: &[(Load, Row)]) -> Check {
    let ratios = rows.iter().map(|(load, row)| (load, row.ratio(&row.ledger)));
    let known: Vec<(&Load, f64)> = ratios.filter_map(|(load, r)| Some((load, r?))).collect();
    let off: Vec<String> = known
        .iter()
        .filter(|(_, ratio)| is_marked(*ratio))
        .map(|(load, ratio)| format!("{} {ratio:.3}", load.name))
        .collect();
    Check {
        target: "ledger: within 1 % of task-clock".into(),
        found: match off.is_empty() {
            true => format!("{0} of {0} loads", known.len()),
            false => {
                let good = known.len() - off.len();
                format!("{good} of {} loads; not {}", known.len(), off.join(", "))
            }
        },
        met: (!known.is_empty()).then_some(off.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that forks and one that computes, over and over: half of it in children.
    const FORKS: &str =
        "n=0; while [ $n -lt 100 ]; do (i=0; while [ $i -lt 3000 ]; do i=$((i+1)); \
                         done); i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; n=$((n+1)); done";

    #[test]
    fn the_ledger_and_task_clock_agree_about_a_tree_that_forks() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("left out: the ledger needs root");
            return;
        }
        let exactop = crate::target_dir().join("debug/exactop");
        assert!(exactop.exists(), "{}: cargo build -p exactop makes it", exactop.display());
        let said = held::run(&exactop, FORKS).expect("a run");
        // Without a visible birth there is no exit to count.
        assert!(said.exits >= 90 && said.dispatches >= 100, "{said:?}");
        let ratio = said.ledger as f64 / said.task_clock as f64;
        assert!((0.9..1.1).contains(&ratio), "{said:?}");
        assert!(said.task_clock > 0 && said.group > 0 && said.inherited > 0, "{said:?}");
    }

    #[test]
    fn a_load_that_fails_is_not_measured() {
        let row = Row::default();
        assert_eq!(check(&[(load("x"), row)]).met, None);
    }

    #[test]
    fn differences_above_one_per_cent_are_marked_and_named() {
        let mut row = Row::default();
        row.add(&RunFigures {
            task_clock: 1_000,
            ledger: 1_011,
            steal: 0,
            unnamed: 0,
            inherited: 1_000,
            group: 1_000,
            proc: 1_000,
            dispatches: 1,
            exits: 0,
        });
        let section = section(&[(load("x"), row)]);
        assert!(section.text().contains("**1.011**"), "{}", section.text());
        assert_eq!(section.checks[0].met, Some(false));
        assert_eq!(section.checks[0].found, "0 of 1 loads; not x 1.011");
    }

    fn load(name: &str) -> Load {
        loads::Load::plain(name, name.into())
    }
}
