//! What is counted only while someone looks, beside the ledger: one file a command.

mod call_nr;
pub mod switchlog;
pub mod syscalls;
pub mod waits;
pub mod wakeups;

pub use call_nr::CallNr;
