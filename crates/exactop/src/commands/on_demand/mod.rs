//! Commands that attach programs of their own for as long as they run: the loop they share, and a
//! file for each.

#[cfg(feature = "bpf")]
pub mod syscalls;
#[cfg(feature = "bpf")]
pub mod waits;
#[cfg(feature = "bpf")]
pub mod wakeups;
pub mod windows;
