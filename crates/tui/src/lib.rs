//! The live terminal view: a table of who had the CPUs, over books that close.
//!
//! [`run`] takes a [`Feed`](exactop_model::Feed) of frames and a [`Host`] that does what a view
//! must not do by itself. Inside, [`app`] is the state and pure, [`layout`] is arithmetic and
//! pure, [`draw`] puts the state onto a buffer, and only `terminal` and `run` touch the world.
#![deny(unsafe_code)]

mod abort;
pub mod app;
pub mod canvas;
pub mod desk;
pub mod draw;
pub mod editor;
pub mod host;
pub mod keys;
pub mod layout;
mod opening;
mod run;
pub mod settings;
pub mod signals;
mod terminal;

pub use app::target::{Deed, Target};
pub use app::{Action, App};
pub use host::{ExitReason, Host, TuiError};
pub use run::{run, Begin};
pub use settings::{parse_interval, ColorMode, PerCpu, Preset, Settings, ThemeName};
