//! The workloads: each type is a load that runs from its making to its dropping.
//!
//! `pid()` is the first process of a load, and the number of its process group:
//! [`group_members`](crate::procs::group_members) lists the rest. All of them have names that
//! begin with `lab-`, but for the shells.

/// A load in processes of its own, by the worker that stands for it.
macro_rules! workload {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            worker: Worker,
        }

        impl $name {
            /// Its first process: the one that works, or the parent of those that do.
            pub fn pid(&self) -> u32 {
                self.worker.pid()
            }

            /// Those who work, processes or threads, if they stay.
            pub fn pids(&self) -> Vec<u32> {
                self.worker.ids().collect()
            }
        }
    };
}

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
mod tickers;

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
pub use tickers::Tickers;
