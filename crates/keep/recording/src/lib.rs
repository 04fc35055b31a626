//! Recordings: snapshots in an append-only log of files that explain themselves. It takes the snapshots of a
//! session and gives them back as windows, gaps and frames. Every crate that keeps or reads recorded time may
//! depend on it.
//!
//! A recording is a directory of files, oldest first. A file is a header (JSON: the machine, the
//! version, every table and column by name and type) and frames, each written at once, with its
//! length at both ends and checksums of its header and of what it holds: keyframes (everyone at one
//! instant), windows (what changed), details (names, command lines and memory that were looked at),
//! gaps and a seal. Later versions read what this one writes; a column that a reader does not know
//! is passed by, one that a file does not have is missing. docs/reference/recording.md describes every byte.
//!
//! Modules: `frame` (bytes with checksums), `schema` and `values` (tables of numbers told as differences; `packed`:
//! what is remembered of a row), `rows/` (the model as rows, and back), `encode`/`decode`, `recorder` on `disk` (a
//! session's `Tap`: files and gaps), `retention` (what is kept, and how long), `kept` (a live view's last windows,
//! in memory; `remembering`: the layer that goes back to them), `feed_recorder` (the layer of a feed that is recorded
//! while it is shown), `parts`, `reader` (windows and gaps, by time; `reader/told` and `lost`: what is said of time without
//! windows), `replay` (a `Feed`), `index` and `changes` (where windows are, and which are worth stopping at),
//! `playback` (to and fro in time: a `Timeline`), `windows` (those of a time), `cut` (one file of them,
//! `anonymous`), `verify`.
//!
//! [`Recorder`] is told by a session of everything it measures and writes it. [`Recording`] opens a
//! file or a directory, [`Reader`] steps through its windows and gaps, and [`Replay`] runs them
//! through a book and is a feed of frames, as a source is; [`Playback`] goes to and fro in them:
//!
//! ```no_run
//! use exactop_model::{Ask, Feed};
//! use exactop_recording::{Moved, Reader, Recording, Replay};
//!
//! let recording = Recording::open("/var/log/exactop".as_ref())?;
//! let mut replay = Replay::new(Reader::new(recording));
//! while replay.forward()? != Moved::End {
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

pub use about::{About, Machine, FORMAT};
pub use clocks::Clocks;
pub use cut::{cut, Cut, CutError};
pub use disk::SENDERS;
pub use error::{Bad, RecordingError};
pub use feed_recorder::FeedRecorder;
pub use frame::{FrameHeader, Kind, Span};
pub use gap::{Gap, Why};
pub use kept::Kept;
pub use options::{Notice, Options, Sync};
pub use parts::{Part, Recording};
pub use playback::Playback;
pub use reader::{Reader, Recorded, Step};
pub use recorder::Recorder;
pub use remembering::Remembering;
pub use replay::{Moved, Replay};
pub use schema::{tables, Table, Type};
pub use segment::Segment;
pub use verify::{verify, FileReport, Report};
pub use windows::{When, Windows};
