//! A recording from a time on, and its windows one after the other, for whatever prints them.

use super::record::listing::gap_words;
use crate::failure::{complain, Failure};
use crate::options::of_recording;
use crate::options::time::{now, shown};
use crate::rights::{self, Origin, Role};
use exactop_recording::{Moved, Reader, Recording, Replay, When};
use std::path::Path;

/// A recording, and the part of it that is wanted.
pub struct Opened {
    /// What is recorded.
    pub recording: Recording,
    /// Which windows of it.
    pub when: When,
}

/// Opens a recording, and gives up what reading it does not take.
///
/// # Errors
/// There is nothing that can be read, or what is given is no time.
pub fn opened(path: &Path, time: Option<&str>, role: Role) -> Result<Opened, Failure> {
    of_recording::check(time)?;
    rights::reduce(role, Origin::None, &[path]);
    let recording = Recording::open(path).map_err(Failure::failed)?;
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    let (recording, when) = of_recording::part(time, &now(), recording)?;
    Ok(Opened { recording, when })
}

/// Goes to a time, and says on standard error if what is shown is another.
fn seek(replay: &mut Replay, from: i128, now: &jiff::Zoned) -> Result<bool, Failure> {
    let there = replay.seek(from).map_err(Failure::failed)?;
    if let Some(gap) = replay.missed() {
        complain(&gap_words(gap, now));
    }
    if !there {
        return Err(too_late());
    }
    let begins = replay.span().map(|span| span.wall_t0_ns());
    if let (Some(begins), None) = (begins.filter(|&begins| begins > from), replay.missed()) {
        complain(&format!("the recording begins after that time, at {}", shown(begins, now)));
    }
    Ok(true)
}

/// A time after the recording's end.
pub fn too_late() -> Failure {
    Failure::failed("the recording ends before that time ('exactop record list')")
}

/// Windows of a recording, one after the other.
pub struct Windows {
    /// Where it is now.
    pub replay: Replay,
    /// It is at the first already.
    is_there: bool,
    /// The last window ends then or before, ns since the epoch.
    to: Option<i128>,
    now: jiff::Zoned,
}

impl Windows {
    /// Opens a recording, from the window that holds a time on and to the end of a stretch if these are given,
    /// and gives up what reading it does not take.
    ///
    /// # Errors
    /// There is nothing that can be read, or no such time.
    pub fn open(path: &Path, time: Option<&str>) -> Result<Windows, Failure> {
        let Opened { recording, when } = opened(path, time, Role::Text)?;
        Windows::of(recording, when)
    }

    /// The same of one that is open.
    ///
    /// # Errors
    /// There is no such time.
    pub fn of(recording: Recording, when: When) -> Result<Windows, Failure> {
        let mut replay = Replay::new(Reader::new(recording));
        let now = now();
        let is_there = match when.from {
            Some(from) => seek(&mut replay, from, &now)?,
            None => false,
        };
        Ok(Windows { replay, is_there, to: when.to, now })
    }

    /// Goes to the next window; `false`: there are no more. Gaps are told on standard error.
    ///
    /// # Errors
    /// A file cannot be read any more.
    pub fn next(&mut self) -> Result<bool, Failure> {
        if std::mem::take(&mut self.is_there) {
            return Ok(self.is_wanted(self.replay.ends_wall_ns()));
        }
        loop {
            match self.replay.forward().map_err(Failure::failed)? {
                Moved::End => return Ok(false),
                Moved::Gap(gap) if !self.is_wanted(Some(gap.from_wall_ns)) => return Ok(false),
                Moved::Gap(gap) => complain(&gap_words(&gap, &self.now)),
                Moved::Window => return Ok(self.is_wanted(self.replay.ends_wall_ns())),
            }
        }
    }

    /// True if what ends then is no later than the stretch.
    fn is_wanted(&self, ends_wall_ns: Option<i128>) -> bool {
        self.to.zip(ends_wall_ns).is_none_or(|(to, ends)| ends <= to)
    }
}
