//! Tests of files in places that other users can write to, and of files that are not regular.

mod planted;
mod special;
