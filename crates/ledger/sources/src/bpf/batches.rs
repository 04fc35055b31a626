//! Reads all of a hash map in batches.
//!
//! The kernel ends a batch before a bucket that does not fit into the rest of the batch. So a batch
//! that is not full is not the last one; only ENOENT marks the last. (The iterator of libbpf-rs
//! 0.27 takes such a batch for the last and drops the rest silently.)

use crate::bpf::plain::{from_bytes, Plain};
use crate::bpf::refusal;
use crate::error::SourceError;
use libbpf_rs::{libbpf_sys, MapCore};
use std::io;
use std::os::fd::AsRawFd;

/// Entries for each batch of a large map.
pub const BATCH: u32 = 4096;

/// Smallest batch. Most buckets fit into it, so that few reads must be repeated.
const LEAST: u32 = 32;

/// Buffers for one batch of keys and values.
struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    /// Position of the next batch, in the kernel's format.
    place: Option<[u8; 8]>,
}

/// Result of reading one batch.
enum Read {
    /// This number of entries; more may follow.
    Some(u32),
    /// This number of entries; no more follow.
    Last(u32),
    /// A bucket of the map has more entries than the batch has room for.
    TooSmall,
}

/// Reads every entry that exists throughout this call, `room` entries at a time. Callers pass no
/// more than the map may hold, because the buffers are written to and so take memory.
pub fn all<K: Plain, V: Plain>(map: &impl MapCore, room: u32) -> Result<Vec<(K, V)>, SourceError> {
    let (key, value) = (map.key_size() as usize, map.value_size() as usize);
    let mut entries = Vec::new();
    let mut room = room.clamp(LEAST, BATCH);
    let mut batch = Batch { keys: Vec::new(), values: Vec::new(), place: None };
    loop {
        batch.keys.resize(key * room as usize, 0);
        batch.values.resize(value * room as usize, 0);
        let read = batch.read(map.as_fd().as_raw_fd(), room);
        let (count, is_last) =
            match read.map_err(|e| refusal::failed("cannot read a map")(e.into()))? {
                Read::Some(count) => (count, false),
                Read::Last(count) => (count, true),
                Read::TooSmall => {
                    room *= 2;
                    continue;
                }
            };
        let pairs = batch.keys.chunks_exact(key).zip(batch.values.chunks_exact(value));
        entries.extend(
            pairs.take(count as usize).map(|(key, value)| (from_bytes(key), from_bytes(value))),
        );
        if is_last {
            return Ok(entries);
        }
    }
}

impl Batch {
    fn read(&mut self, map: i32, room: u32) -> io::Result<Read> {
        let mut count = room;
        let mut next = [0u8; 8];
        let from = self.place.as_mut().map_or(std::ptr::null_mut(), |place| place.as_mut_ptr());
        // SAFETY: the buffers hold the requested number of keys and values, and a position of four
        // bytes.
        let answer = unsafe {
            libbpf_sys::bpf_map_lookup_batch(
                map,
                from.cast(),
                next.as_mut_ptr().cast(),
                self.keys.as_mut_ptr().cast(),
                self.values.as_mut_ptr().cast(),
                &raw mut count,
                std::ptr::null(),
            )
        };
        if answer == 0 {
            self.place = Some(next);
            return Ok(Read::Some(count));
        }
        match -answer {
            libc::ENOENT => Ok(Read::Last(count)),
            libc::ENOSPC => Ok(Read::TooSmall),
            libc::EINTR => Ok(Read::Some(0)),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}
