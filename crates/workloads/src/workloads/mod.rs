//! The workloads: each type is a load that runs from its making to its dropping.
//!
//! `pid()` is the first process of a load, and the number of its process group:
//! [`group_members`](crate::procs::group_members) lists the rest. All of them have names that
//! begin with `lab-`, but for the shells.

mod auto_reaped;
mod crowd;
mod exec_threads;
mod exiting_threads;
mod fork_storm;
mod herd;
mod pipe_pingpong;
mod signal_storm;
mod sleepers;
mod spin;
mod stop_continue;

pub use auto_reaped::{AutoReaped, AutoReapedTotals};
pub use crowd::{Crowd, CrowdOf};
pub use exec_threads::ExecThreads;
pub use exiting_threads::{ExitingThreads, ExitingThreadsTotals};
pub use fork_storm::ForkStorm;
pub use herd::Herd;
pub use pipe_pingpong::PipePingPong;
pub use signal_storm::{SignalCounts, SignalStorm};
pub use sleepers::Sleepers;
pub use spin::{Spin, SpinThread};
pub use stop_continue::StopContinue;
