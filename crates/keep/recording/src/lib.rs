//! Recordings: snapshots in an append-only log of self-describing files. The crate writes the
//! snapshots of a session and reads them as windows, gaps and frames. Every crate that keeps or
//! reads recorded time may depend on it.
//!
//! A recording is a directory of files, oldest first. A file is a header (JSON: the machine, the
//! version, the name and type of every table and column) and frames. One write(2) writes one frame.
//! A frame has its length at both ends and checksums of its header and of its payload. Frames are
//! keyframes (all tasks at one instant), windows (the changes), details (names, command lines and
//! memory of rows), gaps and a seal. Later versions read the files of this one. A reader skips
//! unknown columns; the figures of absent columns are unknown. docs/reference/recording.md
//! describes every byte.
//!
//! Modules:
//!
//! - `frame`: bytes with checksums; `file` and `segment` write and read one file of them.
//! - `schema` and `values`: tables of numbers, delta encoded; `packed`: a remembered row.
//! - `rows`: the model as rows, and back; `encode` and `decode`: snapshots as payloads, and back.
//! - `recorder` on `disk`: the `Tap` of a session; `retention` removes files above the limits.
//! - `kept`: the last windows of a live view, in memory; `remembering`: the feed that goes back to
//!   them.
//! - `feed_recorder`: records a feed while a view shows it.
//! - `parts`, `reader`: windows and gaps in order; `reader/gaps` and `lost` report missing time.
//! - `replay`: a recording as a `Feed`; `playback`: as a `Timeline`; `index` and `changes` find
//!   windows and spikes for it.
//! - `windows`: the windows of a time; `cut`: a file of them, with `anonymous` names; `verify`.
//!
//! A session passes all measurements to a [`Recorder`], which writes them. [`Recording`] opens a
//! file or a directory, and [`Reader`] steps through its windows and gaps. [`Replay`] is a feed of
//! frames, like a source. [`Playback`] goes back and forward:
//!
//! ```no_run
//! use exactop_model::{Ask, Feed};
//! use exactop_recording::{Reader, Recording, Replay, ReplayStep};
//!
//! let recording = Recording::open("/var/log/exactop".as_ref())?;
//! let mut replay = Replay::new(Reader::new(recording));
//! while replay.forward()? != ReplayStep::End {
//!     if let Some(frame) = replay.same_frame(&Ask::default()) {
//!         println!("{} ns of CPU time, {} idle", frame.books.total_ns, frame.books.idle_ns);
//!     }
//! }
//! # Ok::<(), exactop_recording::RecordingError>(())
//! ```
#![forbid(unsafe_code)]

mod about;
mod anonymous;
mod bounds;
mod changes;
mod clocks;
mod cut;
mod decode;
mod disk;
mod encode;
mod error;
mod feed_recorder;
mod file;
mod frame;
mod gap;
mod groups;
mod index;
mod kept;
mod lost;
mod options;
mod packed;
mod parts;
mod playback;
mod reader;
mod recorder;
mod remembering;
mod replay;
mod retention;
mod rows;
mod schema;
mod segment;
mod state;
pub mod stream;
mod strings;
#[cfg(test)]
mod tests;
mod values;
mod verify;
mod windows;

pub use about::{Machine, RecordingInfo, FORMAT};
pub use clocks::Clocks;
pub use cut::{cut, Cut, CutError};
pub use disk::SENDERS;
pub use error::{FrameError, RecordingError};
pub use feed_recorder::FeedRecorder;
pub use frame::{FrameHeader, FrameKind, Span};
pub use gap::{Gap, GapReason};
pub use kept::RecentWindows;
pub use options::{Notice, Options, Sync};
pub use parts::{Part, Recording};
pub use playback::Playback;
pub use reader::{Reader, Recorded, Step};
pub use recorder::Recorder;
pub use remembering::Remembering;
pub use replay::{Replay, ReplayStep};
pub use schema::{tables, Table, Type};
pub use segment::Segment;
pub use verify::{verify, FileReport, Report};
pub use windows::{TimeRange, Windows};
