//! A recording as one page for a browser: to look at, and to send to somebody.

use super::record::cutting::is_no_part;
use super::record::listing::counted;
use super::stretch;
use crate::failure::{complain, Failure};
use crate::options::time::{now, point, point_in};
use crate::output::{self, file::Sink, Signals};
use crate::rights::{self, Origin, Role};
use exactop_page::{html, read, Limits};
use exactop_recording::{Recording, When};
use jiff::Zoned;
use std::path::Path;

/// Writes it.
///
/// # Errors
/// What cannot be read or written, and where there is nothing.
pub fn write(path: &Path, time: Option<&str>, file: &Path) -> Result<(), Failure> {
    let now = now();
    if let Some(time) = time {
        stretch::check(Some(time), &now)
            .or_else(|_| point(time, &now).map(drop).map_err(Failure::usage))?;
    }
    let open = || Recording::open(path).map_err(Failure::failed);
    let (recording, again) = (open()?, open()?);
    let when = when(time, &now, &recording)?;
    if !when.is_in(&recording).map_err(Failure::failed)? {
        let why = "no window ends in that time ('exactop record list' says what is there)";
        return Err(Failure::failed(why));
    }
    is_no_part(file, &recording)?;
    let signals = Signals::new()?;
    let mut sink = Sink::open(file, &signals)?;
    rights::reduce(Role::Text, Origin::None, &[path]);
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    let document = read([recording, again], when, &Limits::default()).map_err(Failure::failed)?;
    if document.windows() == 0 {
        return Err(Failure::failed(
            "no window of that time can be read ('exactop record verify')",
        ));
    }
    let json = document.json().map_err(Failure::failed)?;
    let page = html(&format!("exactop: {}", document.host()), Some(&json));
    sink.write(page.as_bytes())?;
    let windows = counted(document.windows(), "window");
    output::print(format!("{windows}, {} bytes\n", page.len()))
}

/// A stretch, or all from a time on.
fn when(time: Option<&str>, now: &Zoned, recording: &Recording) -> Result<When, Failure> {
    stretch::of(time, now, recording).or_else(|_| {
        let from = time.map(|time| point_in(time, now, recording.ends_wall_ns()));
        Ok(When { from: from.transpose().map_err(Failure::usage)?, to: None })
    })
}
