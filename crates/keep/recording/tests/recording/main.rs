//! What is recorded and replayed, whatever becomes of files, clocks and boots.
//!
//! Nothing here starts a program: until that has begun it holds what was open here, and with it the lock of
//! a recorder that is gone by then. Tests that do are `children` and `room`.

mod anew;
mod cut;
mod damage;
mod far;
mod group_files;
mod journeys;
mod kept;
mod playback;
mod replay;
mod strange;
mod stretches;
mod suspend;
mod waits;
#[path = "../world/mod.rs"]
mod world;
