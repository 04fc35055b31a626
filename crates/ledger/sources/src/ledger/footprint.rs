//! Whether there is room for the ledger: memory in the control groups we are in, and descriptors.
//!
//! The kernel charges maps to the group of whoever makes them, and ends a process that goes beyond
//! a limit. So what the ledger will take is reckoned from its maps before they are made.

use crate::error::SourceError;
use exactop_cgroups::{memory_left, MemoryLeft};
use libbpf_rs::{libbpf_sys, AsRawLibbpf, MapType, OpenObject};

/// What a hash map takes for an element beside key and value (struct htab_elem, kernel/bpf/hashtab.c).
const HASH_ELEMENT: u64 = 48;

/// What it takes for each of the heads of lists, one for an element (struct bucket, there).
const HASH_BUCKET: u64 = 16;

/// Programs, what checking them takes for a moment, type information on both sides, and what this
/// process reads into its own memory meanwhile: 24 MiB where it was measured, and a reserve for a
/// table that grows at once because many are born.
const BESIDE_THE_MAPS: u64 = 32 << 20;

/// What is left to everyone else in the group when a table grows.
const CHUNK_MARGIN: u64 = 8 << 20;

const MIB: u64 = 1 << 20;

/// Refuses where the maps, with the first chunks of the tables that grow, would not fit.
///
/// # Errors
/// [`SourceError::Unavailable`] with what there is and what it takes.
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

/// What the kernel takes for the maps of an object that is not loaded yet, bytes.
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

/// Whether a map takes memory for an element only when there is one.
fn grows(map: &libbpf_rs::OpenMap<'_>) -> bool {
    // SAFETY: the map lives as long as the object, which is borrowed.
    let flags = unsafe { libbpf_sys::bpf_map__map_flags(map.as_libbpf_object().as_ptr()) };
    flags & libbpf_sys::BPF_F_NO_PREALLOC != 0
}

/// Whether a chunk of a growing table fits. Where it does not, the table stays as it is.
pub fn has_room(bytes: u64) -> bool {
    memory_left().is_none_or(|left| left.bytes >= bytes + CHUNK_MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_said_with_figures() {
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
