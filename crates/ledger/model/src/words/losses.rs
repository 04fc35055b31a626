//! Losses of a window of on-demand programs as text.

use crate::on_demand::losses::Losses;
use crate::words::plural::counted;

/// One line for each kind of loss. `event` names what the programs count; `unseen` says what is
/// known of unseen events.
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
            "{} left out, with the smallest figures: the daemon's answer had no room for more",
            counted(losses.left_out, "row")
        ));
    }
    lines
}
