//! Recorders that are separate programs: killed at any moment, run by another user, and traced.
//!
//! No test here opens its own recording twice (`recording` says why).

mod kills;
mod names;
mod owners;
#[path = "../world/mod.rs"]
mod world;
