//! The workloads: each type is a load that runs from its creation to its drop.
//!
//! `pid()` is the first process of a load, and the number of its process group:
//! [`group_members`](crate::procs::group_members) lists the rest. All processes except the shells
//! have names that begin with `lab-`.

/// Defines a load in separate processes, represented by its worker.
macro_rules! workload {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            worker: Worker,
        }

        impl $name {
            /// First process: the one that works, or the parent of those that do.
            pub fn pid(&self) -> u32 {
                self.worker.pid()
            }

            /// Long-lived processes or threads that work.
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
