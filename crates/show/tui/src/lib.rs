//! The live view in a terminal: a table of all tasks that had the CPUs, over books that close. It takes a
//! [`Feed`](exactop_model::Feed) of frames and keys, and gives a screen; a [`Host`] does what a view must not do
//! itself. The command alone may depend on it.
//!
//! [`run`] takes a [`Feed`](exactop_model::Feed) of frames and a [`Host`] that does what a view
//! must not do by itself. Inside, [`app`] is the state and pure, [`layout`] is arithmetic and
//! pure, [`draw`] puts the state onto a buffer, and only `terminal` and `run` touch the world.
//!
//! Modules: `app/` (key to state, pure; `app/arrange` a frame with its lines; `app/table` the state
//! of the table; `app/action` what is done outside), `desk.rs` (events, frames and what
//! the user asks for come together, no terminal), `layout.rs` (pure), `draw/`, `canvas.rs` (the screen as it
//! stands: only rows that changed are written), terminal guard.
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
