//! Workloads of known behaviour, for tests, benchmarks, experiments and `exactop load`. It takes a
//! kind of load and gives processes that run it until they are dropped. It uses no other crate; the
//! command, benchmarks and tests may depend on it.
//!
//! A [`workloads`] type starts its load when it is created and ends it on drop. The drop returns
//! when all its processes have ended and are reaped. The load runs in separate processes of the
//! program `exactop-workload-worker` (see [`worker`]). So exactop shows it apart from the measuring
//! program. The load ends with that program, even if it is killed. A [`herd`] can also run in the
//! program itself.
//!
//! Modules: `roles` are loads in separate processes, for tests and benchmarks; `compute` and `herd`
//! are those of `exactop load`.

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
