//! The whole command, run as a person or a script runs it, on a made-up /proc.

#[cfg(feature = "bpf")]
mod blame;
#[cfg(feature = "bpf")]
mod containers;
mod cut;
mod diff;
mod disk;
mod documents;
mod ends;
mod exit_codes;
mod files;
mod fleet;
#[cfg(feature = "bpf")]
mod groups;
mod help;
#[path = "../helpers/mod.rs"]
mod helpers;
mod install;
#[cfg(feature = "bpf")]
mod kills;
#[cfg(feature = "bpf")]
mod limits;
mod live;
mod load;
mod made_up_proc;
#[cfg(feature = "bpf")]
mod names;
#[cfg(feature = "bpf")]
mod on_demand;
mod options;
mod page;
mod poor_machines;
#[cfg(feature = "bpf")]
mod postgres;
mod prstat;
mod record;
mod refused;
#[cfg(feature = "bpf")]
mod regressions;
mod replayed;
mod report;
mod rights;
#[cfg(feature = "bpf")]
mod run;
#[cfg(feature = "bpf")]
mod second_signal;
#[cfg(feature = "bpf")]
mod signals;
#[cfg(feature = "bpf")]
mod storms;
mod tutorials;
#[cfg(feature = "bpf")]
mod user;
#[cfg(feature = "bpf")]
mod wait_sizes;
mod web;
mod windows;
