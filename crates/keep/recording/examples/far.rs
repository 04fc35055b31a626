//! Measure the cost of opening a long recording and of going to a time in it (decision 28):
//!
//! ```text
//! cargo run --release -p exactop-recording --example far -- DIR write 60000
//! cargo run --release -p exactop-recording --example far -- DIR jump
//! ```

use exactop_model::feed::timeline::{Timeline, Travel};
use exactop_model::{Book, SourceKind};
use exactop_recording::{Clocks, Machine, Options, Playback, Recorder, Recording, Sync};
use rustix::time::{clock_gettime, ClockId};
use std::path::Path;

/// CPU time of this process, ms: what else runs on the machine does not matter.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn write(path: &Path, windows: u64) {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, Machine::this("far"), options).expect("a recorder");
    let mut book = Book::new();
    for beat in 0..=windows {
        let mut now = exactop_testkit::snapshot(SourceKind::Ledger, beat % 1000, None);
        // Windows of 10 s, one after the other.
        now.at_ns = 1_000_000_000_000 + beat * 10_000_000_000;
        now.complete = beat == 0;
        recorder.record(
            &now,
            &book,
            Clocks { wall_offset_ns: 1_700_000_000_000_000_000, suspended_ns: 0 },
        );
        book.advance(now);
    }
    println!("{} windows in {} bytes", recorder.windows(), recorder.bytes());
}

fn jump(path: &Path) {
    let before = cpu_ms();
    let recording = Recording::open(path).expect("a recording");
    let files = recording.parts().len();
    let mut playback = Playback::new(recording, None).expect("readable").expect("windows");
    println!("opened {files} files: {:.1} ms", cpu_ms() - before);
    let (begin, end) = playback.place().bounds();
    let mut worst: f64 = 0.0;
    for n in 0..100 {
        let before = cpu_ms();
        let to = begin + (end - begin) * (n * 37 % 100) / 100;
        playback.travel(Travel::To(to)).expect("readable");
        worst = worst.max(cpu_ms() - before);
    }
    println!("100 times to a time: {worst:.1} ms at most");
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).expect("VmHWM"));
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [dir, "write", windows] => write(Path::new(dir), windows.parse().expect("how many")),
        [dir, "jump"] => jump(Path::new(dir)),
        _ => eprintln!("far DIR write WINDOWS | far DIR jump"),
    }
}
