//! Recorders that are programs of their own: killed at any moment, of another user, and traced.
//!
//! No test here opens twice what it recorded itself (`recording` says why).

mod kills;
mod names;
mod owners;
#[path = "../world/mod.rs"]
mod world;
