//! Which stretch of a recording a command is about, as its option says it.

use crate::failure::Failure;
use crate::options::time::{piece, point, point_in};
use exactop_recording::{Recording, When};
use jiff::Zoned;

/// What `-t` says of a recording; nothing is all of it.
///
/// # Errors
/// It is no stretch of time.
pub fn of(text: Option<&str>, now: &Zoned, recording: &Recording) -> Result<When, Failure> {
    read(text, now, recording.ends_wall_ns())
}

/// Whether it is a stretch of time at all, before anything is opened or made.
///
/// # Errors
/// It is not.
pub fn check(text: Option<&str>, now: &Zoned) -> Result<(), Failure> {
    read(text, now, None).map(drop)
}

fn read(text: Option<&str>, now: &Zoned, end_wall_ns: Option<i128>) -> Result<When, Failure> {
    match text {
        Some(text) => piece(text, now, end_wall_ns).map_err(Failure::usage),
        None => Ok(When::default()),
    }
}

/// What `--since` says of a recording: a time, or `boot`, which leaves what is of the last one.
///
/// # Errors
/// It is no time.
pub fn since(text: &str, now: &Zoned, recording: Recording) -> Result<(Recording, When), Failure> {
    if text == "boot" {
        return Ok((recording.of_last_boot(), When::default()));
    }
    let from = point_in(text, now, recording.ends_wall_ns()).map_err(Failure::usage)?;
    Ok((recording, When { from: Some(from), to: None }))
}

/// Whether it is a time at all.
///
/// # Errors
/// It is not.
pub fn check_since(text: &str, now: &Zoned) -> Result<(), Failure> {
    match text {
        "boot" => Ok(()),
        text => point(text, now).map(drop).map_err(Failure::usage),
    }
}
