//! Watches one process in each window: how long it ran and waited, and how often it was switched.
//!
//!     cargo run -p exactop-sources --example watch -- PID [WINDOWS [SECONDS]]

use exactop_model::{Book, Counter, Frame, FrameOptions, IdleRows};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, SplitOptions};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let pid: u32 = args.next().ok_or("which process?")?.parse()?;
    let windows: u32 = args.next().map_or(Ok(5), |n| n.parse())?;
    let length = Duration::from_secs_f64(args.next().map_or(Ok(1.0), |s| s.parse())?);
    let mut source = session::source(Choice::Auto, SplitOptions::default())?;
    let mut book = Book::new();
    book.advance(source.snapshot(&Request::default())?);
    for _ in 0..windows {
        std::thread::sleep(length);
        let Some(window) = book.advance(source.snapshot(&Request::default())?) else { continue };
        let options = FrameOptions { still: IdleRows::All, ..FrameOptions::default() };
        let frame = Frame::new(&window, &book, &options);
        let Some(row) = frame.rows.iter().find(|row| row.key.tgid == pid) else {
            println!("process {pid} is not there");
            return Ok(());
        };
        // Counters that the source does not measure print as `-`.
        let figure = |c| row.delta.get(c).map_or("-".into(), |value: u64| value.to_string());
        println!(
            "{} ns: ran {} ns, waited {} ns for a CPU, switched {} + {} times",
            window.length_ns(),
            figure(Counter::RunNs),
            figure(Counter::LatNs),
            figure(Counter::Vcx),
            figure(Counter::Icx),
        );
    }
    Ok(())
}
