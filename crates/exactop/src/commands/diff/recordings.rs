//! Compares two time ranges of recordings, of one machine or of two.

use super::how::How;
use crate::failure::{complain, Failure};
use crate::options::of_recording;
use crate::options::time::shown;
use crate::output;
use exactop_recording::{Recording, TimeRange};
use exactop_sums::{json, text, Difference, Stretch};
use jiff::Zoned;
use std::path::Path;

/// Compares two recordings, or two time ranges of one.
///
/// # Errors
/// A file cannot be read, or the time range holds no window.
pub fn run(how: &How, first: &Path, second: &Path, now: &Zoned) -> Result<(), Failure> {
    let read = |path, time: &Option<String>, name| {
        let (recording, when) = of_recording::part(time.as_deref(), now, open(path)?)?;
        side(recording, when, name, how)
    };
    let (a, b) = (read(first, &how.a, "A")?, read(second, &how.b, "B")?);
    let difference = Difference::from_least(a, b, how.per, how.least());
    let clock = |ns| shown(ns, now);
    output::print(match how.json {
        true => json::difference(&difference),
        false => text::difference(&difference, how.most(), &clock),
    })
}

fn side(recording: Recording, when: TimeRange, name: &str, how: &How) -> Result<Stretch, Failure> {
    let path = recording.path().to_path_buf();
    let stretch = Stretch::read(recording, when, how.by, how.per.work());
    let stretch = stretch.map_err(Failure::failed)?;
    match stretch.windows {
        0 => Err(Failure::failed(format!(
            "no window of {} ends in time range {name}: run 'exactop record list' to see the recorded times",
            path.display()
        ))),
        _ => Ok(stretch),
    }
}

/// Opens a recording, and reports its unreadable files on standard error.
///
/// # Errors
/// No file of the recording can be read.
pub fn open(path: &Path) -> Result<Recording, Failure> {
    let recording = Recording::open(path).map_err(Failure::failed)?;
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    Ok(recording)
}
