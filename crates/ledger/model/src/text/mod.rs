//! Text of any origin: made harmless, and the word that was probably meant.

pub mod did_you_mean;
pub mod escape;
