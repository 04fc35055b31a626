//! Histories of a made-up machine, drawn by hand or at random, against what the book, the window
//! and the frame make of them.

mod check;
mod drawn;
mod events;
mod exits;
mod machine;
mod random;
mod states;
mod timelines;
