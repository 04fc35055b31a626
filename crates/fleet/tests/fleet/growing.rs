//! A growing log, and an exporter that follows it.

use exactop_export::onward::{Destination, Exporter, Log, Pace, Status};
use exactop_fleet::check::{check, Balance, Tolerance};
use exactop_fleet::Parquet;
use exactop_model::{Book, SourceKind};
use exactop_recording::{Clocks, Machine, Options, Recorder, Sync, TimeRange};
use exactop_testkit::{snapshot, wait};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A made-up machine.
pub fn machine() -> Machine {
    Machine {
        host: "made-up".into(),
        boot_id: "boot".into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.2.0".into(),
    }
}

/// A log that grows like a daemon's.
pub struct Growing {
    pub path: PathBuf,
    recorder: Recorder,
    book: Book,
    beat: u64,
    wall_offset_ns: i64,
}

impl Growing {
    pub fn begin(dir: &Path, options: Options) -> Growing {
        let path = dir.join("log");
        let options = Options { sync: Sync::Never, ..options };
        let recorder = Recorder::open(&path, machine(), options).expect("a recorder");
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs() as i64;
        let wall_offset_ns = (now - 36_000) * 1_000_000_000;
        let mut log = Growing { path, recorder, book: Book::new(), beat: 0, wall_offset_ns };
        log.beat();
        log
    }

    pub fn beat(&mut self) {
        let now = snapshot(SourceKind::Ledger, self.beat, None);
        let clocks = Clocks { wall_offset_ns: self.wall_offset_ns, suspended_ns: 0 };
        self.recorder.record(&now, &self.book, clocks);
        self.book.advance(now);
        self.beat += 1;
    }

    pub fn windows(&mut self, n: u64) {
        (0..n).for_each(|_| self.beat());
    }
}

/// Follows a log at short intervals.
pub fn follow(path: &Path, onto: Destination) -> Exporter {
    let [first, longest, every] = [1, 5, 10].map(Duration::from_millis);
    let log = Log { path: path.into(), groups: 4, pace: Pace { every, first, longest } };
    Exporter::start(onto, log).expect("an exporter")
}

/// Waits until an exporter's status satisfies `is_so`.
#[track_caller]
pub fn until(what: &str, exporter: &Exporter, is_so: impl Fn(&Status) -> bool) {
    let look = || is_so(&exporter.status()).then_some(());
    wait::find_or_say(what, look, || format!("{:?}", exporter.status()));
}

pub fn known(status: &Status) -> u64 {
    status.sent.windows + status.sent.there
}

pub fn balance(store: &Path) -> Balance {
    let tolerance = Tolerance { clock: Duration::from_secs(60), silent: Duration::from_secs(300) };
    let books = Parquet::open(store).expect("tables");
    check(&books, TimeRange::default(), &tolerance, i128::MAX / 2).expect("readable")
}
