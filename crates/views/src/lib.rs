//! Frames as text, JSON lines, CSV and prstat reports, and the columns reference.
//!
//! A [`Plan`] says which rows and columns someone wants; it turns a frame into a [`Page`], and
//! each format prints pages. Nothing here knows where a frame came from, waits, or opens a file.
#![forbid(unsafe_code)]

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
pub mod table;

pub use plan::{Page, Plan, Selection, User};
