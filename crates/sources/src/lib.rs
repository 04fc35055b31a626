//! Where exactop's figures come from.
//!
//! Every source fills the same [`Snapshot`](exactop_model::Snapshot) and says per field how good
//! it is: [`ledger`] (BPF, exact, needs privileges) and [`procfs`] (ticks, for anyone, anywhere).
//! [`session`] puts a source, the book and the readers of details together as a
//! [`Feed`](exactop_model::Feed).

pub mod details;
pub mod error;
#[cfg(feature = "bpf")]
pub mod ledger;
pub mod probe;
pub mod procfs;
pub mod session;
pub mod source;
pub mod system;

pub use error::SourceError;
pub use source::{Request, Source, SplitOptions, SplitPolicy};
