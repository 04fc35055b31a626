//! Figures as text, the same in every view.

pub mod audit;
pub mod blame;
pub mod books;
mod cells;
pub mod cgroups;
pub mod degraded;
pub mod findings;
pub mod holdings;
pub mod losses;
pub mod moves;
pub mod named_sums;
pub mod order;
mod party;
pub mod plural;
pub mod syscalls;
pub mod units;
pub mod waits;
