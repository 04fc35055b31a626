//! What is typed: how option values are read, presets, and the configuration file.

pub mod config;
mod did_you_mean;
pub mod parse;
pub mod preset;

pub use did_you_mean::nearest;
