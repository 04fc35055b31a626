//! Sums over a stretch of a recording, to the nanosecond. It takes a recording and a time, and gives a row for each
//! group, the difference of two stretches, and a report. The command and the fleet may depend on it.
//!
//! [`Stretch::read`] sums windows into [`Accounts`], which come out as the books of each window do, and
//! into a row for each [`Group`]. [`Difference::of`] says where the difference between two stretches
//! went: the changes of all rows and of unnamed time are the change of busy time, and that is what idle,
//! steal and interrupts changed by the other way round, where both had as much CPU time to give.
//!
//! Modules: `stretch`, read by `summing` (windows into `accounts`, rows by `group` with their `names`, who stands
//! `still`, pieces of time in `slots`, `short` windows), `compare` (a difference and what of it is noise), by
//! `measure`; `text`, `json`; `report/` (a page, its pictures, figures).
#![forbid(unsafe_code)]

mod accounts;
mod compare;
mod group;
pub mod json;
mod measure;
mod names;
pub mod report;
mod short;
mod slots;
mod still;
mod stretch;
mod summing;
pub mod text;

pub use accounts::Accounts;
pub use compare::{Change, Difference, Least, Row, Verdict};
pub use exactop_model::owner::By;
pub use group::{unit_of, Group};
pub use measure::{Per, Work};
pub use slots::{CpuUse, Slot, Sum};
pub use stretch::{Stretch, Total};
