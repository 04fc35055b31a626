//! The command as a whole, run as a person or a script runs it, on a made-up /proc.

mod bad_days;
#[path = "../documented_rights/mod.rs"]
mod documented_rights;
mod documents;
mod ends;
mod files;
#[cfg(feature = "bpf")]
mod groups;
#[cfg(feature = "bpf")]
mod hurry;
#[cfg(feature = "bpf")]
mod limits;
mod live;
mod load;
#[cfg(feature = "bpf")]
mod on_demand;
#[cfg(feature = "bpf")]
mod processes;
mod prstat;
mod refused;
mod rights;
mod run;
#[cfg(feature = "bpf")]
mod signals;
#[cfg(feature = "bpf")]
mod timed;
mod tree;
#[cfg(feature = "bpf")]
mod user;
mod windows;
