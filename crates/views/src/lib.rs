//! Frames, runs and what is counted on demand as text, JSON lines and CSV; prstat's reports;
//! Perfetto traces; the columns reference.
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
