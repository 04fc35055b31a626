//! What exactop counts and how: accounts, snapshots, windows, frames and columns.
//!
//! Everything here is pure: no I/O, no clock, no unsafe code. A source (another crate) fills a
//! [`Snapshot`]; the [`Book`] subtracts the one before and yields a [`Window`]; the window is
//! arranged into a [`Frame`] of rows; the [`columns`] registry turns rows into values; views
//! print values. The way is one way: nothing here knows who reads it or where it came from.
#![forbid(unsafe_code)]

pub mod audit;
mod audited;
pub mod belonging;
pub mod book;
mod books;
pub mod cgroups;
pub mod columns;
pub mod counters;
pub mod did_you_mean;
mod difference;
pub mod errors;
pub mod escape;
pub mod exactness;
pub mod feed;
pub mod filter;
pub mod findings;
pub mod frame;
mod group_names;
pub mod holdings;
pub mod joined;
pub mod key;
pub mod limits;
pub mod merged;
pub mod named;
pub mod named_sums;
pub mod needs;
pub mod on_demand;
pub mod owner;
pub mod provenance;
pub mod row;
pub mod run;
pub mod samples;
pub mod snapshot;
pub mod sort;
pub mod statistics;
pub mod system;
pub mod tap;
pub mod timeline;
pub mod value;
pub mod window;
pub mod words;
pub mod workers;

pub use book::Book;
pub use columns::{Column, ColumnId};
pub use counters::{Counter, Counters};
pub use errors::{ErrorCounts, ErrorKind};
pub use feed::{Ask, Feed};
pub use frame::{Books, CpuRow, Detail, Doing, Frame, FrameOptions, Row, RowKind, Still};
pub use key::{AccountId, Comm, Ident, TaskKey, Who};
pub use needs::Needs;
pub use on_demand::SyscallNr;
pub use provenance::{Provenance, Quality, SourceKind};
pub use snapshot::{CpuSample, ExitSample, MicroState, Outside, Snapshot, TaskSample};
pub use tap::Tap;
pub use value::{Datum, Missing, Value};
pub use window::Window;
