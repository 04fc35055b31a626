//! Checks that the ledger's memory fits into the limits of our control groups.
//!
//! The kernel charges a map to the group of the process that makes it, and kills a process that
//! exceeds the limit. So the ledger computes its memory from the maps before it makes them.

use crate::error::SourceError;
use exactop_cgroups::{memory_left, MemoryLeft};
use libbpf_rs::{libbpf_sys, AsRawLibbpf, MapType, OpenObject};

/// Memory of a hash map for each element, besides key and value, bytes (struct htab_elem,
/// kernel/bpf/hashtab.c).
const HASH_ELEMENT: u64 = 48;

/// Memory of a hash map for each list head, one for each element, bytes (struct bucket, in the same
/// file).
const HASH_BUCKET: u64 = 16;

/// Memory besides the maps, bytes: programs, their verification, type information on both sides,
/// and what this process reads meanwhile. That was 24 MiB in measurements; the rest is a reserve
/// for a table that grows at once because many tasks are born.
const BESIDE_THE_MAPS: u64 = 32 << 20;

/// Memory left to other processes of the group when a table grows, bytes.
const CHUNK_MARGIN: u64 = 8 << 20;

const MIB: u64 = 1 << 20;

/// Refuses if the maps and the first chunks of the growing tables do not fit.
///
/// # Errors
/// [`SourceError::Unavailable`] with the memory that is left and the memory needed.
pub fn check(object: &OpenObject, first_chunks: u64) -> Result<(), SourceError> {
    match memory_left() {
        Some(left) => fits(&left, maps(object) + first_chunks + BESIDE_THE_MAPS),
        None => Ok(()),
    }
}

fn fits(left: &MemoryLeft, needed: u64) -> Result<(), SourceError> {
    if left.bytes >= needed {
        return Ok(());
    }
    Err(SourceError::Unavailable {
        what: format!(
            "the ledger may take {} MiB of memory and the control group's limit of {} MiB leaves {}",
            needed.div_ceil(MIB),
            left.limit / MIB,
            left.bytes / MIB,
        ),
        advice: format!("raise the limit of {}", left.group.display()),
    })
}

/// Memory that the kernel needs for the maps of an object that is not loaded yet, bytes.
fn maps(object: &OpenObject) -> u64 {
    let taken = |map: libbpf_rs::OpenMap<'_>| {
        let element = u64::from(map.value_size()).next_multiple_of(8);
        let key = u64::from(map.key_size()).next_multiple_of(8);
        let each = match map.map_type() {
            MapType::Hash if grows(&map) => HASH_BUCKET,
            MapType::Hash | MapType::LruHash => element + key + HASH_ELEMENT + HASH_BUCKET,
            MapType::TaskStorage => 0,
            MapType::RingBuf => 1,
            _ => element,
        };
        each * u64::from(map.max_entries())
    };
    object.maps().map(taken).sum()
}

/// True for a map that allocates an element's memory only when the element is added.
fn grows(map: &libbpf_rs::OpenMap<'_>) -> bool {
    // SAFETY: the map lives as long as the object, which is borrowed.
    let flags = unsafe { libbpf_sys::bpf_map__map_flags(map.as_libbpf_object().as_ptr()) };
    flags & libbpf_sys::BPF_F_NO_PREALLOC != 0
}

/// True if a chunk of a growing table fits. If not, the table keeps its size.
pub fn has_room(bytes: u64) -> bool {
    memory_left().is_none_or(|left| left.bytes >= bytes + CHUNK_MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_an_error_with_both_figures() {
        let left = |bytes| MemoryLeft { bytes, limit: 40 * MIB, group: "/m".into() };
        assert!(fits(&left(35 * MIB), 35 * MIB).is_ok());
        let error = fits(&left(30 * MIB), 35 * MIB - 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "the ledger may take 35 MiB of memory and the control group's limit of 40 MiB leaves 30: \
             raise the limit of /m"
        );
    }
}
