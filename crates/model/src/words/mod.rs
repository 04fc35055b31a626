//! Figures in words, the same in every view.

pub mod audit;
pub mod books;
pub mod cgroups;
pub mod findings;
pub mod named_sums;
pub mod plural;
pub mod units;
pub mod waits;
