//! The words and sums of exactop: accounts, snapshots, windows, frames and columns, without I/O. It takes snapshots
//! from a source and gives windows, frames of rows, and their values. It uses no other crate, and every crate may
//! depend on it.
//!
//! Everything here is pure: no I/O, no clock, no unsafe code. A source (another crate) fills a
//! [`Snapshot`]; the [`Book`] subtracts the one before and yields a [`Window`]; the window is
//! arranged into a [`Frame`] of rows; the [`columns`] registry turns rows into values; views
//! print values. The way is one way: nothing here knows who reads it or where it came from.
//!
//! Modules: keys, counters, snapshot, window, frame, rows, columns, filter, sort; `findings` (what a window has to
//! say by itself); `owner/` whose a window's time is (`by` the words, `moves` between groups settled, `charge` all
//! time to its owners, `labels` for metrics and tables); `on_demand/` what is counted while someone looks; `words/`
//! figures in words; `escape.rs` hostile text; `samples.rs` a task, a CPU, a machine to which nothing has happened,
//! for made-up snapshots; `feed/` frames for a view, and layers over them (a method that a layer does not write goes to
//! the feed below).
#![forbid(unsafe_code)]

pub mod cgroups;
pub mod columns;
pub mod feed;
pub mod findings;
pub mod frame;
pub mod ledger;
pub mod on_demand;
pub mod owner;
pub mod run;
pub mod text;
pub mod words;

pub use columns::{Column, ColumnId};
pub use feed::needs::Needs;
pub use feed::tap::Tap;
pub use feed::{Ask, Feed};
pub use frame::value::{Datum, Missing, Value};
pub use frame::{Books, CpuRow, Detail, Doing, Frame, FrameOptions, Row, RowKind, Still};
pub use ledger::book::Book;
pub use ledger::counters::{Counter, Counters};
pub use ledger::errors::{ErrorCounts, ErrorKind};
pub use ledger::key::{AccountId, Comm, Ident, TaskKey, Who};
pub use ledger::provenance::{Provenance, Quality, SourceKind};
pub use ledger::snapshot::{CpuSample, ExitSample, MicroState, Outside, Snapshot, TaskSample};
pub use ledger::window::Window;
pub use on_demand::SyscallNr;
