//! Fuzz targets as ordinary tests: examples, mutations of them, and inputs that failed before. It takes a function
//! of bytes and gives a test, which keeps each input that fails. Tests alone may depend on it.
//!
//! ```no_run
//! #[test]
//! fn fuzz_numbers() {
//!     exactop_fuzzing::Target::new(exactop_fuzzing::corpus!("numbers"))
//!         .examples([&b"12"[..], b"-1"])
//!         .words(&["0x", "18446744073709551615"])
//!         .run(|bytes| drop(std::str::from_utf8(bytes).map(str::parse::<u64>)));
//! }
//! ```
//!
//! A target's name begins with `fuzz_`: `make fuzz` finds it by that. proptest draws the mutations and
//! makes a failing one smaller. As part of the tests a target runs what was found before, the
//! examples, and a few thousand mutations that are the same each time; with `EXACTOP_FUZZ_SECONDS=N` new ones for N seconds (`EXACTOP_FUZZ_FROM=SEED`: the same each time). Inputs are bytes; a target that
//! needs something else reads its choices from them ([`Choices`]), so that they can be kept,
//! mutated and made smaller all the same.
//!
//! What makes a target panic, or takes longer than any input may, is made smaller and written to
//! the target's corpus directory (`tests/corpus/NAME` of its crate), to be committed with the
//! fix.

mod choices;
mod corpus;
mod inputs;
mod target;

pub use choices::Choices;
pub use target::Target;

/// The corpus directory of a target: `tests/corpus/NAME` in the crate that asks.
#[macro_export]
macro_rules! corpus {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/", $name)
    };
}
