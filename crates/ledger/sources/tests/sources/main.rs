//! Tests of sources other than the ledger (see tests/ledger), and of the examples.

mod examples;
mod fuzz;
