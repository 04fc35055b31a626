//! Experiments and results that someone else wrote.

mod fuzz;
mod hostile;
