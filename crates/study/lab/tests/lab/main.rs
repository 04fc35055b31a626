//! Experiments and results from other people.

mod fuzz;
mod hostile;
