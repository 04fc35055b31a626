//! Stretches of a recording, summed to the nanosecond: which group used how much, and what that
//! leaves idle. Two of them can be compared, one can be reported.
//!
//! [`Stretch::read`] sums windows into [`Accounts`], which come out as the books of each window do, and
//! into a row for each [`Group`]. [`Difference::of`] says where the difference between two stretches
//! went: the changes of all rows and of unnamed time are the change of busy time, and that is what idle,
//! steal and interrupts changed by the other way round, where both had as much CPU time to give.
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
