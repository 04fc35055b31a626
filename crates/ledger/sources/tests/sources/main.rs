//! Sources that take no ledger (that one: tests/ledger), and the examples.

mod examples;
mod fuzz;
