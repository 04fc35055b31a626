//! Code that all BPF programs of this crate need:
//! - checks before loading;
//! - loading and attaching by the table of programs, with errors in the kernel's words;
//! - ways to read what programs write;
//! - the kernel's figures about loaded programs.

pub(crate) mod batches;
pub(crate) mod beside;
pub(crate) mod fentry;
pub(crate) mod iterator;
pub(crate) mod kernel_types;
pub(crate) mod loading;
pub(crate) mod mapped;
pub(crate) mod parts;
pub(crate) mod plain;
pub(crate) mod refusal;
pub(crate) mod skeleton;
pub(crate) mod spare;
pub(crate) mod sums;
pub(crate) mod task;
#[cfg(test)]
pub(crate) mod test_object;
pub(crate) mod upkeep;

/// Generated from bpf/enums.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod enums {
    include!(concat!(env!("OUT_DIR"), "/enums.skel.rs"));
}

/// The enumerations of bpf/wire.h under their names, so that Rust code repeats none of their
/// numbers.
pub(crate) use enums::types as wire;
