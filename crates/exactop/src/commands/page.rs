//! Writes a recording as one page for a browser, to look at and to send.

use super::record::cutting::is_no_part;
use super::record::listing::counted;
use crate::failure::{complain, Failure};
use crate::options::of_recording;
use crate::options::time::now;
use crate::output::{self, file::Sink, Signals};
use crate::rights::{self, Origin, Role};
use exactop_recording::{Recording, TimeRange};
use exactop_web::page::{html, read, Document, Limits};
use std::path::Path;

/// A time range that has windows. Only the headers of its frames have been read.
pub struct Opened {
    recording: Recording,
    again: Recording,
    when: TimeRange,
}

/// Opens a recording, for a time range or from a time on.
///
/// # Errors
/// A file cannot be read, or the time range holds no window.
pub fn open(path: &Path, time: Option<&str>) -> Result<Opened, Failure> {
    of_recording::check(time)?;
    let now = now();
    let open = || {
        let recording = Recording::open(path).map_err(Failure::failed)?;
        of_recording::part(time, &now, recording)
    };
    let ((recording, when), (again, _)) = (open()?, open()?);
    if !when.is_in(&recording).map_err(Failure::failed)? {
        return Err(of_recording::no_window(time));
    }
    Ok(Opened { recording, again, when })
}

impl Opened {
    /// Reads the windows.
    fn document(self) -> Result<Document, Failure> {
        self.recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
        let document = read([self.recording, self.again], self.when, &Limits::default());
        let document = document.map_err(Failure::failed)?;
        if document.windows() == 0 {
            let why = "cannot read any window of that time: run 'exactop record verify' to find the damage";
            return Err(Failure::failed(why));
        }
        Ok(document)
    }

    /// The page as HTML.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn page(self) -> Result<String, Failure> {
        page(&self.document()?)
    }
}

fn page(document: &Document) -> Result<String, Failure> {
    let json = document.json().map_err(Failure::failed)?;
    Ok(html(&format!("exactop: {}", document.host()), Some(&json)))
}

/// Writes the page to a file.
///
/// # Errors
/// A file cannot be read or written, or the time range holds no window.
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
        // The page is the only output of this command.
        return Ok(());
    }
    output::print(format!("{}, {} bytes\n", counted(document.windows(), "window"), page.len()))
}
