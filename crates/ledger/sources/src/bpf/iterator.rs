//! Runs BPF iterators over tasks and maps, and reads their records.

use crate::bpf::plain::{from_bytes, Plain};
use crate::bpf::refusal::failed;
use crate::error::SourceError;
use libbpf_rs::{IterOpts, MapIterOpts, ProgramMut};
use std::io::Read;
use std::os::fd::BorrowedFd;

/// Bytes of one read.
const ROOM: usize = 1 << 16;

/// Runs a task iterator and returns its output.
pub fn run(program: &ProgramMut<'_>) -> Result<Vec<u8>, SourceError> {
    read_all(program, IterOpts::None)
}

/// Runs an iterator over a map and returns its output.
pub fn run_over(map: BorrowedFd<'_>, program: &ProgramMut<'_>) -> Result<Vec<u8>, SourceError> {
    read_all(program, IterOpts::Map(MapIterOpts::from_fd(map)))
}

fn read_all(program: &ProgramMut<'_>, over: IterOpts<'_>) -> Result<Vec<u8>, SourceError> {
    let link = program.attach_iter_with_opts(over);
    let link = link.map_err(failed("cannot start an iterator"))?;
    let mut iter = libbpf_rs::Iter::new(&link).map_err(failed("cannot open an iterator"))?;
    // The kernel fills the buffer of each read; a small one would need a system call for every few
    // tasks.
    let mut bytes = Vec::with_capacity(ROOM);
    iter.read_to_end(&mut bytes)
        .map_err(|error| SourceError::Kernel { what: "cannot run an iterator", error })?;
    Ok(bytes)
}

/// Runs a task iterator and returns its output as records.
pub fn records<T: Plain>(program: &ProgramMut<'_>) -> Result<Vec<T>, SourceError> {
    Ok(run(program)?.chunks_exact(size_of::<T>()).map(from_bytes).collect())
}
