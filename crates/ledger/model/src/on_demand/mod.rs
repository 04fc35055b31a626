//! Figures that are counted only while a view shows them, beside the ledger. Each subject has one
//! file; the macro `subjects` lists them.

mod counted;
pub mod losses;
pub mod moves;
pub mod namesakes;
pub mod owed;
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

/// The list of all subjects: file in each crate, name, window. A macro that takes this list
/// generates the code of each subject; a subject without a part does not compile.
#[macro_export]
macro_rules! subjects {
    ($with:ident) => {
        $with! {
            waits Waits WaitWindow;
            wakeups Wakeups WakeupWindow;
            syscalls Syscalls SyscallWindow;
            moves Moves MoveWindow;
            switches Switches SwitchWindow;
            owed Owed OwedWindow;
        }
    };
}
