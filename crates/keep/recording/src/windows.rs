//! The windows of a range of time, in order.
//!
//! The wall clock may be set back, so a time of day can come twice. Each window is therefore tested
//! by itself; frame headers give the first and the last.

use crate::error::RecordingError;
use crate::gap::Gap;
use crate::index::{Index, IndexedWindow, RecordingPosition};
use crate::parts::Recording;
use crate::reader::Reader;
use crate::replay::{Replay, ReplayStep};

/// A range of time: windows that end after `from` and not after `to` (ns since the epoch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct TimeRange {
    pub from: Option<i128>,
    pub to: Option<i128>,
}

/// First and last window of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    first: IndexedWindow,
    last: RecordingPosition,
}

impl TimeRange {
    /// True if a window with this end is in the range.
    pub fn has(&self, ends_wall_ns: i128) -> bool {
        self.from.is_none_or(|from| ends_wall_ns > from)
            && self.to.is_none_or(|to| ends_wall_ns <= to)
    }

    /// True if the recording has a window in the range. Reads only frame headers.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read.
    pub fn is_in(&self, recording: &Recording) -> Result<bool, RecordingError> {
        Ok(self.ends(&mut Index::default(), recording)?.is_some())
    }

    fn ends(
        &self,
        index: &mut Index,
        recording: &Recording,
    ) -> Result<Option<Ends>, RecordingError> {
        let mut ends: Option<Ends> = None;
        for part in 0..recording.parts().len() {
            let list = index.windows(recording, part)?;
            let mut of_it = list.iter().filter(|window| self.has(window.span.wall_t1_ns()));
            let Some(&first) = of_it.next() else { continue };
            let last = of_it.next_back().map_or(first.at, |window| window.at);
            ends = Some(Ends { first: ends.map_or(first, |ends| ends.first), last });
        }
        Ok(ends)
    }

    /// Seeks before the first window of the range and returns the position of the last. `None` if
    /// the range has no window. An open range has no known last window: a recorder may still run.
    pub(crate) fn go_to(&self, reader: &mut Reader) -> Result<Option<LastWindow>, RecordingError> {
        if *self == TimeRange::default() {
            return Ok(Some(LastWindow(None)));
        }
        let (index, recording) = reader.index();
        let Some(Ends { first, last }) = self.ends(index, recording)? else { return Ok(None) };
        reader.go_before(first)?;
        Ok(Some(LastWindow(self.to.map(|_| last))))
    }

    /// The part of a gap after `from`; `None` if there is none.
    fn end_of(&self, gap: Gap) -> Option<Gap> {
        let Some(from) = self.from else { return Some(gap) };
        let within = gap.to_wall_ns.checked_sub(from).filter(|&ns| ns > 0)?;
        Some(match gap.length_ns.filter(|&ns| i128::from(ns) > within) {
            Some(_) => Gap { length_ns: u64::try_from(within).ok(), from_wall_ns: from, ..gap },
            None if gap.length_ns.is_none() => {
                Gap { from_wall_ns: gap.from_wall_ns.max(from), ..gap }
            }
            None => gap,
        })
    }

    /// The part of a gap before `to`; `None` if there is none.
    fn begin_of(&self, gap: Gap) -> Option<Gap> {
        let Some(to) = self.to else { return Some(gap) };
        let within = to.checked_sub(gap.from_wall_ns).filter(|&ns| ns > 0)?;
        Some(match gap.length_ns.filter(|&ns| i128::from(ns) > within) {
            Some(_) => Gap { length_ns: u64::try_from(within).ok(), to_wall_ns: to, ..gap },
            None if gap.length_ns.is_none() => Gap { to_wall_ns: gap.to_wall_ns.min(to), ..gap },
            None => gap,
        })
    }
}

/// Position of the last window of a range, if known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastWindow(Option<RecordingPosition>);

impl LastWindow {
    /// True if the position is at or after the last window.
    pub fn is_reached(&self, at: RecordingPosition) -> bool {
        self.0.is_some_and(|last| at >= last)
    }
}

/// Steps through the windows of a range.
#[derive(Debug)]
pub struct Windows {
    replay: Replay,
    when: TimeRange,
    last: LastWindow,
    /// The window before was in the range.
    within: bool,
    ended: bool,
    gaps: Vec<Gap>,
}

impl Windows {
    /// Finds the first window of the range.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read.
    pub fn from_recording(
        recording: Recording,
        when: TimeRange,
    ) -> Result<Windows, RecordingError> {
        let mut reader = Reader::new(recording);
        let last = when.go_to(&mut reader)?;
        Ok(Windows {
            replay: Replay::new(reader),
            when,
            last: last.unwrap_or(LastWindow(None)),
            within: false,
            ended: last.is_none(),
            gaps: Vec::new(),
        })
    }

    /// Goes to the next window; returns false if there is none.
    ///
    /// # Errors
    /// [`RecordingError`]: a file has become unreadable.
    pub fn advance(&mut self) -> Result<bool, RecordingError> {
        self.gaps.clear();
        let mut passed = Vec::new();
        while !self.ended {
            match self.replay.forward()? {
                ReplayStep::Gap(gap) => passed.push(gap),
                ReplayStep::End => {
                    self.leave(&mut passed);
                    self.ended = true;
                }
                ReplayStep::Window if self.is_one_of_them() => {
                    match self.within {
                        true => self.gaps.append(&mut passed),
                        false => {
                            let when = self.when;
                            self.gaps.extend(passed.drain(..).filter_map(|gap| when.end_of(gap)));
                        }
                    }
                    self.within = true;
                    return Ok(true);
                }
                ReplayStep::Window => {
                    self.leave(&mut passed);
                    let at = self.replay.at();
                    self.ended = at.is_some_and(|at| self.last.is_reached(at));
                }
            }
        }
        Ok(false)
    }

    fn is_one_of_them(&self) -> bool {
        self.replay.ends_wall_ns().is_some_and(|ends| self.when.has(ends))
    }

    /// Keeps gaps that follow a window of the range, up to its end; drops the others.
    fn leave(&mut self, passed: &mut Vec<Gap>) {
        let (when, within) = (self.when, std::mem::take(&mut self.within));
        let theirs = passed.drain(..).filter(|_| within);
        self.gaps.extend(theirs.filter_map(|gap| when.begin_of(gap)));
    }

    /// Gaps in the range between the window before and this one, or after the last.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The replay at the current window.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }
}
