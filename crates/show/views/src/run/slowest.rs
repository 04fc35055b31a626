//! The slowest processes of a run.

use super::{named, seconds};
use exactop_model::run::{Single, Tree};
use exactop_model::text::escape::{escape, harmless};
use exactop_model::words::plural::things;
use exactop_model::words::units::thousands;
use serde_json::{json, Value};

/// Characters of a command line that are shown.
const COMMAND: usize = 120;

/// A line per process; none if only the command itself exited.
pub(super) fn lines(tree: &Tree) -> Vec<String> {
    let slowest = match &tree.slowest {
        Ok(slowest) if tree.processes() > 1 => slowest,
        Err(why) if tree.processes() > 1 => {
            return vec![named("slowest", format!("not known: {}", harmless(why)))];
        }
        _ => return Vec::new(),
    };
    let name = |at: usize| if at == 0 { "slowest" } else { "" };
    let elapsed = column(slowest.list.iter().map(|one| one.elapsed_ns), "");
    let cpu = column(slowest.list.iter().map(|one| one.run_ns), "~");
    let figures = elapsed.iter().zip(&cpu).zip(&slowest.list);
    let texts = figures
        .map(|((elapsed, cpu), one)| format!("{elapsed} s   CPU {cpu} s   {}", command_text(one)));
    let mut lines: Vec<String> =
        texts.enumerate().map(|(at, text)| named(name(at), text)).collect();
    let nameless = slowest.list.iter().any(|one| one.command.is_none());
    if nameless {
        lines.push(named("", "(name): gone before its command line could be read".into()));
    }
    if slowest.lost > 0 {
        let (lost, exits) = (thousands(slowest.lost), things(slowest.lost, "exit"));
        lines.push(named(
            "",
            format!("no record of {lost} more {exits}: slower ones may be missing"),
        ));
    }
    lines
}

/// Seconds in a column: with microseconds if one value is below 10 ms, padded to the longest.
fn column(all: impl Iterator<Item = u64> + Clone, mark: &str) -> Vec<String> {
    let is_short = all.clone().any(|ns| (1..10_000_000).contains(&ns));
    let digits = if is_short { 6 } else { 3 };
    let texts: Vec<String> = all.map(|ns| format!("{mark}{:.digits$}", seconds(ns))).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.iter().map(|text| format!("{text:>width$}")).collect()
}

fn command_text(one: &Single) -> String {
    match &one.command {
        Some(command) => shortened(escape(command)),
        None => format!("({})", one.comm),
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(COMMAND) {
        None => text,
        Some((at, _)) => format!("{} …", &text[..at]),
    }
}

/// The slowest processes as JSON; `null`: unknown.
pub(super) fn json(tree: &Tree) -> Value {
    let one = |one: &Single| {
        json!({
            "pid": one.pid,
            "ppid": one.ppid,
            "comm": one.comm.to_string(),
            "command": one.command.as_deref().map(escape),
            "elapsed_ns": one.elapsed_ns,
            "run_ns": one.run_ns,
        })
    };
    tree.slowest.as_ref().map_or(Value::Null, |slowest| slowest.list.iter().map(one).collect())
}
