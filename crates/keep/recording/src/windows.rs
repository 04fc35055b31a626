//! The windows of some time, one after the other.
//!
//! A wall clock may be set back, so a time of day can come twice: which windows are of that time is
//! asked of each, and headers of frames say where the first and the last of them are.

use crate::error::RecordingError;
use crate::gap::Gap;
use crate::index::{At, Index, Marked};
use crate::parts::Recording;
use crate::reader::Reader;
use crate::replay::{Moved, Replay};

/// Which windows: those that end after `from` and not after `to` (ns since the epoch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct When {
    pub from: Option<i128>,
    pub to: Option<i128>,
}

/// The first of them and the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    first: Marked,
    last: At,
}

impl When {
    /// Whether a window that ends then is one of them.
    pub fn has(&self, ends_wall_ns: i128) -> bool {
        self.from.is_none_or(|from| ends_wall_ns > from)
            && self.to.is_none_or(|to| ends_wall_ns <= to)
    }

    /// Whether a recording has any of them, as the headers of its frames have it: nothing that they
    /// hold is read.
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
            let list = index.of(recording, part)?;
            let mut of_it = list.iter().filter(|window| self.has(window.span.wall_t1_ns()));
            let Some(&first) = of_it.next() else { continue };
            let last = of_it.next_back().map_or(first.at, |window| window.at);
            ends = Some(Ends { first: ends.map_or(first, |ends| ends.first), last });
        }
        Ok(ends)
    }

    /// Goes to before the first of them; where the last is. `None`: there is none. Without an end
    /// the last is not known, as somebody may still record.
    pub(crate) fn go_to(&self, reader: &mut Reader) -> Result<Option<Last>, RecordingError> {
        if *self == When::default() {
            return Ok(Some(Last(None)));
        }
        let (index, recording) = reader.index();
        let Some(Ends { first, last }) = self.ends(index, recording)? else { return Ok(None) };
        reader.go_before(first)?;
        Ok(Some(Last(self.to.map(|_| last))))
    }

    /// As much of a gap as is not before `from`; none if all of it is.
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

    /// As much of a gap as is not after `to`.
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

/// Where the last window of some time is, if that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last(Option<At>);

impl Last {
    /// Whether a place is there, or behind.
    pub fn is_reached(&self, at: At) -> bool {
        self.0.is_some_and(|last| at >= last)
    }
}

/// Steps through them.
#[derive(Debug)]
pub struct Windows {
    replay: Replay,
    when: When,
    last: Last,
    /// The window before was one of them.
    within: bool,
    ended: bool,
    gaps: Vec<Gap>,
}

impl Windows {
    /// Finds the first of them.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read.
    pub fn of(recording: Recording, when: When) -> Result<Windows, RecordingError> {
        let mut reader = Reader::new(recording);
        let last = when.go_to(&mut reader)?;
        Ok(Windows {
            replay: Replay::new(reader),
            when,
            last: last.unwrap_or(Last(None)),
            within: false,
            ended: last.is_none(),
            gaps: Vec::new(),
        })
    }

    /// Goes to the next; `false`: there is none.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read any more.
    pub fn advance(&mut self) -> Result<bool, RecordingError> {
        self.gaps.clear();
        let mut passed = Vec::new();
        while !self.ended {
            match self.replay.forward()? {
                Moved::Gap(gap) => passed.push(gap),
                Moved::End => {
                    self.leave(&mut passed);
                    self.ended = true;
                }
                Moved::Window if self.is_one_of_them() => {
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
                Moved::Window => {
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

    /// What follows a window of theirs is theirs up to their end; what lies elsewhere is not.
    fn leave(&mut self, passed: &mut Vec<Gap>) {
        let (when, within) = (self.when, std::mem::take(&mut self.within));
        let theirs = passed.drain(..).filter(|_| within);
        self.gaps.extend(theirs.filter_map(|gap| when.begin_of(gap)));
    }

    /// The time of theirs that is not recorded between the window before and this one, or after the
    /// last.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Where it is.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }
}
