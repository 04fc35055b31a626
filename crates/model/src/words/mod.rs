//! Figures in words, the same in every view.

pub mod books;
pub mod cgroups;
pub mod units;
pub mod waits;
