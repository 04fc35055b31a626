//! All of a hash map, read in batches.
//!
//! The kernel ends a batch before a bucket that does not fit into what is left of it, so a batch that
//! is not full is not the last one: only ENOENT says that. (libbpf-rs 0.27's own iterator takes it
//! for the last, and leaves out the rest without a word.)

use crate::bpf::plain::{from_bytes, Plain};
use crate::bpf::refusal;
use crate::error::SourceError;
use libbpf_rs::{libbpf_sys, MapCore};
use std::io;
use std::os::fd::AsRawFd;

/// Entries asked for at once, where there may be many.
pub const BATCH: u32 = 4096;

/// The fewest: most buckets fit in, so that none has to be asked for again.
const LEAST: u32 = 32;

/// Room for a batch of keys and values.
struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    /// Where the next one begins, as the kernel has it.
    place: Option<[u8; 8]>,
}

/// How a batch ended.
enum Read {
    /// So many entries, and there may be more.
    Some(u32),
    /// So many, and no more.
    Last(u32),
    /// A bucket of the map has more entries than there is room for.
    TooSmall,
}

/// Every entry that is there from beginning to end of this call, read `room` at a time: no more
/// than there may be, because all of that is memory that is written to.
///
/// # Errors
/// What the kernel says.
pub fn all<K: Plain, V: Plain>(map: &impl MapCore, room: u32) -> Result<Vec<(K, V)>, SourceError> {
    let (key, value) = (map.key_size() as usize, map.value_size() as usize);
    let mut entries = Vec::new();
    let mut room = room.clamp(LEAST, BATCH);
    let mut batch = Batch { keys: Vec::new(), values: Vec::new(), place: None };
    loop {
        batch.keys.resize(key * room as usize, 0);
        batch.values.resize(value * room as usize, 0);
        let read = batch.read(map.as_fd().as_raw_fd(), room);
        let (count, is_last) = match read.map_err(|e| refusal::failed("reading a map")(e.into()))? {
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
        // SAFETY: there is room for so many keys and values, and for a place, which is four bytes.
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
