//! The slowest processes of a run.

use super::{named, short};
use exactop_model::escape::{escape, harmless};
use exactop_model::run::{Single, Tree};
use exactop_model::words::units::thousands;
use serde_json::{json, Value};

/// Characters of a command line that are shown.
const COMMAND: usize = 120;

/// A line for each; none where nobody exited but the command itself.
pub(super) fn lines(tree: &Tree) -> Vec<String> {
    let slowest = match &tree.slowest {
        Ok(slowest) if tree.processes() > 1 => slowest,
        Err(why) if tree.processes() > 1 => {
            return vec![named("slowest", format!("not known: {}", harmless(why)))];
        }
        _ => return Vec::new(),
    };
    let name = |at: usize| if at == 0 { "slowest" } else { "" };
    let mut lines: Vec<String> =
        slowest.list.iter().enumerate().map(|(at, one)| named(name(at), line(one))).collect();
    let nameless = slowest.list.iter().any(|one| one.command.is_none());
    if nameless {
        lines.push(named("", "(name): gone before its command line could be read".into()));
    }
    if slowest.lost > 0 {
        let lost = thousands(slowest.lost);
        lines.push(named(
            "",
            format!(
                "of {lost} exits more it is not known whose they were: one may have been slower"
            ),
        ));
    }
    lines
}

fn line(one: &Single) -> String {
    let what = match &one.command {
        Some(command) => shortened(escape(command)),
        None => format!("({})", one.comm),
    };
    format!("{} s   CPU ~{} s   {what}", short(one.elapsed_ns), short(one.run_ns))
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(COMMAND) {
        None => text,
        Some((at, _)) => format!("{} …", &text[..at]),
    }
}

/// `null` where it is not known.
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
