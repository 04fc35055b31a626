//! What exactop counts and how: accounts, snapshots, windows, frames and columns.
//!
//! Everything here is pure: no I/O, no clock, no unsafe code. A source (another crate) fills a
//! [`Snapshot`]; the [`Book`] subtracts the one before and yields a [`Window`]; the window is
//! arranged into a [`Frame`] of rows; the [`columns`] registry turns rows into values; views
//! print values. The way is one way: nothing here knows who reads it or where it came from.
#![forbid(unsafe_code)]

pub mod books_text;
pub mod call_nr;
pub mod calls;
pub mod cgroups;
pub mod cgroups_text;
pub mod columns;
pub mod counters;
pub mod errors;
pub mod feed;
pub mod filter;
pub mod format;
pub mod frame;
pub mod key;
pub mod limits;
pub mod needs;
pub mod provenance;
pub mod row;
pub mod run;
pub mod snapshot;
pub mod sort;
pub mod statistics;
pub mod switches;
pub mod system;
pub mod text;
pub mod value;
pub mod waits;
pub mod waits_text;
pub mod wakes;
pub mod who;
pub mod window;

pub use call_nr::CallNr;
pub use columns::Column;
pub use counters::{Counter, Counters};
pub use errors::{ErrorCounts, ErrorKind};
pub use feed::{Ask, Feed};
pub use frame::{Books, CpuRow, Detail, Doing, Frame, FrameOptions, Row, RowKind, Still};
pub use key::{AccountId, Comm, Ident, TaskKey};
pub use needs::Needs;
pub use provenance::{Provenance, Quality, SourceKind};
pub use snapshot::{CpuSample, ExitSample, MicroState, Snapshot, TaskSample};
pub use value::{Datum, Missing, Value};
pub use who::Who;
pub use window::{Book, Window};
