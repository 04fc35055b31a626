//! Iterators of ours over tasks and maps: run once, they tell records one after the other.

use crate::bpf::plain::{from_bytes, Plain};
use crate::bpf::refusal::failed;
use crate::error::SourceError;
use libbpf_rs::{IterOpts, MapIterOpts, ProgramMut};
use std::io::Read;
use std::os::fd::BorrowedFd;

/// Bytes asked for at once.
const ROOM: usize = 1 << 16;

/// Runs a task iterator; what it told.
///
/// # Errors
/// What the kernel says.
pub fn run(program: &ProgramMut<'_>) -> Result<Vec<u8>, SourceError> {
    told(program, IterOpts::None)
}

/// The same of an iterator over a map.
///
/// # Errors
/// What the kernel says.
pub fn run_over(map: BorrowedFd<'_>, program: &ProgramMut<'_>) -> Result<Vec<u8>, SourceError> {
    told(program, IterOpts::Map(MapIterOpts::from_fd(map)))
}

fn told(program: &ProgramMut<'_>, over: IterOpts<'_>) -> Result<Vec<u8>, SourceError> {
    let link = program.attach_iter_with_opts(over);
    let link = link.map_err(failed("starting an iterator"))?;
    let mut iter = libbpf_rs::Iter::new(&link).map_err(failed("opening an iterator"))?;
    // The kernel hands out what fits: a small buffer would be a system call for every few tasks.
    let mut bytes = Vec::with_capacity(ROOM);
    iter.read_to_end(&mut bytes)
        .map_err(|error| SourceError::Kernel { what: "running an iterator", error })?;
    Ok(bytes)
}

/// The same as the records they are.
///
/// # Errors
/// What the kernel says.
pub fn records<T: Plain>(program: &ProgramMut<'_>) -> Result<Vec<T>, SourceError> {
    Ok(run(program)?.chunks_exact(size_of::<T>()).map(from_bytes).collect())
}
