//! Where exactop's figures come from.
//!
//! Every source fills the same [`Snapshot`](exactop_model::Snapshot) and says per field how good
//! it is: [`ledger`] (BPF, exact, needs privileges) and [`procfs`] (ticks, for anyone, anywhere).
//! Beside them, `syscalls`, `wakeups` and `waits` are BPF programs that are attached only while
//! someone looks. [`session`] puts a source, the book and the readers of details together as a
//! [`Feed`](exactop_model::Feed).

#[cfg(feature = "bpf")]
mod bpf;
pub mod cgroupfs;
#[cfg(feature = "bpf")]
mod clock;
pub mod details;
pub mod error;
#[cfg(feature = "bpf")]
pub mod ledger;
pub mod probe;
pub mod procfs;
pub mod session;
pub mod source;
#[cfg(feature = "bpf")]
pub mod syscalls;
pub mod system;
#[cfg(feature = "bpf")]
pub mod tree;
#[cfg(feature = "bpf")]
pub mod waits;
#[cfg(feature = "bpf")]
pub mod wakeups;

pub use error::SourceError;
pub use source::{Request, Source, SplitOptions, SplitPolicy};
