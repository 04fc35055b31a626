//! What the tests of the command share. Each test program uses a part of it.
#![allow(dead_code)]

pub mod processes;
pub mod quiet;
pub mod rights;
pub mod run;
pub mod terminal;
