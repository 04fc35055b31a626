//! Task iterators of ours: run once, they tell records one after the other.

use crate::bpf::plain::{from_bytes, Plain};
use crate::bpf::refusal::failed;
use crate::error::SourceError;
use libbpf_rs::{IterOpts, ProgramMut};
use std::io::Read;

/// Bytes asked for at once.
const ROOM: usize = 1 << 16;

/// Runs a task iterator; what it told.
///
/// # Errors
/// What the kernel says.
pub fn run(program: &ProgramMut<'_>) -> Result<Vec<u8>, SourceError> {
    let link = program.attach_iter_with_opts(IterOpts::None);
    let link = link.map_err(failed("starting a task iterator"))?;
    let mut iter = libbpf_rs::Iter::new(&link).map_err(failed("opening a task iterator"))?;
    // The kernel hands out what fits: a small buffer would be a system call for every few tasks.
    let mut bytes = Vec::with_capacity(ROOM);
    iter.read_to_end(&mut bytes)
        .map_err(|error| SourceError::Kernel { what: "running a task iterator", error })?;
    Ok(bytes)
}

/// The same as the records they are.
///
/// # Errors
/// What the kernel says.
pub fn records<T: Plain>(program: &ProgramMut<'_>) -> Result<Vec<T>, SourceError> {
    Ok(run(program)?.chunks_exact(size_of::<T>()).map(from_bytes).collect())
}
