//! Hash maps of cumulative sums in the kernel, read as the increase in a window.
//!
//! Entries are never reset, because a program may be adding to one at the same moment. Entries of
//! exited tasks are deleted once they no longer change, so that the map does not fill up.

use crate::bpf::batches;
use crate::bpf::plain::{bytes_of, ByBytes, Plain};
use crate::error::SourceError;
use libbpf_rs::MapCore;
use rustc_hash::FxHashMap;

/// A sum that only grows.
pub trait Sum: Plain {
    /// The increase since `before`.
    fn since(&self, before: &Self) -> Self;
    /// True if nothing was added.
    fn is_zero(&self) -> bool;
}

/// One figure of a sum.
pub trait Figure: Copy {
    /// The increase since `before`.
    fn since(self, before: Self) -> Self;
}

impl Figure for u64 {
    fn since(self, before: u64) -> u64 {
        self - before
    }
}

impl Figure for u32 {
    fn since(self, before: u32) -> u32 {
        self - before
    }
}

impl<F: Figure, const N: usize> Figure for [F; N] {
    fn since(self, before: [F; N]) -> [F; N] {
        std::array::from_fn(|i| self[i].since(before[i]))
    }
}

/// Implements [`Sum`] for types of an object. The figures before the comma decide if anything was
/// added; the others grow too. A field that is not listed, such as a name, keeps its present value.
macro_rules! sums {
    ($($type:ident: $($tells:ident)+ $(, $grows:ident)*;)+) => {
        $(
            $crate::bpf::plain::plain! { $type }

            impl $crate::bpf::sums::Sum for $type {
                // Some sums have no other fields.
                #[allow(clippy::needless_update)]
                fn since(&self, before: &Self) -> Self {
                    use $crate::bpf::sums::Figure;
                    $type {
                        $($tells: self.$tells.since(before.$tells),)+
                        $($grows: self.$grows.since(before.$grows),)*
                        ..*self
                    }
                }

                fn is_zero(&self) -> bool {
                    $(self.$tells == 0)&&+
                }
            }
        )+
    };
}
pub(crate) use sums;

/// Sums (`SUMS` of bpf/on_demand/on_demand.h) as of the last window.
pub struct WindowSums<K, V> {
    /// Entries of the map, and of the map for entries without room in the first.
    before: [FxHashMap<ByBytes<K>, V>; 2],
}

impl<K, V> Default for WindowSums<K, V> {
    fn default() -> Self {
        WindowSums { before: [FxHashMap::default(), FxHashMap::default()] }
    }
}

impl<K: Plain, V: Sum> WindowSums<K, V> {
    /// The increases since the last call, in no order. `is_gone` tells that no task changes an
    /// entry any more.
    pub fn window<M: MapCore>(
        &mut self,
        maps: [&M; 2],
        is_gone: impl Fn(&K) -> bool,
    ) -> Result<Vec<(K, V)>, SourceError> {
        let mut changed = Vec::new();
        for (map, before) in maps.into_iter().zip(&mut self.before) {
            changed.extend(on_top(map, before, &is_gone)?);
        }
        Ok(changed)
    }
}

/// The increases in one map.
fn on_top<K: Plain, V: Sum>(
    map: &impl MapCore,
    before: &mut FxHashMap<ByBytes<K>, V>,
    is_gone: impl Fn(&K) -> bool,
) -> Result<Vec<(K, V)>, SourceError> {
    let mut changed = Vec::new();
    let mut still = Vec::new();
    let mut now = FxHashMap::default();
    for (key, value) in batches::all::<K, V>(map, batches::BATCH)? {
        let by_bytes = ByBytes(key);
        let grown = before.get(&by_bytes).map_or(value, |before| value.since(before));
        if !grown.is_zero() {
            changed.push((key, grown));
        } else if before.contains_key(&by_bytes) {
            still.push(key);
        }
        now.insert(by_bytes, value);
    }
    for key in still.into_iter().filter(|key| is_gone(key)) {
        // ENOENT is impossible: only this code deletes.
        let _ = map.delete(bytes_of(&key));
        now.remove(&ByBytes(key));
    }
    *before = now;
    Ok(changed)
}
