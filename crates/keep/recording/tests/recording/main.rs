//! Recording and replay, whatever happens to files, clocks and boots.
//!
//! No test here starts a program: a child holds the files that are open here, and with them the
//! lock of a recorder that is already gone. Tests that start programs are in `children` and `room`.

mod anew;
mod cut;
mod damage;
mod far;
mod group_files;
mod journeys;
mod kept;
mod leader_names;
mod playback;
mod replay;
mod strange;
mod stretches;
mod suspend;
mod waits;
#[path = "../world/mod.rs"]
mod world;
