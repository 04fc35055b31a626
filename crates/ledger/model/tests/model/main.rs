//! Tests of frames, findings and totals made from snapshots, and of whole histories of a machine.

mod degraded;
mod feed;
mod findings;
mod fuzz;
mod histories;
mod named_sums;
mod no_leader;
mod order;
mod partition;
mod process_names;
mod state;
