//! Sums over a stretch of a recording, to the nanosecond. It takes a recording and a time, and
//! gives a row for each group, the difference of two stretches, and a report. The command and the
//! fleet may depend on it.
//!
//! [`Stretch::read`] sums windows into [`Accounts`], which balance like the books of each window,
//! and into a row for each [`Group`]. [`Difference::between`] explains the difference between two
//! stretches. The changes of all rows and of unnamed time sum up to the change of busy time. If
//! both stretches have the same capacity, idle, steal and interrupts changed by the opposite
//! amount.
//!
//! Modules:
//!
//! - `stretch`, read by `summing`: windows into `accounts`; rows by `group` with their `names`;
//!   idle tasks in `still`; pieces of time in `slots`; `short` windows.
//! - `pairs`: who kept whom off the CPU.
//! - `compare`: a difference and its noise, by `measure`; `text` and `json` print it.
//! - `report`: a page, its pictures and figures.
#![forbid(unsafe_code)]

mod accounts;
mod compare;
mod group;
pub mod json;
mod measure;
mod names;
mod pairs;
pub mod report;
mod short;
mod slots;
mod still;
mod stretch;
mod summing;
pub mod text;

pub use accounts::Accounts;
pub use compare::{Change, Difference, Least, Row, Verdict};
pub use exactop_model::owner::Grouping;
pub use group::{unit_of, Group};
pub use measure::{Per, Work};
pub use pairs::{PairChange, Pairs};
pub use slots::{CpuUse, Slot, Sum};
pub use stretch::{Stretch, Total};
