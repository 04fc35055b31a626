//! A hash map of cumulative sums in the kernel, read as what came on top in a window.
//!
//! Entries are never reset, because a program may be adding to one at that moment. Those of tasks
//! that are gone and did not change any more are deleted, so that the map does not fill up.

use crate::error::SourceError;
use libbpf_rs::{MapCore, MapFlags};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Entries asked for at once.
const BATCH: u32 = 4096;

/// A key or a value: plain integers without padding.
///
/// # Safety
/// Every bit pattern must be valid and there must be no padding.
pub unsafe trait Plain: Copy {}

/// A sum that only grows.
pub trait Sum: Plain {
    /// What came on top of `before`.
    fn since(&self, before: &Self) -> Self;
    /// Whether anything came on top.
    fn is_zero(&self) -> bool;
}

/// The map as of the last window.
pub struct Tally<K, V> {
    before: FxHashMap<K, V>,
}

impl<K, V> Default for Tally<K, V> {
    fn default() -> Self {
        Tally { before: FxHashMap::default() }
    }
}

impl<K: Plain + Eq + Hash, V: Sum> Tally<K, V> {
    /// What came on top since the last call, in no order; `is_gone` tells whose entry nobody will
    /// change any more.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn window(
        &mut self,
        map: &impl MapCore,
        is_gone: impl Fn(&K) -> bool,
    ) -> Result<Vec<(K, V)>, SourceError> {
        let mut changed = Vec::new();
        let mut still = Vec::new();
        let mut now = FxHashMap::default();
        for (key, value) in read::<K, V>(map)? {
            let grown = self.before.get(&key).map_or(value, |before| value.since(before));
            if !grown.is_zero() {
                changed.push((key, grown));
            } else if self.before.contains_key(&key) {
                still.push(key);
            }
            now.insert(key, value);
        }
        for key in still.into_iter().filter(|key| is_gone(key)) {
            // ENOENT cannot be: nobody else deletes.
            let _ = map.delete(bytes_of(&key));
            now.remove(&key);
        }
        self.before = now;
        Ok(changed)
    }
}

/// All of a map.
fn read<K: Plain, V: Plain>(map: &impl MapCore) -> Result<Vec<(K, V)>, SourceError> {
    let failed = crate::bpf::refusal::failed("reading a map");
    let batch = map.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY).map_err(&failed)?;
    Ok(batch.map(|(key, value)| (from_bytes(&key), from_bytes(&value))).collect())
}

/// The value at the beginning of `bytes`.
///
/// # Panics
/// If there are too few: the layout of both sides is one and the same.
pub fn from_bytes<T: Plain>(bytes: &[u8]) -> T {
    assert!(bytes.len() >= size_of::<T>(), "{} bytes for {}", bytes.len(), size_of::<T>());
    // SAFETY: enough bytes, and any of them make a T.
    unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
}

/// The bytes of a value.
pub fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: plain data without padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
