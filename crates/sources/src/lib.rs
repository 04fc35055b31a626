//! Where exactop's figures come from.
//!
//! Every source fills the same [`Snapshot`](exactop_model::Snapshot) and says per field how good
//! it is: `ledger` (BPF events, exact, needs privileges), `snapshot_source` (the kernel's own counters by
//! a BPF task iterator), [`taskstats`] (netlink, with a record of each exit) and [`procfs`] (ticks,
//! for anyone, anywhere).
//! Beside them, `on_demand` has BPF programs that are attached only while someone looks. [`session`]
//! puts a source, the book and the readers of details together as a [`Feed`](exactop_model::Feed).

#[cfg(feature = "bpf")]
mod bpf;
mod btf;
pub mod cgroups;
mod clock;
mod cpu_list;
pub mod details;
pub mod error;
mod group_names;
pub mod holdings;
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
mod kernel_programs;
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
pub use source::{Followed, Request, Source, SplitOptions, When, FOLLOWED_MOST};
