//! Options as typed ([`typed`], parsed value by value by [`parse`]) and as resolved ([`resolved`]),
//! with presets and the configuration file.

pub mod config;
pub mod looking;
pub mod needs;
pub mod of_recording;
pub mod pace;
pub mod parse;
pub mod preset;
pub mod printed;
pub mod resolved;
pub mod time;
pub mod typed;
