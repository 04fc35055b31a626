//! BPF programs that are attached only while someone looks: nobody else pays for them.

mod attached;
pub mod births;
pub mod moves;
pub mod switchlog;
pub mod syscalls;
pub mod waits;
pub mod wakeups;

pub use attached::Room;
