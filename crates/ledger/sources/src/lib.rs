//! Sources of figures: the kernel's events, its counters and its files. It takes what a view needs
//! and gives snapshots, details of rows, and a session that is a [`Feed`](exactop_model::Feed). The
//! crates that measure this machine may depend on it: the command, the service, the lab and the C
//! library.
//!
//! Every source fills the same [`Snapshot`](exactop_model::Snapshot) and states the quality of each
//! field:
//! - `ledger`: BPF events; exact, needs privileges.
//! - `snapshot_source`: the kernel's own counters, read by a BPF task iterator.
//! - [`taskstats`]: netlink, with a record of each exit.
//! - [`procfs`]: ticks; works for every user.
//!
//! `on_demand` has BPF programs that are attached only while a view shows their figures.
//! [`session`] combines a source, the book and the readers of details into a
//! [`Feed`](exactop_model::Feed).
//!
//! Other modules:
//! - `bpf/`: loads objects by the table in `kernel_programs.rs`, some in `parts`, and reads maps as
//!   sums.
//! - `taskstats/`: `messages`, `record` by version, `listeners` for each CPU, `exits` without I/O,
//!   `gone` for single exits.
//! - `tree.rs`: all descendants of a command; `tree/slowest` the slowest of them.
//! - `cgroups.rs`: control groups over windows. `group_names.rs`: their names, delivered with
//!   snapshots; `leader_names.rs`: those of processes.
//! - `details/`, `system/`: values of rows and of the header.
//! - `holdings/`: environments and open files.
//! - `probe/`: checks for `exactop doctor`.
//! - `session/`: `opening` chooses the source, `building` puts the session together.
//! - `disk_rates`: a feed layer with disk I/O.

#[cfg(feature = "bpf")]
mod bpf;
mod btf;
pub mod cgroups;
mod clock;
mod cpu_list;
pub mod details;
pub mod disk_rates;
pub mod error;
mod group_names;
pub mod holdings;
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
mod kernel_programs;
mod leader_names;
#[cfg(feature = "bpf")]
pub mod ledger;
#[cfg(feature = "bpf")]
pub mod on_demand;
pub mod own_rights;
pub mod passwd;
pub mod pid_namespace;
pub mod probe;
pub mod procfs;
pub mod session;
#[cfg(feature = "bpf")]
pub mod snapshot_source;
pub mod source;
pub mod system;
pub mod taskstats;
#[cfg(feature = "bpf")]
pub mod tree;

pub use error::SourceError;
pub use source::{
    FollowedProcess, MeasurePolicy, Request, Source, SplitOptions, BLAME_FLOOR_NS, FOLLOWED_MOST,
};
