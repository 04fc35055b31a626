//! Work with a result: programs that keep CPUs busy with a known job and print the result.
//!
//! They run in the calling program; each checks a flag to stop where its loops allow.

pub mod ackermann;
pub mod children;
pub mod matmul;
pub mod pingpong;
pub mod progress;
pub mod spin;

use std::time::Instant;

fn since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
