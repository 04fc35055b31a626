//! What is counted only while someone looks, beside the ledger: one file a subject, and the list of them.

mod counted;
pub mod losses;
pub mod moves;
pub mod namesakes;
mod subject;
mod sums;
pub mod switches;
pub mod switchlog;
mod syscall_nr;
pub mod syscalls;
#[cfg(test)]
mod tests;
pub mod waits;
pub mod wakeups;

pub use counted::{Choice, Counted, Panel, Shown};
pub use subject::{Listed, Programs, Subject, SubjectWindow, SubjectWindows};
pub use syscall_nr::SyscallNr;

/// The list of all subjects: file in each crate, name, window. Whatever there is of each is made by a
/// macro that this is given to, and does not compile where a subject has none.
#[macro_export]
macro_rules! subjects {
    ($with:ident) => {
        $with! {
            waits Waits WaitWindow;
            wakeups Wakeups WakeupWindow;
            syscalls Syscalls SyscallWindow;
            moves Moves MoveWindow;
            switches Switches SwitchWindow;
        }
    };
}
