//! Where exactop's figures come from: the kernel's events, its counters and its files. It takes what a view needs
//! and gives snapshots, details of rows, and a session that is a [`Feed`](exactop_model::Feed). The crates that
//! measure this machine may depend on it: the command, the service, the lab and the C library.
//!
//! Every source fills the same [`Snapshot`](exactop_model::Snapshot) and says per field how good
//! it is: `ledger` (BPF events, exact, needs privileges), `snapshot_source` (the kernel's own counters by
//! a BPF task iterator), [`taskstats`] (netlink, with a record of each exit) and [`procfs`] (ticks,
//! for anyone, anywhere).
//! Beside them, `on_demand` has BPF programs that are attached only while someone looks. [`session`]
//! puts a source, the book and the readers of details together as a [`Feed`](exactop_model::Feed).
//!
//! Modules: `ledger/` (BPF events), `snapshot_source/` (BPF iterator), `taskstats/` (netlink: `messages`, `record`
//! by version, `listeners` a CPU, `exits` pure, `gone` who exited one by one), `procfs/` (anyone); `on_demand/`
//! (`syscalls`, `wakeups`, `waits`, `moves`, `switchlog`, `births`, each `attached`) on `bpf/` (loading by the one
//! table of `kernel_programs.rs`, in `parts` where that is worth it, maps read as sums); `tree.rs` (all descendants
//! of a command; `tree/slowest` those that took longest), `cgroups.rs` (control groups over windows),
//! `group_names.rs` (whose they are, told with snapshots); `details/`, `system/` (what rows and header need
//! beside), `holdings/` (environments and open files), `probe/` (doctor), `session/` (source + book + `row_details` =
//! a `Feed`; `opening` which source, `building` how it is put together), `disk_rates` (a layer over a feed).

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
