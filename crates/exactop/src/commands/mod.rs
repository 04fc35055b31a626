//! The subcommands: a file or a folder for each one that needs one. `ptop` is a way of watching,
//! and `columns` is a line of `main.rs`.

#[cfg(feature = "bpf")]
pub mod blame;
pub mod cgroups;
pub mod completions;
pub mod daemon;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod fleet;
#[cfg(feature = "bpf")]
pub mod lab;
pub mod load;
pub mod manual;
pub mod on_demand;
pub mod page;
pub mod played;
pub mod prstat;
pub mod record;
pub mod replay;
pub mod report;
#[cfg(feature = "bpf")]
pub mod run;
#[cfg(feature = "bpf")]
pub mod trace;
pub mod watch;
pub mod web;
