//! Prints the CPU time of each control group in a window, with exited tasks, and their sum. Needs a
//! source with control groups: the ledger or the snapshot.
//!
//!     cargo run -p exactop-sources --example groups -- [SECONDS]

use exactop_model::{Book, Counter};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, SplitOptions};
use std::collections::BTreeMap;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let length = Duration::from_secs_f64(std::env::args().nth(1).map_or(Ok(1.0), |s| s.parse())?);
    let mut source = session::source(Choice::Auto, SplitOptions::default())?;
    let mut book = Book::new();
    book.advance(source.snapshot(&Request::default())?);
    std::thread::sleep(length);
    let window = book.advance(source.snapshot(&Request::default())?).ok_or("no window")?;
    // A task that changed its group in the window counts in its last one; `moves` has the part of
    // the others.
    let living = window.tasks.iter().map(|t| (t.sample.ident.cgroup_id, &t.delta));
    let exited = window.exited.iter().map(|e| (e.sample.cgroup_id, &e.delta));
    let mut groups: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for (group, delta) in living.chain(exited) {
        // The use of a task in its first window is unknown.
        if let Some(run_ns) = delta.get(Counter::RunNs) {
            *groups.entry(group).or_default() += run_ns;
        }
    }
    for (group, run_ns) in &groups {
        let name = group.map_or("-".into(), |id| id.to_string());
        println!("group {name:>8}  {:>8.3} % of a CPU", percent(*run_ns, window.length_ns()));
    }
    let sum = groups.values().sum();
    println!("all groups      {:>8.3} % of a CPU", percent(sum, window.length_ns()));
    Ok(())
}

fn percent(part_ns: u64, window_ns: u64) -> f64 {
    part_ns as f64 * 100.0 / window_ns as f64
}
