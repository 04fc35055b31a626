//! Windows of a recording, one after the other, for commands that print them.

use super::record::listing::gap_words;
use crate::failure::{complain, Failure};
use crate::options::of_recording::{self, no_window};
use crate::options::time::{now, shown};
use crate::rights::{self, Origin, Role};
use exactop_recording::{Reader, Recording, Replay, ReplayStep, TimeRange};
use std::path::Path;

/// A recording and the requested part of it.
pub struct Opened {
    /// The recording.
    pub recording: Recording,
    /// The requested windows.
    pub when: TimeRange,
}

/// Opens a recording, and gives up the rights that reading it does not need.
///
/// # Errors
/// No file can be read, or the text is not a time.
pub fn opened(path: &Path, time: Option<&str>, role: Role) -> Result<Opened, Failure> {
    of_recording::check(time)?;
    rights::reduce(role, Origin::None, &[path]);
    let recording = Recording::open(path).map_err(Failure::failed)?;
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    let (recording, when) = of_recording::part(time, &now(), recording)?;
    Ok(Opened { recording, when })
}

/// Goes to the time that `-t` gives. Reports on standard error if the recording begins later.
fn seek(replay: &mut Replay, from: i128, now: &jiff::Zoned) -> Result<bool, Failure> {
    let there = replay.seek(from).map_err(Failure::failed)?;
    if let Some(gap) = replay.missed() {
        complain(&gap_words(gap, now));
    }
    if !there {
        return Err(too_late(replay.reader().recording()));
    }
    let begins = replay.span().map(|span| span.wall_t0_ns());
    if let (Some(begins), None) = (begins.filter(|&begins| begins > from), replay.missed()) {
        complain(&format!("the recording begins after that time, at {}", shown(begins, now)));
    }
    Ok(true)
}

/// The error for a time after the end of a recording, which may have no windows at all.
pub fn too_late(recording: &Recording) -> Failure {
    if recording.ends_wall_ns().is_none() {
        return no_window(None);
    }
    Failure::failed(
        "the recording ends before that time: run 'exactop record list' to see the recorded times",
    )
}

/// Windows of a recording, one after the other.
pub struct Windows {
    /// The reader, at the current window.
    pub replay: Replay,
    /// True while the first window is ready and `next` has not been called.
    is_there: bool,
    /// Latest end of a window, ns since the epoch.
    to: Option<i128>,
    /// The time range as typed.
    time: Option<String>,
    /// True after the first window.
    is_any: bool,
    now: jiff::Zoned,
}

impl Windows {
    /// Opens a recording at the window that holds a time, up to the end of a time range if given.
    /// Gives up the rights that reading does not need.
    ///
    /// # Errors
    /// No file can be read, or the recording has no such time.
    pub fn open(path: &Path, time: Option<&str>) -> Result<Windows, Failure> {
        let Opened { recording, when } = opened(path, time, Role::Text)?;
        Windows::from_recording(recording, when, time)
    }

    /// Windows of a recording that is already open.
    ///
    /// # Errors
    /// The recording has no such time.
    pub fn from_recording(
        recording: Recording,
        when: TimeRange,
        time: Option<&str>,
    ) -> Result<Windows, Failure> {
        let mut replay = Replay::new(Reader::new(recording));
        let now = now();
        let is_there = match when.from {
            Some(from) => seek(&mut replay, from, &now)?,
            None => false,
        };
        let time = time.map(str::to_string);
        Ok(Windows { replay, is_there, to: when.to, time, is_any: false, now })
    }

    /// Goes to the next window; `false`: there are no more. Reports gaps on standard error.
    ///
    /// # Errors
    /// A file can no longer be read, or there is no window at all.
    pub fn next(&mut self) -> Result<bool, Failure> {
        let found = self.step()?;
        self.is_any |= found;
        match self.is_any {
            true => Ok(found),
            false => Err(no_window(self.time.as_deref())),
        }
    }

    fn step(&mut self) -> Result<bool, Failure> {
        if std::mem::take(&mut self.is_there) {
            return Ok(self.is_wanted(self.replay.ends_wall_ns()));
        }
        loop {
            match self.replay.forward().map_err(Failure::failed)? {
                ReplayStep::End => return Ok(false),
                ReplayStep::Gap(gap) if !self.is_wanted(Some(gap.from_wall_ns)) => {
                    return Ok(false)
                }
                ReplayStep::Gap(gap) => complain(&gap_words(&gap, &self.now)),
                ReplayStep::Window => return Ok(self.is_wanted(self.replay.ends_wall_ns())),
            }
        }
    }

    /// True if a window with this end belongs to the time range.
    fn is_wanted(&self, ends_wall_ns: Option<i128>) -> bool {
        self.to.zip(ends_wall_ns).is_none_or(|(to, ends)| ends <= to)
    }
}
