//! Converts the bytes that programs write into values.

use std::hash::{Hash, Hasher};

/// Plain integers without padding, as bpf/ declares them.
///
/// # Safety
/// Every bit pattern must be valid and there must be no padding.
pub unsafe trait Plain: Copy {}

/// Implements [`Plain`] for types of an object.
macro_rules! plain {
    ($($type:ty)+) => {
        $(
            // SAFETY: integers without padding, as the C side declares them.
            unsafe impl $crate::bpf::plain::Plain for $type {}
        )+
    };
}
pub(crate) use plain;

/// The value at the beginning of `bytes`.
///
/// # Panics
/// If `bytes` is too short; both sides have the same layout, so it never is.
pub fn from_bytes<T: Plain>(bytes: &[u8]) -> T {
    assert!(bytes.len() >= size_of::<T>(), "{} bytes for {}", bytes.len(), size_of::<T>());
    // SAFETY: there are enough bytes, and any bytes make a T.
    unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
}

pub fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: plain data without padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// A hash-map key that is compared by its bytes.
#[derive(Clone, Copy)]
pub struct ByBytes<K>(pub K);

impl<K: Plain> PartialEq for ByBytes<K> {
    fn eq(&self, other: &Self) -> bool {
        bytes_of(&self.0) == bytes_of(&other.0)
    }
}

impl<K: Plain> Eq for ByBytes<K> {}

impl<K: Plain> Hash for ByBytes<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        bytes_of(&self.0).hash(state);
    }
}
