//! A recording as one page for a browser: to look at, and to send to somebody.

use super::record::cutting::is_no_part;
use super::record::listing::counted;
use super::stretch;
use crate::failure::{complain, Failure};
use crate::options::time::{now, point, point_in};
use crate::output::{self, file::Sink, Signals};
use crate::rights::{self, Origin, Role};
use exactop_page::{html, read, Document, Limits};
use exactop_recording::{Recording, When};
use jiff::Zoned;
use std::path::Path;

/// A stretch that has windows, as the headers of their frames say: what they hold was not read yet.
pub struct Opened {
    recording: Recording,
    again: Recording,
    when: When,
}

/// Opens a recording, for a stretch or for all from a time on.
///
/// # Errors
/// What cannot be read, and where there is nothing.
pub fn open(path: &Path, time: Option<&str>) -> Result<Opened, Failure> {
    let now = now();
    if let Some(time) = time {
        let or_point = |_| point(time, &now).map(drop).map_err(Failure::usage);
        stretch::check(Some(time), &now).or_else(or_point)?;
    }
    let open = || Recording::open(path).map_err(Failure::failed);
    let (recording, again) = (open()?, open()?);
    let when = when(time, &now, &recording)?;
    if !when.is_in(&recording).map_err(Failure::failed)? {
        let why = "no window ends in that time ('exactop record list' says what is there)";
        return Err(Failure::failed(why));
    }
    Ok(Opened { recording, again, when })
}

impl Opened {
    /// Reads it.
    fn document(self) -> Result<Document, Failure> {
        self.recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
        let document = read([self.recording, self.again], self.when, &Limits::default());
        let document = document.map_err(Failure::failed)?;
        if document.windows() == 0 {
            let why = "no window of that time can be read ('exactop record verify')";
            return Err(Failure::failed(why));
        }
        Ok(document)
    }

    /// The page of it.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn page(self) -> Result<String, Failure> {
        page(&self.document()?)
    }
}

fn page(document: &Document) -> Result<String, Failure> {
    let json = document.json().map_err(Failure::failed)?;
    Ok(html(&format!("exactop: {}", document.host()), Some(&json)))
}

/// Writes it.
///
/// # Errors
/// What cannot be read or written, and where there is nothing.
pub fn write(path: &Path, time: Option<&str>, file: &Path) -> Result<(), Failure> {
    let opened = open(path, time)?;
    is_no_part(file, &opened.recording)?;
    let signals = Signals::new()?;
    let mut sink = Sink::open(file, &signals)?;
    rights::reduce(Role::Text, Origin::None, &[path]);
    let document = opened.document()?;
    let page = page(&document)?;
    sink.write(page.as_bytes())?;
    if sink.is_stdout() {
        // The page is all that belongs there.
        return Ok(());
    }
    output::print(format!("{}, {} bytes\n", counted(document.windows(), "window"), page.len()))
}

/// A stretch, or all from a time on.
fn when(time: Option<&str>, now: &Zoned, recording: &Recording) -> Result<When, Failure> {
    stretch::of(time, now, recording).or_else(|_| {
        let from = time.map(|time| point_in(time, now, recording.ends_wall_ns()));
        Ok(When { from: from.transpose().map_err(Failure::usage)?, to: None })
    })
}
