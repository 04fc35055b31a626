//! The data model of exactop: accounts, snapshots, windows, frames and columns, without I/O. It
//! takes snapshots from a source and gives windows, frames of rows, and their values. It uses no
//! other crate, and every crate may depend on it.
//!
//! All code here is pure: no I/O, no clock, no unsafe code. A source (another crate) fills a
//! [`Snapshot`]. The [`Book`] subtracts the snapshot before and yields a [`Window`]. A [`Frame`]
//! arranges the window into rows. The [`columns`] registry turns rows into values, and views print
//! values. Data flows in this direction only: the code here does not know its source or its
//! readers.
//!
//! Modules:
//! - `ledger/`: keys, counters, snapshots and windows; `samples.rs` has empty samples for made-up
//!   snapshots.
//! - `blame/`: who had the CPU while tasks waited for it.
//! - `frame/`, `columns/`: rows, columns, filters and sorting.
//! - `findings/`: conclusions from a window.
//! - `owner/`: the owner of each part of a window's time. `by` has the keys, `moves` settles moves
//!   between groups, `charge` gives all time to owners, `labels` makes sums for metrics and tables.
//! - `on_demand/`: figures that are counted only while a view shows them.
//! - `words/`: figures as text.
//! - `palette.rs`: the colours of states and accounts.
//! - `text/`: escaping of hostile text.
//! - `feed/`: the interface to views, and layers over a feed.
#![forbid(unsafe_code)]

pub mod blame;
pub mod cgroups;
pub mod columns;
pub mod feed;
pub mod findings;
pub mod frame;
pub mod ledger;
pub mod on_demand;
pub mod owner;
pub mod palette;
pub mod run;
pub mod text;
pub mod words;

pub use blame::rows::Blamed;
pub use blame::Blame;
pub use columns::{Column, ColumnId};
pub use feed::needs::Needs;
pub use feed::tap::Tap;
pub use feed::{Ask, Feed};
pub use frame::value::{Datum, Missing, Value};
pub use frame::{Activity, Books, CpuRow, Detail, Frame, FrameOptions, IdleRows, Row, RowKind};
pub use ledger::book::Book;
pub use ledger::counters::{Counter, Counters};
pub use ledger::errors::{ErrorCounts, ErrorKind};
pub use ledger::key::{AccountId, Comm, Ident, TaskKey, TaskRef};
pub use ledger::provenance::{Degraded, Provenance, Quality, SourceKind};
pub use ledger::snapshot::{CpuSample, ExitSample, MicroState, Outside, Snapshot, TaskSample};
pub use ledger::window::Window;
pub use on_demand::SyscallNr;
