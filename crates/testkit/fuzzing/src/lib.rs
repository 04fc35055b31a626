//! Fuzz targets as ordinary tests: examples, mutations of them, and inputs that failed before. It
//! takes a function of bytes and gives a test, which keeps each input that fails. Tests alone may
//! depend on it.
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
//! A target's name begins with `fuzz_`, by which `make fuzz` finds it. proptest draws the mutations
//! and shrinks a failing one. As part of the tests, a target runs the inputs that failed before,
//! the examples, and a few thousand mutations that are the same each time. `EXACTOP_FUZZ_SECONDS=N`
//! runs new mutations for N seconds; with `EXACTOP_FUZZ_FROM=SEED` they are the same each time.
//! Inputs are bytes. A target that needs something else reads its choices from them ([`Choices`]),
//! so that its inputs can be kept, mutated and shrunk, too.
//!
//! An input fails if the target panics or exceeds its time limit. The target then shrinks the input
//! and writes it to its corpus directory (`tests/corpus/NAME` of its crate). Commit it with the
//! fix.

mod choices;
mod corpus;
mod inputs;
mod target;

pub use choices::Choices;
pub use target::Target;

/// The corpus directory of a target: `tests/corpus/NAME` in the calling crate.
#[macro_export]
macro_rules! corpus {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/", $name)
    };
}
