//! Commands that attach BPF programs while they run, or read a daemon's (`shared`), and print
//! windows of their figures. They share one loop, which `exactop cgroups` also uses; each subject
//! has a file. `trace`, which records, is not among them.

#[cfg(feature = "bpf")]
pub mod by_thread;
#[cfg(feature = "bpf")]
pub mod moves;
#[cfg(feature = "bpf")]
pub mod owed;
#[cfg(feature = "bpf")]
pub mod shared;
#[cfg(feature = "bpf")]
pub mod switches;
#[cfg(feature = "bpf")]
pub mod syscalls;
#[cfg(feature = "bpf")]
mod wait_sizes;
#[cfg(feature = "bpf")]
pub mod waits;
#[cfg(feature = "bpf")]
pub mod wakeups;
pub mod windows;

#[cfg(feature = "bpf")]
macro_rules! list {
    ($($file:ident $Name:ident $Window:ident;)+) => {
        /// A command for each subject.
        #[derive(Debug, clap::Subcommand)]
        pub enum OnDemand {
            $($Name($file::Args)),+
        }

        impl OnDemand {
            /// Prints windows.
            ///
            /// # Errors
            /// The failure, or the signal that ended the command.
            pub fn run(&self) -> Result<(), crate::failure::Failure> {
                match self {
                    $(OnDemand::$Name(typed) => $file::run(typed)),+
                }
            }
        }
    };
}

#[cfg(feature = "bpf")]
exactop_model::subjects!(list);
