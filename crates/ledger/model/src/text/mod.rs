//! Text of any origin: escaping, and suggestions for typos.

pub mod cpu_list;
pub mod did_you_mean;
pub mod escape;
