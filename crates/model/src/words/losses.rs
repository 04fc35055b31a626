//! What a window of programs on demand is missing, in words.

use crate::on_demand::losses::Losses;

/// A line for each kind of loss; `events` are what is counted, `unseen` what is known of those that
/// were not seen.
pub fn lines(losses: &Losses, events: &str, unseen: &str) -> Vec<String> {
    let skipped = losses.skipped.filter(|&skipped| skipped > 0);
    let told = [
        (losses.lost > 0)
            .then(|| format!("{} {events} are missing: the tables were full", losses.lost)),
        skipped.map(|skipped| {
            format!(
                "{events} may be missing: the kernel skipped {skipped} runs of the programs that count"
            )
        }),
        (losses.unseen > 0).then(|| format!("{} {events} {unseen}", losses.unseen)),
        (losses.left_out > 0).then(|| {
            format!(
                "{} rows are left out, those with least: the daemon's answer had no room for more",
                losses.left_out
            )
        }),
    ];
    told.into_iter().flatten().collect()
}
