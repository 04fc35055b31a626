//! Prints the books of a few windows of the ledger: `cargo run --example ledger -- 10 0.5`.

use exactop_model::{Book, Frame, FrameOptions};
use exactop_sources::ledger::{Ledger, Options};
use exactop_sources::{Request, Source};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let windows: u32 = args.next().map_or(Ok(5), |n| n.parse())?;
    let seconds: f64 = args.next().map_or(Ok(1.0), |s| s.parse())?;
    let began = Instant::now();
    let mut ledger = Ledger::open(&Options::default())?;
    println!("open: {:?}", began.elapsed());
    let mut book = Book::new();
    for _ in 0..=windows {
        let began = Instant::now();
        let snapshot = ledger.snapshot(&Request::default())?;
        let took = began.elapsed();
        if let Some(window) = book.advance(snapshot) {
            let frame = Frame::new(
                &window,
                &book,
                &FrameOptions {
                    threads: true,
                    still: exactop_model::IdleRows::All,
                    ..exactop_model::FrameOptions::default()
                },
            );
            println!("{took:?} {:?} exact {}", frame.books, frame.exact);
            if std::env::var("TOP").is_ok() {
                let mut top: Vec<_> = frame
                    .rows
                    .iter()
                    .map(|r| {
                        (
                            r.delta.get(exactop_model::Counter::RunNs).unwrap_or(0) / 1000,
                            r.key.tgid,
                            r.key.tid,
                            r.ident.comm.to_string(),
                            r.letter,
                            r.last_cpu,
                            r.account,
                            r.life_ns / 1000,
                        )
                    })
                    .collect();
                top.sort();
                top.reverse();
                for t in top.iter().take(8) {
                    println!("   {t:?}");
                }
            }
            println!("total {:?}", window.end.errors);
            let errors: Vec<_> = frame.errors.nonzero().map(|(k, n)| (k.id(), n)).collect();
            let residuals: Vec<_> = frame.cpus.iter().map(|c| c.account.residual_ns).collect();
            let mut all: Vec<_> = frame
                .rows
                .iter()
                .map(|r| (r.key.tid, r.ident.comm.to_string(), r.letter))
                .collect();
            all.sort();
            if std::env::var("ALL").is_ok() {
                println!("{all:?}");
            }
            println!("  {errors:?} {residuals:?} {:?} {:?}", frame.cost, frame.tasks);
        }
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }
    Ok(())
}
