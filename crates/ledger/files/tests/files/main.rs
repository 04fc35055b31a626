//! Files in places that others can write to: what they plant there, and what is no plain file.

mod planted;
mod special;
