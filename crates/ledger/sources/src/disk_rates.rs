//! A feed layer that adds disk reads and writes of processes.

use exactop_model::frame::holdings::{DiskBytes, DiskOf, Refusal};
use exactop_model::ledger::system::DiskRate;
use exactop_model::{Ask, Feed, Frame, Missing, Needs, Row, RowKind};
use std::collections::HashMap;
use std::time::Instant;

/// Reads the bytes of these processes and threads, in their order. A sandboxed process has a helper
/// process read them.
pub type ReadDisk = Box<dyn FnMut(&[DiskOf]) -> Vec<Result<DiskBytes, Refusal>>>;

/// A feed whose rows have disk I/O if the view needs it.
pub struct WithDiskRates {
    feed: Box<dyn Feed>,
    read: ReadDisk,
    /// Readings by process or thread.
    looks: HashMap<DiskKey, Look>,
    /// Number of windows so far.
    windows: u64,
    /// True while past windows are shown, whose processes cannot be read.
    looks_back: bool,
}

type DiskKey = (bool, exactop_model::TaskKey);

/// The last reading of a process or thread, and the rate since the reading before.
struct Look {
    window: u64,
    at: Instant,
    bytes: Option<DiskBytes>,
    rate: Result<DiskRate, Missing>,
}

impl WithDiskRates {
    /// Adds disk I/O to a feed; `read` reads the bytes.
    pub fn new(feed: Box<dyn Feed>, read: ReadDisk) -> WithDiskRates {
        WithDiskRates { feed, read, looks: HashMap::default(), windows: 0, looks_back: false }
    }

    /// Reads the rows that have not been read since the window ended.
    fn look(&mut self, rows: &[&mut Row]) {
        let is_due = |of: &DiskKey| self.looks.get(of).is_none_or(|at| at.window != self.windows);
        let mut due: Vec<DiskKey> = rows.iter().filter_map(|row| key(row)).filter(is_due).collect();
        due.sort_unstable();
        due.dedup();
        let all: Vec<DiskOf> =
            due.iter().map(|&(is_thread, key)| DiskOf { key, is_thread }).collect();
        let found = (self.read)(&all);
        let at = Instant::now();
        for (of, found) in due.into_iter().zip(found) {
            let before = self.looks.get(&of);
            let before = before.and_then(|look| Some((look.at, look.bytes?)));
            let rate = match &found {
                Ok(now) => rate(before, (at, *now)).ok_or(Missing::NotRead),
                Err(why) => Err(missing(why)),
            };
            let look = Look { window: self.windows, at, bytes: found.ok(), rate };
            self.looks.insert(of, look);
        }
    }
}

/// Key of a row; exited groups have nothing to read.
fn key(row: &Row) -> Option<DiskKey> {
    match row.kind {
        RowKind::Exited => None,
        kind => Some((kind == RowKind::Task, row.key)),
    }
}

/// Bytes a second; `None` without a reading before, or if a count ran backwards.
fn rate(then: Option<(Instant, DiskBytes)>, now: (Instant, DiskBytes)) -> Option<DiskRate> {
    let (then_at, then) = then?;
    let seconds = now.0.duration_since(then_at).as_secs_f64();
    let of = |now: u64, then: u64| Some(now.checked_sub(then)? as f64 / seconds);
    let rate =
        DiskRate { read: of(now.1.read, then.read)?, written: of(now.1.written, then.written)? };
    (seconds > 0.0).then_some(rate)
}

fn missing(why: &Refusal) -> Missing {
    match why {
        Refusal::Exited => Missing::Vanished,
        Refusal::NotPermitted => Missing::NotPermitted,
        Refusal::Because(_) => Missing::Source,
    }
}

impl Feed for WithDiskRates {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut *self.feed)
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let frame = self.feed.next_frame(ask)?;
        self.windows += 1;
        // A row that the last window did not show has no reading before this one.
        let last = self.windows - 1;
        self.looks.retain(|_, look| look.window == last);
        Ok(frame)
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        self.feed.details(rows, needs);
        if !needs.has(Needs::DISK) || self.looks_back {
            return;
        }
        self.look(rows);
        for row in rows {
            let look = key(row).map(|of| self.looks.get(&of));
            row.detail.disk = match look {
                None => Err(Missing::NotApplicable),
                Some(look) => look.map_or(Err(Missing::NotRead), |look| look.rate),
            };
        }
    }

    fn look_back(&mut self, windows: usize) -> bool {
        let is_shown = self.feed.look_back(windows);
        self.looks_back |= is_shown;
        is_shown
    }

    fn look_on(&mut self) {
        self.looks_back = false;
        self.feed.look_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn other_details_come_from_the_feed() {
        let read = |all: &[DiskOf]| all.iter().map(|_| Err(Refusal::Exited)).collect();
        let layer = |feed| Box::new(WithDiskRates::new(feed, Box::new(read))) as Box<dyn Feed>;
        assert_eq!(exactop_testkit::not_forwarded(layer), [""; 0]);
    }

    #[test]
    fn a_rate_needs_two_readings_and_never_runs_backwards() {
        let begin = Instant::now();
        let after = begin + Duration::from_secs(2);
        let bytes = |read, written| DiskBytes { read, written };
        assert_eq!(rate(None, (after, bytes(9, 9))), None);
        let between = rate(Some((begin, bytes(4, 0))), (after, bytes(4100, 10)));
        assert_eq!(between, Some(DiskRate { read: 2048.0, written: 5.0 }));
        assert_eq!(rate(Some((begin, bytes(4, 0))), (after, bytes(3, 10))), None);
        assert_eq!(rate(Some((begin, bytes(4, 0))), (begin, bytes(4, 0))), None);
    }
}
