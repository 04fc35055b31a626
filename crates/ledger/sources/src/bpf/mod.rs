//! What all BPF programs of this crate need: the checks before loading, loading and attaching by the
//! table of programs, the kernel's own words for a refusal, ways to read what programs write, and
//! what the kernel knows of them.

pub(crate) mod batches;
pub(crate) mod fentry;
pub(crate) mod iterator;
pub(crate) mod loading;
pub(crate) mod mapped;
pub(crate) mod parts;
pub(crate) mod plain;
pub(crate) mod refusal;
pub(crate) mod skeleton;
pub(crate) mod spare;
pub(crate) mod sums;
pub(crate) mod task;
pub(crate) mod upkeep;

/// Generated from bpf/enums.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod enums {
    include!(concat!(env!("OUT_DIR"), "/enums.skel.rs"));
}

/// What bpf/wire.h enumerates, under its names: no number of it is written down on this side.
pub(crate) use enums::types as wire;
