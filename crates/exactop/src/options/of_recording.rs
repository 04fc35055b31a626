//! Options for commands that read a recording: its place, and the part to read.

use super::time::{now, when};
use crate::failure::Failure;
use clap::Args;
use exactop_recording::{Recording, TimeRange};
use jiff::Zoned;
use std::path::PathBuf;

/// The word for the time since the last boot.
const BOOT: &str = "boot";

/// Place of a recording.
#[derive(Clone, Debug, Args)]
pub struct PlaceArgs {
    /// Read this recording, a directory or one of its files [default: the directory of 'exactop
    /// record']
    #[arg(value_name = "DIR|FILE")]
    path: Option<PathBuf>,
    /// Read this recording: the same as the argument
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "path")]
    dir: Option<PathBuf>,
}

impl PlaceArgs {
    /// The directory or file.
    ///
    /// # Errors
    /// No place was given, and there is no default.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        directory(self.dir.as_ref().or(self.path.as_ref()))
    }
}

/// The directory of recordings: the given one, else this user's default.
///
/// # Errors
/// No directory was given, and the environment names no home.
pub fn directory(given: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    if rustix::process::geteuid().is_root() {
        return Ok("/var/log/exactop".into());
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    let none = || Failure::usage("neither XDG_STATE_HOME nor HOME is set: give --dir");
    Ok(base.ok_or_else(none)?.join("exactop"))
}

/// Part of a recording.
#[derive(Clone, Debug, Args)]
pub struct TimeArgs {
    /// Read from this time on: '14:03', 'yesterday 14:00', '2h ago', RFC 3339, or boot; with
    /// +LENGTH a time range: '03:05+15m' [default: all of it]
    #[arg(short, long, alias = "since", value_name = "FROM[+LENGTH]")]
    pub time: Option<String>,
}

/// Options for commands that print windows, to take them from a recording.
#[derive(Clone, Debug, Args)]
pub struct OfRecording {
    /// Print the windows of this recording (a directory or a file), at their recorded length
    #[arg(long, value_name = "DIR|FILE")]
    pub replay: Option<PathBuf>,
    /// With --replay: print from the window that holds this time on: '14:03', 'yesterday 14:00',
    /// '2h ago', RFC 3339, or boot; with +LENGTH a time range: '03:05+15m'
    #[arg(short, long, alias = "at", value_name = "FROM[+LENGTH]")]
    pub time: Option<String>,
}

/// The part that `-t` names: all without it; `boot`: since the last boot.
///
/// # Errors
/// The text is not a time.
pub fn part(
    text: Option<&str>,
    now: &Zoned,
    recording: Recording,
) -> Result<(Recording, TimeRange), Failure> {
    match text {
        None => Ok((recording, TimeRange::default())),
        Some(BOOT) => Ok((recording.of_last_boot(), TimeRange::default())),
        Some(text) => {
            let when = when(text, now, recording.ends_wall_ns()).map_err(Failure::usage)?;
            Ok((recording, when))
        }
    }
}

/// The error for a length of windows, in seconds, beside a recording.
pub fn no_interval(interval: f64) -> Failure {
    no_measuring(&["the interval", &interval.to_string()].join(" "))
}

/// The error for an option of measuring beside a recording.
pub fn no_measuring(option: &str) -> Failure {
    Failure::usage(format!(
        "{option} conflicts with a replay, which shows recorded windows: leave it out"
    ))
}

/// The error for a time range without windows.
pub fn no_window(time: Option<&str>) -> Failure {
    let found = match time {
        Some(time) => format!("no window ends in '{time}'"),
        None => "no window in the recording".into(),
    };
    Failure::failed(format!("{found}: run 'exactop record list' to see the recorded times"))
}

/// Checks the time before anything is opened or made.
///
/// # Errors
/// The text is not a time.
pub fn check(text: Option<&str>) -> Result<(), Failure> {
    match text {
        None | Some(BOOT) => Ok(()),
        Some(text) => when(text, &now(), None).map(drop).map_err(Failure::usage),
    }
}
