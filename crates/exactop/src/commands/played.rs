//! A recording from a time on, and its windows one after the other, for whatever prints them.

use super::record::listing::gap_words;
use crate::failure::{complain, Failure};
use crate::options::time::{now, point, point_in, shown};
use crate::rights::{self, Origin, Role};
use exactop_recording::{Moved, Reader, Recording, Replay};
use std::path::Path;

/// A recording, and from when on it is wanted.
pub struct Opened {
    /// What is recorded.
    pub recording: Recording,
    /// Ns since the epoch; `None`: from its beginning.
    pub from: Option<i128>,
}

/// Opens a recording, and gives up what reading it does not take.
///
/// # Errors
/// There is nothing that can be read, or what is given is no time.
pub fn opened(path: &Path, time: Option<&str>, role: Role) -> Result<Opened, Failure> {
    let now = now();
    if let Some(time) = time {
        point(time, &now).map_err(Failure::usage)?;
    }
    rights::reduce(role, Origin::None, &[path]);
    let recording = Recording::open(path).map_err(Failure::failed)?;
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    let from = time.map(|text| point_in(text, &now, recording.ends_wall_ns()));
    Ok(Opened { recording, from: from.transpose().map_err(Failure::usage)? })
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
    now: jiff::Zoned,
}

impl Windows {
    /// Opens a recording, from the window that holds a time on if one is given, and gives up what
    /// reading it does not take.
    ///
    /// # Errors
    /// There is nothing that can be read, or no such time.
    pub fn open(path: &Path, time: Option<&str>) -> Result<Windows, Failure> {
        let Opened { recording, from } = opened(path, time, Role::Text)?;
        Windows::of(recording, from)
    }

    /// The same of one that is open.
    ///
    /// # Errors
    /// There is no such time.
    pub fn of(recording: Recording, from: Option<i128>) -> Result<Windows, Failure> {
        let mut replay = Replay::new(Reader::new(recording));
        let now = now();
        let is_there = match from {
            Some(from) => seek(&mut replay, from, &now)?,
            None => false,
        };
        Ok(Windows { replay, is_there, now })
    }

    /// Goes to the next window; `false`: there are no more. Gaps are told on standard error.
    ///
    /// # Errors
    /// A file cannot be read any more.
    pub fn next(&mut self) -> Result<bool, Failure> {
        if std::mem::take(&mut self.is_there) {
            return Ok(true);
        }
        loop {
            match self.replay.forward().map_err(Failure::failed)? {
                Moved::End => return Ok(false),
                Moved::Gap(gap) => complain(&gap_words(&gap, &self.now)),
                Moved::Window => return Ok(true),
            }
        }
    }
}
