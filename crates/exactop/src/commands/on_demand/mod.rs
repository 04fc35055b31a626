//! Commands that attach programs of their own for as long as they run, or look at a daemon's
//! (`shared`), and print windows of what these tell: the loop they have in common (`exactop cgroups`
//! uses it, too), and a file for each subject. `trace`, which records, is not among them.

#[cfg(feature = "bpf")]
pub mod by_thread;
#[cfg(feature = "bpf")]
pub mod moves;
#[cfg(feature = "bpf")]
pub mod shared;
#[cfg(feature = "bpf")]
pub mod switches;
#[cfg(feature = "bpf")]
pub mod syscalls;
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
            /// What failed, or the signal.
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
