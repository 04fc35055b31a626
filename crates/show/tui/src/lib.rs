//! The live view in a terminal: the balance of each window and a table of its tasks. It takes keys
//! and a [`Feed`](exactop_model::Feed) of frames, and draws a screen. A [`Host`] does the work that
//! a view must not do itself. Only the command may depend on it.
//!
//! [`app`] holds the state, [`layout`] computes the places of its parts, and [`draw`] draws it into
//! a buffer. None of these does I/O; only `terminal`, `keyboard` and [`run`] do.
//!
//! Modules: `app/` (state changes by keys; `app/arrange` a frame with its lines; `app/table` the
//! state of the table; `app/action` requests to the outside), `desk.rs` (combines events, frames
//! and the user's requests, without a terminal), `layout.rs`, `draw/`, `explanations.rs` (the texts of `?`), `canvas.rs` (the screen now
//! and before, of which only changed rows are written), and the terminal guard.
#![deny(unsafe_code)]

mod abort;
pub mod app;
pub mod canvas;
pub mod desk;
pub mod draw;
pub mod editor;
pub mod explanations;
pub mod host;
mod keyboard;
pub mod keys;
pub mod layout;
mod opening;
mod run;
pub mod settings;
pub mod signals;
mod terminal;

pub use app::target::{ProcessAction, Target};
pub use app::{Action, App};
pub use host::{ExitReason, Host, TuiError};
pub use run::{run, Begin};
pub use settings::{parse_interval, AutoSwitch, ColorMode, Preset, Settings, ThemeName};
