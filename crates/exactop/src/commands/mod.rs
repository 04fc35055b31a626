//! What the command can do: a file or a folder for each subcommand that needs one; `ptop` is a way of
//! watching, and `columns` and `completions` are lines of `main.rs`.

pub mod cgroups;
pub mod doctor;
#[cfg(feature = "bpf")]
pub mod lab;
pub mod load;
pub mod manual;
pub mod on_demand;
pub mod prstat;
#[cfg(feature = "bpf")]
pub mod run;
#[cfg(feature = "bpf")]
pub mod trace;
pub mod watch;
