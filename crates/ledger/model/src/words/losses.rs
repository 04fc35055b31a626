//! What a window of programs on demand is missing, in words.

use crate::on_demand::losses::Losses;
use crate::words::plural::counted;

/// A line for each kind of loss; `event` is what is counted, `unseen` what is known of those that
/// were not seen.
pub fn lines(losses: &Losses, event: &str, unseen: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if losses.lost > 0 {
        lines.push(format!("{} missing: the tables were full", counted(losses.lost, event)));
    }
    if let Some(skipped) = losses.skipped.filter(|&skipped| skipped > 0) {
        lines.push(format!(
            "{event}s may be missing: the kernel skipped {} of the programs that count",
            counted(skipped, "run")
        ));
    }
    if losses.unseen > 0 {
        lines.push(format!("{} {unseen}", counted(losses.unseen, event)));
    }
    if losses.left_out > 0 {
        lines.push(format!(
            "{} left out, of those with least: the daemon's answer had no room for more",
            counted(losses.left_out, "row")
        ));
    }
    lines
}
