//! Tests of sources other than the ledger (see tests/ledger), and of the examples.

#[cfg(feature = "bpf")]
mod barriers;
mod examples;
mod fuzz;
