//! Workloads of known behaviour, for tests and experiments.
//!
//! A [`workloads`] type starts its load when it is made and ends it when it is dropped; dropping
//! returns when every process of it is gone and reaped. The load runs in processes of its own,
//! started from the program `exactop-workload-worker` (see [`worker`]), so that it can be told from the
//! program that watches it, and so that it ends with that program even if the program is killed. A
//! [`herd`] can also be run in the program itself.

mod children;
pub mod compute;
mod counters;
pub mod error;
pub mod herd;
pub mod procs;
pub mod roles;
mod work;
pub mod worker;
pub mod workloads;

pub use error::Error;
