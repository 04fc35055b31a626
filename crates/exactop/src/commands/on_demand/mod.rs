//! Commands that attach programs of their own for as long as they run, or look at a daemon's
//! (`shared`), and print windows of what these tell: the loop they have in common (`exactop cgroups`
//! uses it, too), and a file for each. `trace`,
//! which records, is not among them.

#[cfg(feature = "bpf")]
pub mod moves;
#[cfg(feature = "bpf")]
pub mod shared;
#[cfg(feature = "bpf")]
pub mod syscalls;
#[cfg(feature = "bpf")]
pub mod waits;
#[cfg(feature = "bpf")]
pub mod wakeups;
pub mod windows;
