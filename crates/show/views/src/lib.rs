//! Frames, runs and figures on demand as text, JSON, CSV and Perfetto traces. It takes frames and windows and gives
//! text; it writes nothing itself. The command alone may depend on it.
//!
//! Modules: text, JSON, CSV, prstat's reports, `run/` reports, `on_demand/` (by `figure.rs`, a `grid` of what a
//! `sheet` has room for), the columns reference, the Perfetto format.
#![forbid(unsafe_code)]

pub mod by;
pub mod cgroups;
pub mod csv;
mod figure;
mod grid;
pub mod header;
pub mod json;
pub mod on_demand;
pub mod perfetto;
pub mod plan;
pub mod prstat;
pub mod ptop;
pub mod reference;
pub mod run;
mod sheet;
mod sum;
pub mod table;

pub use plan::{Page, Plan, Selection, User};
pub use sheet::Sheet;
