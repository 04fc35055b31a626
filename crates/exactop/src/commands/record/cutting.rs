//! Writes a part of a recording as one file, to be sent.

use super::listing::counted;
use crate::failure::{complain, Failure};
use crate::options::of_recording::{self, PlaceArgs};
use crate::options::time::{now, shown};
use crate::output::{self, file::Sink, Signals};
use crate::rights::{self, Origin, Role};
use clap::Args;
use exactop_recording::Recording;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Options of `exactop record cut`.
#[derive(Debug, Args)]
pub struct CutArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Cut from this time on: '14:03', 'yesterday 14:00', '2h ago', RFC 3339, or boot; with +LENGTH
    /// a time range: '03:05+15m'
    #[arg(short, long, value_name = "FROM[+LENGTH]")]
    time: String,
    /// Write to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the names of host, commands, users and control groups, and leave out command lines
    #[arg(long)]
    anonymous: bool,
}

/// Writes the output, and keeps the reason if that fails.
struct CutSink<'a> {
    sink: Sink<'a>,
    failure: Option<Failure>,
}

impl Write for CutSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.sink.write(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::Error::other("cannot write the output"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts a part out of a recording.
///
/// # Errors
/// A file cannot be read or written, or the time range holds no window.
pub fn cut(typed: &CutArgs) -> Result<(), Failure> {
    let path = typed.place.path()?;
    let now = now();
    of_recording::check(Some(&typed.time))?;
    let recording = Recording::open(&path).map_err(Failure::failed)?;
    let (recording, when) = of_recording::part(Some(&typed.time), &now, recording)?;
    // This check reads only headers, and comes before the output file exists.
    if !when.is_in(&recording).map_err(Failure::failed)? {
        return Err(of_recording::no_window(Some(&typed.time)));
    }
    is_no_part(&typed.output, &recording)?;
    let signals = Signals::new()?;
    let sink = Sink::open(&typed.output, &signals)?;
    rights::reduce(Role::Text, Origin::None, &[&path]);
    recording.unreadable().iter().for_each(|error| complain(&error.to_string()));
    let mut out = CutSink { sink, failure: None };
    let cut = exactop_recording::cut(recording, when, typed.anonymous, &mut out);
    let cut = cut.map_err(|error| out.failure.take().unwrap_or_else(|| Failure::failed(error)))?;
    if let Some(boot) = cut.boot {
        complain(&format!(
            "the machine rebooted before {}: later windows are left out, cut them separately",
            shown(boot, &now)
        ));
    }
    let (windows, gaps) = (counted(cut.windows, "window"), counted(cut.gaps, "gap"));
    output::print(format!("{windows}, {gaps}, {} bytes\n", cut.bytes))
}

/// Checks that the output does not replace a file of the recording.
///
/// # Errors
/// The output is a file of the recording.
pub fn is_no_part(output: &Path, recording: &Recording) -> Result<(), Failure> {
    let Ok(there) = std::fs::metadata(output) else { return Ok(()) };
    if !recording.has_file(&there).map_err(Failure::failed)? {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is a part of the recording that is read: give another name",
        output.display()
    )))
}
