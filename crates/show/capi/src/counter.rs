//! Counters by number and by name.

use exactop_model::Counter;
use std::ffi::{CStr, CString};
use std::sync::LazyLock;

static NAMES: LazyLock<Vec<CString>> = LazyLock::new(|| {
    Counter::ALL.iter().map(|c| CString::new(c.info().id).unwrap_or_default()).collect()
});

/// Name of a counter; `None`: no counter has this number.
pub fn name(number: u32) -> Option<&'static CStr> {
    NAMES.get(number as usize).map(CString::as_c_str)
}

/// Number of the counter of this name, or -1.
pub fn number(name: &CStr) -> i32 {
    NAMES.iter().position(|n| n.as_c_str() == name).map_or(-1, |at| at as i32)
}

/// The counter with this number.
pub fn from_number(number: u32) -> Option<Counter> {
    Counter::ALL.get(number as usize).copied()
}
