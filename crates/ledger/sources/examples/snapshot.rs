//! Prints a snapshot: the CPU time of every task so far, by any source.
//!
//!     cargo run -p exactop-sources --example snapshot -- procfs

use exactop_model::{Book, Counter};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, SplitOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let choice = match std::env::args().nth(1).as_deref() {
        None | Some("auto") => Choice::Auto,
        Some("ledger") => Choice::Ledger,
        Some("snapshot") => Choice::Snapshot,
        Some("taskstats") => Choice::Taskstats,
        Some("procfs") => Choice::Procfs,
        Some(other) => return Err(format!("no source '{other}'").into()),
    };
    let mut source = session::source(choice, SplitOptions::default())?;
    // A source sends changes; the book has all tasks.
    let mut book = Book::new();
    book.advance(source.snapshot(&Request::default())?);
    println!("source {}", source.provenance().source.name());
    println!("{:>8} {:>8} {:>8} {:>14} S COMM", "TGID", "TID", "PPID", "RUN_NS");
    for task in book.processes().flat_map(|(_, p)| &p.tasks).filter_map(|&a| book.task(a)) {
        let run = task.counters.get(Counter::RunNs).map_or("-".into(), |ns| ns.to_string());
        let (key, ident) = (task.key, task.ident);
        let row = (key.tgid, key.tid, ident.ppid, run, task.letter, ident.comm);
        println!("{:>8} {:>8} {:>8} {:>14} {} {}", row.0, row.1, row.2, row.3, row.4, row.5);
    }
    Ok(())
}
