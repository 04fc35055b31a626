//! Workloads of known behaviour, for tests, benchmarks, experiments and `exactop load`. It takes a kind of load and
//! gives processes that run it until they are dropped. It uses no other crate; the command, benchmarks and tests
//! may depend on it.
//!
//! A [`workloads`] type starts its load when it is made and ends it when it is dropped; dropping
//! returns when every process of it is gone and reaped. The load runs in processes of its own,
//! started from the program `exactop-workload-worker` (see [`worker`]), so that it can be told from the
//! program that watches it, and so that it ends with that program even if the program is killed. A
//! [`herd`] can also be run in the program itself.
//!
//! Modules: `roles/` are loads in processes of their own, for tests and benchmarks; `compute/` and `herd/` are
//! those of `exactop load`.

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
