//! Common helpers of the command's tests. Each test program uses some of them.
#![allow(dead_code)]

pub mod processes;
pub mod quiet;
pub mod rights;
pub mod run;
pub mod terminal;
