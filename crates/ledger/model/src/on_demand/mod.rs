//! What is counted only while someone looks, beside the ledger: one file a command.

mod bounded;
pub mod losses;
pub mod moves;
pub mod namesakes;
mod shared;
pub mod switchlog;
mod syscall_nr;
pub mod syscalls;
pub mod waits;
pub mod wakeups;

pub use shared::{Choice, Looked, Shown};
pub use syscall_nr::SyscallNr;
