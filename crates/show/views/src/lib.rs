//! Frames, runs and figures on demand as text, JSON, CSV and Perfetto traces. It takes frames and
//! windows and returns text; it writes nothing itself. Only the command may depend on it.
//!
//! Modules: text, JSON, CSV, prstat's reports, `run/` reports, `on_demand/` (figures of `figure.rs`
//! in a `grid` that fits a `sheet`), the columns reference, the Perfetto format.
#![forbid(unsafe_code)]

pub mod blame;
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
pub mod wait_sizes;

pub use plan::{Page, Plan, Selection, User};
pub use sheet::Sheet;
