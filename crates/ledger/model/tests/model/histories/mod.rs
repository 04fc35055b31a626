//! Histories of a made-up machine, drawn by hand or random, compared with the book, the window and
//! the frame.

mod check;
mod drawn;
mod events;
mod exits;
mod machine;
mod random;
mod states;
mod timelines;
