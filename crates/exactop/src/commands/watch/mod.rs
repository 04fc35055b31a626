//! Watching, which is what the command does when no other is named: live, or printed windows.

mod actions;
mod held_process;
pub mod live;
pub mod windows;
